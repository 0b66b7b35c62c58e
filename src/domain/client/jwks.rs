//! Key sets that clients register: public keys, few, of kinds that we verify with (RFC 7517).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Map, Value, json};

const MOST_KEYS: usize = 20;
const MOST_BYTES: usize = 32 * 1024;

/// Of an RSA key (RFC 7518 §3.3).
const LEAST_BITS: usize = 2048;

/// The members of a JWK that give the private key away (RFC 7518 §6, RFC 8037 §2).
const PRIVATE_MEMBERS: [&str; 8] = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/// Why a key set cannot stand; reads on from the member's name. It never repeats a key's material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KeySetFault {
    #[error("is larger than {MOST_BYTES} bytes")]
    TooLarge,
    #[error("holds more than {MOST_KEYS} keys")]
    TooManyKeys,
    #[error("contains a control character")]
    ControlCharacter,
    #[error("holds a private key: it has the member `{0}`")]
    Private(&'static str),
    #[error("holds a key whose `kty` is not RSA, EC or OKP")]
    KeyType,
    #[error("holds a key without a proper `{0}`")]
    Member(&'static str),
    #[error("holds an RSA key of less than {LEAST_BITS} bits")]
    Weak,
}

/// Returns the set with nothing but its keys, every fault at once, or `None` if it is no key set.
pub(super) fn check(value: &Value) -> Option<Result<Value, Vec<KeySetFault>>> {
    let entries = value.get("keys")?.as_array()?.iter();
    let keys: Vec<&Map<String, Value>> = entries.map(Value::as_object).collect::<Option<_>>()?;
    // RFC 7517 §5: other members of the set are ignored.
    let set = json!({ "keys": keys });
    if set.to_string().len() > MOST_BYTES {
        return Some(Err(vec![KeySetFault::TooLarge]));
    }
    let mut faults: Vec<KeySetFault> = Vec::new();
    if keys.len() > MOST_KEYS {
        faults.push(KeySetFault::TooManyKeys);
    }
    if has_control_character(&set) {
        faults.push(KeySetFault::ControlCharacter);
    }
    for fault in keys.into_iter().filter_map(|key| check_public_key(key).err()) {
        if !faults.contains(&fault) {
            faults.push(fault);
        }
    }
    Some(if faults.is_empty() { Ok(set) } else { Err(faults) })
}

/// Checks one key of a set.
pub fn check_public_key(key: &Map<String, Value>) -> Result<(), KeySetFault> {
    // RFC 7591 §2: public keys. A private key that was sent here is no secret any more.
    if let Some(private) = PRIVATE_MEMBERS.into_iter().find(|member| key.contains_key(*member)) {
        return Err(KeySetFault::Private(private));
    }
    let text = |member: &str| key.get(member).and_then(Value::as_str);
    // RFC 7518 §6.2.1 and §6.3.1, RFC 8037 §2.
    let needed: &[&'static str] = match text("kty") {
        Some("RSA") => &["n", "e"],
        Some("EC") => &["crv", "x", "y"],
        Some("OKP") => &["crv", "x"],
        _ => return Err(KeySetFault::KeyType),
    };
    if let Some(member) = needed.iter().find(|member| text(member).is_none_or(str::is_empty)) {
        return Err(KeySetFault::Member(member));
    }
    // By these a key is chosen: another type would never be found.
    for member in ["kid", "use", "alg"] {
        if key.get(member).is_some_and(|value| !value.is_string()) {
            return Err(KeySetFault::Member(member));
        }
    }
    match text("n").filter(|_| text("kty") == Some("RSA")).map(bits) {
        Some(None) => Err(KeySetFault::Member("n")),
        Some(Some(bits)) if bits < LEAST_BITS => Err(KeySetFault::Weak),
        _ => Ok(()),
    }
}

/// Counts the bits of a number in base64url.
fn bits(number: &str) -> Option<usize> {
    let octets = URL_SAFE_NO_PAD.decode(number).ok()?;
    let zeros = octets.iter().take_while(|octet| **octet == 0).count();
    let first = octets.get(zeros).map_or(0, |octet| octet.leading_zeros());
    Some((octets.len() - zeros) * 8 - usize::try_from(first).unwrap_or(0))
}

fn has_control_character(value: &Value) -> bool {
    match value {
        Value::String(text) => text.chars().any(char::is_control),
        Value::Array(values) => values.iter().any(has_control_character),
        Value::Object(members) => members.iter().any(|(name, value)| {
            name.chars().any(char::is_control) || has_control_character(value)
        }),
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

#[cfg(test)]
mod tests;
