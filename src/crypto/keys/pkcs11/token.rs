//! A token, and the keys of ours in it.
//!
//! The states of a token are two. It is *available* until a call fails that a new session does not mend, or does not return
//! in time; from then on nothing is signed and no caller waits for it, until the next reading of its keys succeeds
//! ([`Token::signing_keys`], which the keeper of keys asks for every few seconds). A session that was lost is opened anew
//! once for each call.

use super::{
    TokenProblem, TokenSettings,
    connection::{Connection, locked},
    object::{self, KeyObject},
    threads::{CallThreads, NoAnswer, Room},
};
use crate::{
    crypto::{
        KeyError, Signer, SigningKey,
        keys::{Fault, GenerateError, GeneratedKey, Problem, Purpose, SigningKeyFile},
    },
    domain::{Fingerprint, Timestamp, signing_keys::SigningAlgorithm},
};
use cryptoki::{
    context::Function,
    error::{Error, RvError},
    object::{Attribute, ObjectClass, ObjectHandle},
    session::Session,
};
use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};

/// How many calls are in a module at once, and how many wait: as many as a node's requests that sign, in a burst.
const ROOM: Room = Room { threads: 8, waiting: 256 };

/// How long a request waits for its signature.
const SIGNING: Duration = Duration::from_secs(5);

/// How long a reading of the keys is waited for; the token may have to be opened for it.
const READING: Duration = Duration::from_secs(20);

/// How long a new key is waited for: hardware searches for primes.
const MAKING: Duration = Duration::from_mins(3);

/// How long what is under way is waited for at the end.
const CLOSING: Duration = Duration::from_secs(2);

/// A token and what is open of it; clones are the same. The last one closes it.
#[derive(Clone)]
pub struct Token(Arc<Inner>);

struct Inner {
    settings: TokenSettings,
    connection: Arc<Connection>,
    threads: CallThreads,
    available: AtomicBool,
    /// By which algorithms keys sign, by their ids, as far as it was tried since a call last failed.
    tried: Arc<Mutex<BTreeMap<Vec<u8>, Vec<SigningAlgorithm>>>>,
}

/// A private key in a token.
struct TokenKey {
    token: Token,
    place: Arc<Place>,
    /// By which algorithms it signs; one that the token refuses is not asked for again.
    able: Mutex<Vec<SigningAlgorithm>>,
}

/// Where a key is.
struct Place {
    id: Vec<u8>,
    /// Good for one opening of the token.
    handle: Mutex<Option<(u64, ObjectHandle)>>,
}

impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Token({})", self.0.settings.label)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let connection = self.connection.clone();
        let _ = self.threads.call(CLOSING, move || connection.close());
        // What has not returned by then is left as it is.
        let _ = self.threads.close(CLOSING);
    }
}

impl Token {
    /// Opens a token, or says why that cannot be.
    pub fn open(settings: TokenSettings) -> Result<Self, Fault> {
        let token = Self(Arc::new(Inner {
            connection: Arc::new(Connection::new(settings.clone())),
            threads: CallThreads::new(ROOM, settings.waiting),
            settings,
            available: AtomicBool::new(true),
            tried: Arc::default(),
        }));
        let opened = token.ask(READING, Connection::open);
        opened.map_err(|problem| token.fault(problem))?;
        Ok(token)
    }

