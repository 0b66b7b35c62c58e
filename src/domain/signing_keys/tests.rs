use super::*;
use SigningAlgorithm::{Es256, Ps256, Rs256};
use proptest::prelude::*;

const PUBLISHED_FOR: Duration = Duration::from_secs(100);
const RETIRED_FOR: Duration = Duration::from_secs(1_000);

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_millis(seconds * 1_000)
}

fn key(kid: &str, algorithm: SigningAlgorithm) -> ObservedKey {
    let public_jwk = serde_json::json!({ "kid": kid, "alg": algorithm.name() });
    ObservedKey { kid: kid.to_owned(), algorithm, public_jwk }
}

fn observe(kids: &[&str]) -> Command {
    Command::Observe { keys: kids.iter().map(|kid| key(kid, Es256)).collect() }
}

/// Every key that any of these tests knows.
fn all() -> Vec<String> {
    let letters = ('a'..='z').map(String::from);
    letters.chain((0..12).map(|n| format!("k{n}"))).collect()
}

fn advance() -> Command {
    holding(all())
}

fn holding(held: Vec<String>) -> Command {
    Command::Advance { held, published_for: PUBLISHED_FOR, retired_for: RETIRED_FOR }
}

fn revoke(kid: &str) -> Command {
    Command::Revoke { kid: kid.to_owned(), held: all() }
}

impl SigningKeys {
    /// Decides and applies; returns the names of the records, or why it was refused.
    fn take(&mut self, command: &Command, now: Timestamp) -> Result<Vec<&'static str>, Refusal> {
        let decision = self.decide(command, now);
        for event in &decision.events {
            self.apply(event);
        }
        let records = decision.effects.records.iter().map(|record| record.event).collect();
        decision.outcome.map(|()| records)
    }

    fn with(kids: &[&str]) -> Self {
        let mut keys = Self::default();
        for kid in kids {
            keys.take(&observe(&[kid]), at(0)).unwrap();
        }
        keys
    }

    fn signs(&self) -> &str {
        &self.current(Es256).unwrap().kid
    }
}

#[test]
fn the_first_key_of_an_algorithm_signs_at_once() {
    let mut keys = SigningKeys::default();
    let found = Command::Observe { keys: vec![key("a", Es256), key("b", Rs256), key("c", Es256)] };
    let records = keys.take(&found, at(0)).unwrap();
    assert_eq!(records.len(), 5);
    assert_eq!(keys.signs(), "a");
    assert_eq!(keys.current(Rs256).unwrap().kid, "b");
    assert_eq!(keys.state_of("c"), Some(KeyState::Next));
    assert_eq!(keys.published().count(), 3);
}

#[test]
fn an_rsa_key_signs_ps256_until_a_key_for_that_alone_is_known() {
    let mut keys = SigningKeys::default();
    keys.take(&Command::Observe { keys: vec![key("a", Es256)] }, at(0)).unwrap();
    assert_eq!(keys.signing(Ps256), None);
    keys.take(&Command::Observe { keys: vec![key("b", Rs256)] }, at(0)).unwrap();
    let signs = |keys: &SigningKeys| keys.signing(Ps256).unwrap().kid.clone();
    assert_eq!(signs(&keys), "b");
    // Who has fetched the key set does not know the new key yet.
    keys.take(&Command::Observe { keys: vec![key("c", Ps256)] }, at(0)).unwrap();
    keys.take(&advance(), at(99)).unwrap();
    assert_eq!((signs(&keys), keys.current(Ps256)), ("b".to_owned(), None));
    keys.take(&advance(), at(100)).unwrap();
    assert_eq!(signs(&keys), "c");
    assert_eq!(keys.signing(Rs256).unwrap().kid, "b");
    assert_eq!(keys.state_of("b"), Some(KeyState::Current));
}

#[test]
fn a_key_for_ps256_alone_signs_nothing_else() {
    let mut keys = SigningKeys::default();
    keys.take(&Command::Observe { keys: vec![key("c", Ps256)] }, at(0)).unwrap();
    assert_eq!((keys.signing(Ps256).unwrap().kid.as_str(), keys.signing(Rs256)), ("c", None));
}

