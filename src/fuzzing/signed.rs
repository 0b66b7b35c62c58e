//! What is signed, sealed or made by us: tokens of every kind.

use super::{Outcome, text, two};
use crate::{
    crypto::{
        ClientEvidence, ClientKeys, Dice, Jws, OpaqueKind, SecretKey, SignedProof,
        StatementIssuers, Vault, Verifiers, mint_api_key, read_api_key,
    },
    domain::{
        Timestamp, dpop,
        flow::{Channel, Seed},
        strict_json,
    },
    http::{
        extract::{
            client_assertion::Assertion,
            possession::read_claims,
            signed_claims::{SignedClaims, SignedClaimsFault},
        },
        flows::ticket::{OverAtOnce, Ticket},
    },
};
use serde_json::Value;
use std::sync::LazyLock;

/// The moment at which everything is judged.
pub(super) const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

/// Bytes that can be told beforehand: what is sealed with them is always the same.
pub(super) struct CountingDice;

impl Dice for CountingDice {
    fn fill(&self, bytes: &mut [u8]) {
        for (byte, value) in bytes.iter_mut().zip((0..=u8::MAX).cycle()) {
            *byte = value;
        }
    }
}

static VAULT: LazyLock<Vault> = LazyLock::new(|| Vault::new(SecretKey::new(&[7; 32]), Vec::new()));

/// The id of a flow that is over, and of one that began.
pub(super) static FLOW_IDS: LazyLock<[String; 2]> = LazyLock::new(|| {
    let over = Ticket::Over(OverAtOnce {
        kind: "sign_in".to_owned(),
        channel: Channel::Program,
        expires_at: NOW,
        client_id: Some("billing".to_owned()),
        scope: "openid".to_owned(),
        failed_to: None,
    });
    let seed = serde_json::json!({ "k": "sign_in", "w": Channel::Program, "e": NOW });
    let seed: Seed = serde_json::from_value(seed).expect("what is left out has its default");
    [over, Ticket::Begun(Box::new(seed))].map(|ticket| ticket.seal(&VAULT, &CountingDice))
});

pub(super) const KINDS: [OpaqueKind; 8] = [
    OpaqueKind::AuthorizationCode,
    OpaqueKind::RefreshToken,
    OpaqueKind::Session,
    OpaqueKind::Invitation,
    OpaqueKind::DeviceCode,
    OpaqueKind::BackchannelRequest,
    OpaqueKind::RecoveryLink,
    OpaqueKind::RecoveryStop,
];

/// One token of each kind.
pub(super) static OPAQUE_TOKENS: LazyLock<Vec<String>> = LazyLock::new(|| {
    let id = crate::crypto::draw_id(&CountingDice);
    let mint = |kind: &OpaqueKind| kind.mint(&id, &VAULT, &CountingDice).text.to_string();
    KINDS.iter().map(mint).collect()
});

pub(super) static API_KEY: LazyLock<String> = LazyLock::new(|| {
    let minted = mint_api_key("00010203-0405-4607-8809-0a0b0c0d0e0f", &CountingDice);
    minted.expect("a UUID").text.to_string()
});

/// The id of a flow: one that opens is one that we wrote, to the letter.
pub(super) fn flow_id(bytes: &[u8]) -> Outcome {
    let Some(id) = text(bytes) else { return Outcome::NO_TEXT };
    let opened = Ticket::open(id, &VAULT).map(|(name, ticket)| (name.len(), ticket.channel()));
    assert!(opened.is_none() || FLOW_IDS.iter().any(|ours| ours == id), "a forged flow id opens");
    Outcome::of(&opened)
}

/// Codes, refresh tokens, sessions, links: likewise.
pub(super) fn opaque_token(bytes: &[u8]) -> Outcome {
    let Some(token) = text(bytes) else { return Outcome::NO_TEXT };
    let genuine = KINDS.iter().filter(|kind| kind.read(token, &VAULT).is_some()).count();
    assert!(genuine < 2, "a token is of one kind");
    let is_ours = OPAQUE_TOKENS.iter().any(|ours| ours == token);
    assert!(genuine == 0 || is_ours, "a forged token is genuine");
    Outcome::of(&genuine)
}

/// An API key has one spelling. Its checksum proves nothing, so others than ours may have the form of one.
pub(super) fn api_key(bytes: &[u8]) -> Outcome {
    let Some(key) = text(bytes) else { return Outcome::NO_TEXT };
    let read = read_api_key(key);
    assert!(read.is_some() || *API_KEY != key, "a key of ours is read");
    Outcome::of(&read.map(|read| read.id.len()))
}

/// A signed token in the first line, the key set of its client after it.
pub(super) fn jose(bytes: &[u8]) -> Outcome {
    let (token, set) = two(bytes);
    let Some(token) = text(token) else { return Outcome::NO_TEXT };
    let jws = Jws::read(token);
    let set = serde_json::from_slice::<Value>(set).ok();
    let verified = jws.as_ref().ok().zip(set.as_ref()).map(|(jws, set)| {
        let evidence = ClientEvidence::Signature(jws);
        let keys = ClientKeys::read_for(&evidence, set)?.ok()?;
        Some(keys.verify(&evidence).map_err(|why| evidence.may_be_by_a_newer_key(why)))
    });
    let others = set.as_ref().and_then(|set| Verifiers::of_others(set.get("keys")?.as_array()?));
    let ours = others.map(|keys| keys.read::<Value>("at+jwt", token).is_ok());
    let statement = StatementIssuers::parse(b"{}").map(|issuers| issuers.read(token));
    let jws = jws.map(|jws| jws.is_typed(&["jwt", "at+jwt"]));
    Outcome::of(&jws).and(Outcome::of(&verified)).and(Outcome::of(&(ours, statement.is_ok())))
}

/// A key set, as a client or a provider publishes it.
pub(super) fn key_set(bytes: &[u8]) -> Outcome {
    let Ok(set) = serde_json::from_slice::<Value>(bytes) else { return Outcome::NO_TEXT };
    let keys = ClientKeys::read(&set).map(|read| read.map(|_| ()));
    let others = set.get("keys").and_then(Value::as_array).map(|keys| Verifiers::of_others(keys));
    Outcome::of(&keys).and(Outcome::of(&others.map(|keys| keys.is_some())))
}

/// An assertion of a client.
pub(super) fn client_assertion(bytes: &[u8]) -> Outcome {
    let Some(token) = text(bytes) else { return Outcome::NO_TEXT };
    Outcome::of(&Assertion::read(token).map(|read| read.client_id().len() > 64))
}

/// A proof of possession.
pub(super) fn dpop_proof(bytes: &[u8]) -> Outcome {
    let Some(token) = text(bytes) else { return Outcome::NO_TEXT };
    Outcome::of(&judge_proof(token))
}

fn judge_proof(token: &str) -> Result<(), SignedClaimsFault> {
    let proof = SignedProof::read(token)?;
    let claims = read_claims(&SignedClaims::read(&proof.jws.payload)?)?;
    let rules = dpop::Rules {
        method: "POST",
        origins: &["https://id.example.com".to_owned()],
        path: "/connect/token",
        token: None,
        is_timed: false,
    };
    let checked = claims.check(&rules, NOW);
    assert!(strict_json::object(&proof.jws.payload).is_ok(), "a payload is strict JSON");
    checked?;
    Ok(proof.verify()?)
}
