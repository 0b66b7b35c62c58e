//! A cache of tokens of ours whose signature was verified, for as long as the key set is the same.
//!
//! A resource server asks about one token many times, and verifying a signature is most of what that would
//! cost. A text that was signed stays signed: it is known by its hash, and only what it says is cached. Whether
//! that is still true (its end, its issuer, everything it rests on) is looked at each time. Another key set forgets
//! everything; a forgery is never cached.
//!
//! A token that this process has signed itself needs no verification when it is first shown: its hash was noted.

use super::Verifiers;
use crate::two_generation_cache::TwoGenerationCache;
use serde::de::DeserializeOwned;
use sha2::{Digest as _, Sha256};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Parts, each behind a lock of its own.
const PARTS: usize = 8;

/// How many tokens a part takes up before it forgets those that were taken up before them.
const GENERATION: usize = 512;

/// The same of tokens that were signed here and not shown yet, of which only the hash is kept.
const SIGNED_GENERATION: usize = 4_096;

type Print = [u8; 32];

/// Tokens of one type, with claims of this one.
pub struct VerifiedTokens<C> {
    typ: &'static str,
    parts: Box<[Mutex<Part<C>>]>,
}

struct Part<C> {
    verifiers: Arc<Verifiers>,
    tokens: TwoGenerationCache<Print, Arc<C>>,
    signed: TwoGenerationCache<Print, ()>,
}

/// What the cache has of a text.
enum CacheEntry<C> {
    Verified(Arc<C>),
    /// It was signed here.
    Signed,
    Nothing,
}

impl<C: DeserializeOwned> VerifiedTokens<C> {
    pub fn of_type(typ: &'static str) -> Self {
        let parts = (0..PARTS).map(|_| Mutex::new(Part::new(Arc::default())));
        Self { typ, parts: parts.collect() }
    }

    /// Returns the claims of a token that one of these keys signed; says nothing of time, issuer or
    /// revocation.
    pub fn read(&self, verifiers: &Arc<Verifiers>, token: &str) -> Option<Arc<C>> {
        let print: Print = Sha256::digest(token).into();
        let known = self.part(&print).find(verifiers, &print);
        let read = match known {
            CacheEntry::Verified(read) => return Some(read),
            CacheEntry::Signed => verifiers.read_signed(self.typ, token),
            CacheEntry::Nothing => verifiers.read(self.typ, token),
        };
        let read: Arc<C> = Arc::new(read.ok()?);
        self.part(&print).keep(verifiers, print, read.clone());
        Some(read)
    }

    /// Notes a token that was just signed with a key of these.
    pub fn note_signed(&self, verifiers: &Arc<Verifiers>, token: &str) {
        let print: Print = Sha256::digest(token).into();
        self.part(&print).note_signed(verifiers, print);
    }

