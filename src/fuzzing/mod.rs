//! Bytes of no sense for every parser that meets strangers (adr/0145).
//!
//! A target feeds one parser, and judges what must hold whatever the bytes are. Two harnesses share the targets: `fuzz/` is for
//! cargo-fuzz, which needs a nightly compiler; [`harness`] runs on any. A target fails by a panic, or by taking too long. The
//! bytes that each begins with lie in `fuzz/corpus/`, one folder a target.

mod accounts;
mod certificates;
mod clients;
mod files;
#[cfg(test)]
mod harness;
mod json;
#[cfg(test)]
mod mutator;
mod passkeys;
mod requests;
mod scim;
#[cfg(test)]
mod seeds;
mod signed;
mod upstream;

use std::fmt::Debug;

/// A parser, and what must hold of it.
#[derive(Clone, Copy, Debug)]
pub struct Target {
    /// As `fuzz/corpus/` and `fuzz/fuzz_targets/` call it.
    pub name: &'static str,
    run: fn(&[u8]) -> Outcome,
}

/// What became of some bytes: the stable harness goes on from those that came to something new.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome(u64);

impl Outcome {
    /// The bytes are not even text, where the parser takes text alone.
    const NO_TEXT: Self = Self(0);

    /// Tells outcomes apart by how they begin when they are printed: which variant, and not what it quotes.
    fn of(result: &impl Debug) -> Self {
        const COUNTS: usize = 32;
        let text = format!("{result:?}");
        // FNV-1a
        let hash = text.bytes().take(COUNTS).fold(0xcbf2_9ce4_8422_2325, |hash: u64, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        Self(hash)
    }

    fn and(self, other: Self) -> Self {
        Self(self.0.rotate_left(17) ^ other.0)
    }
}

impl Target {
    /// Feeds the parser once.
    pub fn run(&self, bytes: &[u8]) -> Outcome {
        (self.run)(bytes)
    }
}

/// All of them, by name.
pub const TARGETS: &[Target] = &[
    Target { name: "api_keys", run: signed::api_key },
    Target { name: "authorization_details", run: json::authorization_details },
    Target { name: "claims_parameter", run: json::claims_parameter },
    Target { name: "client_assertions", run: signed::client_assertion },
    Target { name: "client_certificates", run: certificates::client_certificate },
    Target { name: "client_credentials", run: requests::client_credentials },
    Target { name: "client_documents", run: clients::document },
    Target { name: "client_metadata", run: clients::metadata },
    Target { name: "distinguished_names", run: certificates::distinguished_name },
    Target { name: "domains", run: accounts::domain },
    Target { name: "dpop_proofs", run: signed::dpop_proof },
    Target { name: "email_addresses", run: accounts::email },
    Target { name: "flow_ids", run: signed::flow_id },
    Target { name: "forms", run: requests::form },
    Target { name: "imports", run: files::import },
    Target { name: "jose", run: signed::jose },
    Target { name: "json_bodies", run: json::body },
    Target { name: "json_schemas", run: json::schema },
    Target { name: "key_sets", run: signed::key_set },
    Target { name: "opaque_tokens", run: signed::opaque_token },
    Target { name: "passkey_answers", run: passkeys::answer },
    Target { name: "passwords", run: accounts::password },
    Target { name: "pictures", run: clients::picture },
    Target { name: "provisioning", run: files::provisioning },
    Target { name: "redirect_uris", run: clients::redirect_uri },
    Target { name: "request_headers", run: requests::headers },
    Target { name: "scim_bodies", run: scim::body },
    Target { name: "scim_filters", run: scim::filter },
    Target { name: "scim_patches", run: scim::patch },
    Target { name: "scopes", run: accounts::scopes },
    Target { name: "txt_records", run: accounts::txt_record },
    Target { name: "upstream_callbacks", run: upstream::callback },
    Target { name: "upstream_id_tokens", run: upstream::id_token },
    Target { name: "upstream_logout_tokens", run: upstream::logout_token },
    Target { name: "upstream_metadata", run: upstream::metadata },
    Target { name: "user_codes", run: accounts::user_code },
];

/// Feeds the target of this name, for a harness outside of this crate.
///
/// # Panics
/// If there is none; and where the target has found something.
pub fn run(name: &str, bytes: &[u8]) {
    let target = TARGETS.iter().find(|target| target.name == name);
    target.expect("a target of this name").run(bytes);
}

/// Splits bytes in two at the first line feed, for targets that take two texts.
fn two(bytes: &[u8]) -> (&[u8], &[u8]) {
    let at = bytes.iter().position(|byte| *byte == b'\n');
    at.map_or((bytes, &[]), |at| (&bytes[..at], &bytes[at + 1..]))
}

fn text(bytes: &[u8]) -> Option<&str> {
    str::from_utf8(bytes).ok()
}