#[test]
fn only_a_key_of_one_algorithm_is_published_with_its_name() {
    let mut keys = SigningKeys::default();
    let found = [("a", Es256), ("b", Rs256), ("c", Ps256)].map(|(kid, one)| key(kid, one));
    keys.take(&Command::Observe { keys: found.to_vec() }, at(0)).unwrap();
    let named: Vec<Value> = keys.published().map(PublicKey::published_jwk).collect();
    let named: Vec<_> = named.iter().map(|jwk| jwk.get("alg").and_then(Value::as_str)).collect();
    assert_eq!(named, [Some("ES256"), None, Some("PS256")]);
}

#[test]
fn a_later_key_signs_only_after_everyone_can_know_it() {
    let mut keys = SigningKeys::with(&["a", "b"]);
    assert_eq!(keys.take(&advance(), at(99)), Ok(vec![]));
    assert_eq!(keys.signs(), "a");
    let records = keys.take(&advance(), at(100));
    assert_eq!(records, Ok(vec!["signing_key.promoted", "signing_key.retired"]));
    assert_eq!(keys.signs(), "b");
    assert_eq!(keys.state_of("a"), Some(KeyState::Retired { until: at(1_100) }));
}

#[test]
fn a_retired_key_is_published_until_its_last_token_has_expired() {
    let mut keys = SigningKeys::with(&["a", "b"]);
    keys.take(&advance(), at(100)).unwrap();
    assert_eq!(keys.take(&advance(), at(1_099)), Ok(vec![]));
    assert_eq!(keys.published().count(), 2);
    assert_eq!(keys.take(&advance(), at(1_100)), Ok(vec!["signing_key.dropped"]));
    assert_eq!(keys.published().map(|key| key.kid.as_str()).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_retired_key_stays_for_the_longest_token_that_any_node_signed_with_it() {
    let asking = |seconds| Command::Advance {
        held: all(),
        published_for: PUBLISHED_FOR,
        retired_for: Duration::from_secs(seconds),
    };
    let mut keys = SigningKeys::with(&["a", "b"]);
    keys.take(&asking(5_000), at(10)).unwrap();
    keys.take(&asking(50), at(20)).unwrap();
    keys.take(&asking(50), at(100)).unwrap();
    assert_eq!(keys.state_of("a"), Some(KeyState::Retired { until: at(5_100) }));
    keys.take(&observe(&["c"]), at(200)).unwrap();
    keys.take(&asking(50), at(300)).unwrap();
    assert_eq!(keys.state_of("b"), Some(KeyState::Retired { until: at(350) }), "each its own");
}

#[test]
fn a_key_that_is_gone_does_not_return_with_its_file() {
    let mut keys = SigningKeys::with(&["a", "b"]);
    keys.take(&advance(), at(100)).unwrap();
    keys.take(&advance(), at(1_100)).unwrap();
    assert_eq!(keys.take(&observe(&["a", "b"]), at(1_200)), Ok(vec![]));
    assert_eq!(keys.state_of("a"), Some(KeyState::Gone));
}

#[test]
fn what_was_done_before_is_done_without_events() {
    let mut keys = SigningKeys::with(&["a", "b"]);
    assert_eq!(keys.take(&observe(&["a", "b", "b"]), at(1)), Ok(vec![]));
    assert_eq!(keys.take(&advance(), at(1)), Ok(vec![]));
    keys.take(&revoke("b"), at(2)).unwrap();
    assert_eq!(keys.take(&revoke("b"), at(3)), Ok(vec![]));
}

#[test]
fn of_two_ripe_keys_the_newer_signs_and_the_older_never_follows_it() {
    let mut keys = SigningKeys::with(&["a", "b", "c"]);
    keys.take(&advance(), at(100)).unwrap();
    assert_eq!(keys.signs(), "c");
    assert!(matches!(keys.state_of("b"), Some(KeyState::Retired { .. })));
    keys.take(&advance(), at(500)).unwrap();
    assert_eq!(keys.signs(), "c");
}

#[test]
fn a_revoked_key_leaves_at_once_and_its_newest_successor_signs() {
    let mut keys = SigningKeys::with(&["a", "b", "c"]);
    let records = keys.take(&revoke("a"), at(1));
    assert_eq!(records, Ok(vec!["signing_key.revoked", "signing_key.promoted"]));
    assert_eq!(keys.signs(), "c");
    assert!(keys.published().all(|key| key.kid != "a"));
    // `b` was overtaken and must not push `c` aside when it ripens.
    keys.take(&advance(), at(100)).unwrap();
    assert_eq!(keys.signs(), "c");
}

#[test]
fn the_only_key_cannot_be_revoked_before_it_has_a_successor() {
    let mut keys = SigningKeys::with(&["a"]);
    assert_eq!(keys.take(&revoke("a"), at(1)), Err(Refusal::NoSuccessor));
    assert_eq!(keys.signs(), "a");
    assert_eq!(keys.take(&revoke("z"), at(1)), Err(Refusal::UnknownKey));
}

#[test]
fn a_successor_whose_private_half_nobody_here_holds_does_not_count() {
    let mut keys = SigningKeys::with(&["a", "b", "c"]);
    let holding = |held: &[&str]| {
        let held = held.iter().map(ToString::to_string).collect();
        Command::Revoke { kid: "a".to_owned(), held }
    };
    assert_eq!(keys.take(&holding(&[]), at(1)), Err(Refusal::NoSuccessor));
    assert_eq!(keys.take(&holding(&["a"]), at(1)), Err(Refusal::NoSuccessor));
    keys.take(&holding(&["a", "b"]), at(1)).unwrap();
    assert_eq!(keys.signs(), "b", "the newest of those that are held");
}

#[test]
fn a_successor_of_another_algorithm_does_not_count() {
    let mut keys = SigningKeys::with(&["a"]);
    let found = Command::Observe { keys: vec![key("b", Rs256), key("c", Rs256)] };
    keys.take(&found, at(0)).unwrap();
    assert_eq!(keys.take(&revoke("a"), at(1)), Err(Refusal::NoSuccessor));
}

#[test]
fn a_private_key_is_never_published() {
    let mut keys = SigningKeys::default();
    for member in PRIVATE_MEMBERS {
        let mut leaking = key("a", Es256);
        leaking.public_jwk[member] = "secret".into();
        let found = Command::Observe { keys: vec![leaking] };
        assert_eq!(keys.take(&found, at(0)), Err(Refusal::PrivateKeyOffered));
    }
    assert_eq!(keys, SigningKeys::default());
}

#[test]
fn the_state_survives_the_store() {
    let mut keys = SigningKeys::with(&["a", "b", "c"]);
    keys.take(&revoke("a"), at(1)).unwrap();
    keys.take(&advance(), at(100)).unwrap();
    let stored = serde_json::to_string(&keys).unwrap();
    assert_eq!(serde_json::from_str::<SigningKeys>(&stored).unwrap(), keys);
}

#[test]
fn a_key_whose_private_half_the_node_does_not_hold_is_not_promoted_by_it() {
    let mut keys = SigningKeys::with(&["a", "b"]);
    assert_eq!(keys.take(&holding(vec!["a".to_owned()]), at(500)), Ok(vec![]));
    assert_eq!(keys.signs(), "a");
    keys.take(&holding(vec!["a".to_owned(), "b".to_owned()]), at(500)).unwrap();
    assert_eq!(keys.signs(), "b");
}

#[derive(Clone, Debug)]
enum Step {
    Observe(Vec<u8>),
    Advance,
    Revoke(u8),
    Wait(u16),
}

/// Key number `n` always has the same algorithm, as its kid is a thumbprint.
fn numbered(n: u8) -> ObservedKey {
    key(&format!("k{n}"), SigningAlgorithm::ALL[usize::from(n % 2)])
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        prop::collection::vec(0..12_u8, 0..4).prop_map(Step::Observe),
        Just(Step::Advance),
        (0..12_u8).prop_map(Step::Revoke),
        (0..700_u16).prop_map(Step::Wait),
    ];
    prop::collection::vec(step, 0..60)
}

proptest! {
    #[test]
    fn through_any_history_one_key_signs_and_none_too_early_or_after_its_time(steps in steps()) {
        let mut keys = SigningKeys::default();
        let mut now = at(0);
        for step in steps {
            let before = keys.clone();
            let (command, revoking) = match step {
                Step::Wait(seconds) => {
                    now = now + Duration::from_secs(seconds.into());
                    continue;
                }
                Step::Observe(found) => {
                    (Command::Observe { keys: found.into_iter().map(numbered).collect() }, false)
                }
                Step::Advance => (advance(), false),
                Step::Revoke(n) => (revoke(&numbered(n).kid), true),
            };
            let outcome = keys.take(&command, now);

            if outcome.is_ok() {
                prop_assert_eq!(keys.take(&command, now), Ok(vec![]), "a repeated command acts once");
            } else {
                prop_assert_eq!(&keys, &before, "a refusal changes nothing");
            }
            for algorithm in SigningAlgorithm::ALL {
                let signing = keys.of(algorithm).filter(|k| k.state == KeyState::Current).count();
                prop_assert!(signing <= 1);
                prop_assert_eq!(keys.signing(algorithm).is_some(), keys.has_signed(algorithm));
                let new = keys.current(algorithm).filter(|k| before.state_of(&k.kid) != Some(KeyState::Current));
                if let Some(new) = new {
                    let first = !before.has_signed(algorithm);
                    let ripe = new.published_at + PUBLISHED_FOR <= now;
                    prop_assert!(first || ripe || revoking, "{} signs too early", new.kid);
                }
            }
            for key in &before.keys {
                let state = keys.state_of(&key.kid);
                match key.state {
                    KeyState::Revoked => prop_assert_eq!(state, Some(KeyState::Revoked)),
                    KeyState::Gone => {
                        prop_assert!(matches!(state, Some(KeyState::Gone | KeyState::Revoked)));
                    }
                    KeyState::Retired { .. } => {
                        prop_assert!(!matches!(state, Some(KeyState::Next | KeyState::Current)));
                    }
                    KeyState::Next | KeyState::Current => prop_assert!(state.is_some()),
                }
            }
        }
    }
}

fn stay_revoked(kids: &[&str], held: &[&str]) -> Command {
    let keys = kids.iter().map(|kid| key(kid, Es256)).collect();
    Command::StayRevoked { keys, held: held.iter().map(|kid| (*kid).to_owned()).collect() }
}

#[test]
fn keys_that_were_revoked_after_a_backup_stay_revoked_when_it_is_put_back() {
    // `a` signs, `b` is next; `c` came and was revoked later.
    let mut keys = SigningKeys::with(&["a", "b"]);
    let told = keys.take(&stay_revoked(&["a", "c"], &["a", "b", "c"]), at(10)).unwrap();
    assert_eq!(told, ["signing_key.revoked", "signing_key.revoked", "signing_key.promoted"]);
    assert_eq!(keys.signs(), "b");
    for kid in ["a", "c"] {
        assert_eq!(keys.state_of(kid), Some(KeyState::Revoked), "{kid}");
    }
    // A file that still lies in the folder is not published again.
    assert_eq!(keys.take(&observe(&["c", "a"]), at(20)).unwrap(), [""; 0]);
    assert_eq!(keys.published().map(|key| &*key.kid).collect::<Vec<_>>(), ["b"]);
    assert_eq!(keys.take(&stay_revoked(&["a", "c"], &["b"]), at(30)).unwrap(), [""; 0]);
}

#[test]
fn a_key_that_signs_stays_revoked_only_with_a_successor_that_was_not_revoked_and_is_held() {
    for (revoked, held) in [(&["a"][..], &["a"][..]), (&["a", "b"], &["a", "b"]), (&["a"], &[])] {
        let mut keys = SigningKeys::with(&["a", "b"]);
        let before = keys.clone();
        let refused = keys.take(&stay_revoked(revoked, held), at(10));
        assert_eq!(refused, Err(Refusal::NoSuccessor), "{revoked:?}");
        assert_eq!(keys, before);
    }
    let mut keys = SigningKeys::with(&["a"]);
    let mut private = key("c", Es256);
    private.public_jwk["d"] = "secret".into();
    let command = Command::StayRevoked { keys: vec![private], held: Vec::new() };
    assert_eq!(keys.take(&command, at(10)), Err(Refusal::PrivateKeyOffered));
}