    /// Asks something of the connection, on a thread that may hang.
    fn ask<T: Send + 'static>(
        &self,
        patience: Duration,
        call: impl FnOnce(&Connection) -> Result<T, TokenProblem> + Send + 'static,
    ) -> Result<T, TokenProblem> {
        let connection = self.0.connection.clone();
        let asked = self.0.threads.call(patience, move || call(&connection));
        asked.unwrap_or_else(|why| Err(TokenProblem::Away(why.to_string())))
    }

    /// Says which token it is.
    pub fn describe(&self) -> String {
        let TokenSettings { module, label, .. } = &self.0.settings;
        format!("token {label} by {}", module.display())
    }

    /// Reads the keys of ours, or says everything that is wrong with them. What succeeds makes the token available again.
    pub fn signing_keys(&self) -> Result<Vec<SigningKeyFile>, Vec<Fault>> {
        let tried = self.0.tried.clone();
        let read = self.ask(READING, move |connection| {
            connection.call(|session, _| {
                let mut keys = Vec::new();
                for (handle, label) in object::own_keys(session)? {
                    let key = match object::read(session, handle, &label)? {
                        Ok(key) => able(session, handle, key, &tried)?,
                        Err(problem) => Err(problem),
                    };
                    keys.push((key, label));
                }
                Ok(keys)
            })
        });
        self.note(read.as_ref().err());
        let (mut keys, mut faults) = (Vec::new(), Vec::new());
        for (key, label) in read.map_err(|problem| vec![self.fault(problem)])? {
            match key {
                Ok((key, able)) => keys.push(self.file(key, able)),
                Err(problem) => faults.push(Fault { path: self.place(&label), problem }),
            }
        }
        if faults.is_empty() { Ok(keys) } else { Err(faults) }
    }

    /// Tells whether the token can make keys for an algorithm.
    pub fn makes(&self, algorithm: SigningAlgorithm) -> bool {
        let wanted = object::making(algorithm).0.mechanism_type();
        self.ask(READING, move |connection| Ok(connection.has(wanted))).unwrap_or(false)
    }

    /// Makes a key, which never leaves the token.
    pub fn generate(
        &self,
        algorithm: SigningAlgorithm,
        created_at: Timestamp,
    ) -> Result<GeneratedKey, GenerateError> {
        let label = object::label(algorithm, created_at);
        // It joins the halves, and two keys of one moment differ in it.
        let id =
            Fingerprint::of(format!("{label} {}", self.count()).as_bytes()).bytes()[..16].to_vec();
        let mut last = TokenProblem::Unable(algorithm.name());
        for way in object::making(algorithm).1 {
            let (named, id) = (label.clone(), id.clone());
            let made = self.ask(MAKING, move |connection| {
                connection.call_writing(|session| {
                    let mechanism = object::making(algorithm).0;
                    let (public, private) = templates(&named, &id, &way);
                    session.generate_key_pair(&mechanism, &public, &private)?;
                    let handle = object::find(session, &id)?;
                    handle.map(|handle| try_new(session, handle, &named)).transpose()
                })
            });
            match made {
                Ok(Some(Ok((key, able)))) => {
                    let file = self.file(key, able);
                    let (purpose, kid) =
                        (Purpose::Signing(algorithm), file.signer.kid().to_owned());
                    return Ok(GeneratedKey { purpose, kid, path: file.path });
                }
                Ok(Some(Err(problem))) => {
                    return Err(GenerateError::Token(Fault { path: self.place(&label), problem }));
                }
                Ok(None) => {}
                Err(problem) => last = problem,
            }
        }
        Err(GenerateError::Token(self.fault(last)))
    }

    /// Destroys a key that was just made; what cannot be destroyed stays.
    pub fn destroy(&self, kid: &str) {
        let Ok(keys) = self.signing_keys() else { return };
        let Some(file) = keys.iter().find(|file| file.signer.kid() == kid) else { return };
        let (token, path) = (self.0.settings.label.clone(), file.path.clone());
        let _ = self.ask(READING, move |connection| {
            connection.call_writing(|session| {
                for (private, label) in object::own_keys(session)? {
                    if path == place(&token, &label) {
                        destroy_pair(session, private, &label)?;
                    }
                }
                Ok(())
            })
        });
    }

    /// Notes whether it answers, and says so where that is new.
    fn note(&self, problem: Option<&TokenProblem>) {
        if problem.is_some() {
            // What comes back may be another token.
            locked(&self.0.tried).clear();
        }
        let was_available = self.0.available.swap(problem.is_none(), Relaxed);
        match (was_available, problem) {
            (true, Some(why)) => {
                tracing::error!(%why, token = ?self, "the signing keys are out of reach");
            }
            (false, None) => tracing::info!(token = ?self, "the signing keys are in reach again"),
            _ => {}
        }
    }

    /// Counts the keys of ours; zero where they cannot be read.
    fn count(&self) -> usize {
        let keys =
            self.ask(READING, |connection| connection.call(|session, _| object::own_keys(session)));
        keys.map_or(0, |keys| keys.len())
    }

    fn file(&self, key: KeyObject, able: Vec<SigningAlgorithm>) -> SigningKeyFile {
        let KeyObject { id, label, algorithm, created_at, public } = key;
        let place = Arc::new(Place { id, handle: Mutex::default() });
        let held = TokenKey { token: self.clone(), place, able: Mutex::new(able) };
        let signer = Signer::new(Arc::new(held), algorithm, public);
        let path = self.place(&label);
        SigningKeyFile { signer: Arc::new(signer), made_by_dev: false, created_at, path }
    }

    fn place(&self, label: &str) -> PathBuf {
        place(&self.0.settings.label, label)
    }

    fn fault(&self, problem: TokenProblem) -> Fault {
        let TokenSettings { module, pin_file, .. } = &self.0.settings;
        let path = match problem {
            TokenProblem::WrongPin | TokenProblem::UnusablePin | TokenProblem::PinFile(_) => {
                pin_file
            }
            _ => module,
        };
        Fault { path: path.clone(), problem: Problem::Token(problem) }
    }
}