    fn part(&self, print: &Print) -> MutexGuard<'_, Part<C>> {
        let part = &self.parts[usize::from(print[0]) % PARTS];
        part.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C> Part<C> {
    fn new(verifiers: Arc<Verifiers>) -> Self {
        Self {
            verifiers,
            tokens: TwoGenerationCache::default(),
            signed: TwoGenerationCache::default(),
        }
    }

    fn find(&mut self, verifiers: &Arc<Verifiers>, print: &Print) -> CacheEntry<C> {
        self.follow(verifiers);
        self.tokens.turn_at(GENERATION);
        if let Some(read) = self.tokens.find(print) {
            return CacheEntry::Verified(read.clone());
        }
        if self.signed.remove(print).is_some() { CacheEntry::Signed } else { CacheEntry::Nothing }
    }

    fn note_signed(&mut self, verifiers: &Arc<Verifiers>, print: Print) {
        self.follow(verifiers);
        self.signed.turn_at(SIGNED_GENERATION);
        self.signed.insert(print, (), 1);
    }

    fn keep(&mut self, verifiers: &Arc<Verifiers>, print: Print, read: Arc<C>) {
        // It may have been verified with keys that are gone meanwhile.
        if Arc::ptr_eq(&self.verifiers, verifiers) {
            self.tokens.turn_at(GENERATION);
            self.tokens.insert(print, read, 1);
        }
    }

    /// Forgets everything where the key set is another.
    fn follow(&mut self, verifiers: &Arc<Verifiers>) {
        if !Arc::ptr_eq(&self.verifiers, verifiers) {
            *self = Self::new(verifiers.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::{Signer, signer::tests::signers, verifier::tests::published};
    use serde_json::{Value, json};

    fn verifiers(signer: &Signer) -> Arc<Verifiers> {
        Arc::new([&published(signer)].into_iter().collect())
    }

    fn remembered(tokens: &VerifiedTokens<Value>) -> usize {
        let of = |part: &Mutex<Part<Value>>| part.lock().unwrap().tokens.len();
        tokens.parts.iter().map(of).sum()
    }

    #[test]
    fn a_token_is_verified_once_and_a_forgery_is_never_remembered() {
        let [_, _, signer, _] = signers();
        let (verifiers, tokens) = (verifiers(&signer), VerifiedTokens::of_type("at+jwt"));
        let token = signer.sign("at+jwt", &json!({ "sub": "ana" })).unwrap();
        let first: Arc<Value> = tokens.read(&verifiers, &token).unwrap();
        let again = tokens.read(&verifiers, &token).unwrap();
        assert!(Arc::ptr_eq(&first, &again) && *again == json!({ "sub": "ana" }));
        let last = if token.ends_with('A') { "Q" } else { "A" };
        for bad in
            [format!("{}{last}", &token[..token.len() - 1]), format!("{token} "), String::new()]
        {
            assert!(
                tokens.read(&verifiers, &bad).is_none() && tokens.read(&verifiers, &bad).is_none()
            );
        }
        let other = signer.sign("JWT", &json!({ "sub": "ana" })).unwrap();
        assert!(tokens.read(&verifiers, &other).is_none(), "another type");
        assert_eq!(remembered(&tokens), 1);
    }

    #[test]
    fn another_key_set_forgets_what_was_verified_with_the_last() {
        let [_, _, signer, _] = signers();
        let (before, tokens) = (verifiers(&signer), VerifiedTokens::<Value>::of_type("at+jwt"));
        let token = signer.sign("at+jwt", &json!({})).unwrap();
        assert!(tokens.read(&before, &token).is_some());
        let revoked = Arc::new(Verifiers::default());
        assert!(tokens.read(&revoked, &token).is_none(), "its key is gone");
        assert_eq!(remembered(&tokens), 0);
        assert!(tokens.read(&verifiers(&signer), &token).is_some(), "it is there again");
    }

    #[test]
    fn a_token_that_was_signed_here_is_not_verified_and_counts_while_its_keys_do() {
        let [_, _, signer, _] = signers();
        let (keys, tokens) = (verifiers(&signer), VerifiedTokens::<Value>::of_type("at+jwt"));
        let sign = |name: &str| signer.sign("at+jwt", &json!({ "sub": name })).unwrap();
        let (token, other) = (sign("ana"), sign("rui"));
        // The signature of another token: whether it is verified can be seen.
        let (said, signature) =
            (token.rsplit_once('.').unwrap().0, other.rsplit_once('.').unwrap().1);
        let forged = format!("{said}.{signature}");
        assert!(tokens.read(&keys, &forged).is_none());
        tokens.note_signed(&keys, &forged);
        assert_eq!(*tokens.read(&keys, &forged).unwrap(), json!({ "sub": "ana" }));
        tokens.note_signed(&keys, &token);
        assert!(tokens.read(&Arc::new(Verifiers::default()), &token).is_none(), "its key is gone");
        tokens.note_signed(&keys, &forged);
        let anew = verifiers(&signer);
        assert!(tokens.read(&anew, &forged).is_none(), "the set was read anew");
    }

    #[test]
    fn what_is_verified_while_the_keys_change_is_not_remembered() {
        let [_, _, signer, _] = signers();
        let (before, after) = (verifiers(&signer), Arc::new(Verifiers::default()));
        let mut part = Part::new(before.clone());
        assert!(matches!(part.find(&after, &[1; 32]), CacheEntry::Nothing));
        part.keep(&before, [1; 32], Arc::new(json!({})));
        let found = part.find(&after, &[1; 32]);
        assert!(matches!(found, CacheEntry::Nothing), "the keys changed while it was verified");
    }

    #[test]
    fn what_is_remembered_is_bounded_and_what_is_asked_for_stays() {
        let verifiers = Arc::new(Verifiers::default());
        let mut part = Part::new(verifiers.clone());
        let print = |number: usize| {
            let mut print = [0; 32];
            print[..8].copy_from_slice(&number.to_le_bytes());
            print
        };
        for number in 0..10 * GENERATION {
            part.keep(&verifiers, print(number), Arc::new(json!({})));
            assert!(
                matches!(part.find(&verifiers, &print(0)), CacheEntry::Verified(_)),
                "{number}"
            );
            assert!(part.tokens.len() <= 2 * GENERATION);
        }
        assert!(matches!(part.find(&verifiers, &print(1)), CacheEntry::Nothing));
        for number in 0..3 * SIGNED_GENERATION {
            part.note_signed(&verifiers, print(number));
            assert!(part.signed.len() <= 2 * SIGNED_GENERATION);
        }
    }
}