/// Names a key in a token (RFC 7512).
fn place(token: &str, label: &str) -> PathBuf {
    let plain = |text: &str| text.replace(' ', "%20").replace(';', "%3B");
    format!("pkcs11:token={};object={}", plain(token), plain(label)).into()
}

type KeyTrial = Result<(KeyObject, Vec<SigningAlgorithm>), Problem>;

/// Says by which algorithms a key signs: as it was tried before, or as it is tried now.
fn able(
    session: &Session,
    handle: ObjectHandle,
    key: KeyObject,
    tried: &Mutex<BTreeMap<Vec<u8>, Vec<SigningAlgorithm>>>,
) -> Result<KeyTrial, Error> {
    let known = locked(tried).get(&key.id).cloned();
    let able = match known {
        Some(able) => able,
        None => object::tried(session, handle, &key)?,
    };
    if able.is_empty() {
        return Ok(Err(Problem::Token(TokenProblem::CannotSign(key.algorithm.name()))));
    }
    locked(tried).insert(key.id.clone(), able.clone());
    Ok(Ok((key, able)))
}

/// Reads and tries a key that was just made; one that does not sign is destroyed.
fn try_new(session: &Session, handle: ObjectHandle, label: &str) -> Result<KeyTrial, Error> {
    let key = match object::read(session, handle, label)? {
        Ok(key) => key,
        Err(problem) => return Ok(Err(problem)),
    };
    let tried = able(session, handle, key, &Mutex::default())?;
    if tried.is_err() {
        destroy_pair(session, handle, label)?;
    }
    Ok(tried)
}

fn destroy_pair(session: &Session, private: ObjectHandle, label: &str) -> Result<(), Error> {
    let label = Attribute::Label(label.as_bytes().to_vec());
    let public = [Attribute::Class(ObjectClass::PUBLIC_KEY), label];
    session.destroy_object(private)?;
    for half in session.find_objects(&public)? {
        session.destroy_object(half)?;
    }
    Ok(())
}

/// What a pair is made with: the private half is kept in the token, and signs.
fn templates(label: &str, id: &[u8], way: &[Attribute]) -> (Vec<Attribute>, Vec<Attribute>) {
    let named = || {
        let (label, id) = (Attribute::Label(label.as_bytes().to_vec()), Attribute::Id(id.to_vec()));
        [Attribute::Token(true), label, id]
    };
    let mut public = vec![Attribute::Private(false), Attribute::Verify(true)];
    public.extend(named().into_iter().chain(way.iter().cloned()));
    let mut private = vec![
        Attribute::Private(true),
        Attribute::Sensitive(true),
        Attribute::Extractable(false),
        Attribute::Sign(true),
    ];
    private.extend(named());
    (public, private)
}

impl SigningKey for TokenKey {
    fn signature(&self, algorithm: SigningAlgorithm, message: &[u8]) -> Result<Vec<u8>, KeyError> {
        if !self.is_available() {
            return Err(KeyError::Away);
        }
        if !self.signs_by(algorithm) {
            return Err(KeyError::OtherAlgorithm);
        }
        let (connection, place) = (self.token.0.connection.clone(), self.place.clone());
        let message = message.to_vec();
        let signed = self.token.0.threads.call(SIGNING, move || {
            connection.call(|session, generation| {
                let handle = place.find(session, generation)?;
                object::sign(session, handle, algorithm, &message)
            })
        });
        let problem = match signed {
            Ok(Ok(signature)) => return Ok(signature),
            // Others have their answers: there are too many of us at this moment.
            Err(NoAnswer::Full) => return Err(KeyError::Away),
            Err(why) => TokenProblem::Away(why.to_string()),
            Ok(Err(problem)) => problem,
        };
        if let TokenProblem::Refused(_) = problem {
            locked(&self.able).retain(|able| *able != algorithm);
            tracing::error!(why = %problem, token = ?self.token, %algorithm, "a key does not sign");
        } else {
            // Until its keys can be read again no caller waits for it.
            self.token.note(Some(&problem));
        }
        Err(KeyError::Token(problem.to_string()))
    }

    fn signs_by(&self, algorithm: SigningAlgorithm) -> bool {
        locked(&self.able).contains(&algorithm)
    }

    fn is_available(&self) -> bool {
        self.token.0.available.load(Relaxed) && self.token.0.threads.has_room()
    }
}

impl Place {
    fn find(&self, session: &Session, generation: u64) -> Result<ObjectHandle, Error> {
        let known = *locked(&self.handle);
        if let Some((_, handle)) = known.filter(|(of, _)| *of == generation) {
            return Ok(handle);
        }
        let gone = || Error::Pkcs11(RvError::KeyHandleInvalid, Function::FindObjects);
        let handle = object::find(session, &self.id)?.ok_or_else(gone)?;
        *locked(&self.handle) = Some((generation, handle));
        Ok(handle)
    }
}
