//! Screens in a real browser, as people go through them: every page that is seen is judged
//! ([`visitor::Visitor::look`]) for accessibility, weight, policy, layout shift and reflow.
//!
//! `PORTEIRO_SCREENSHOTS=docs/screens` keeps pictures of them, as WebP or `PORTEIRO_SCREENSHOTS_AS=png`.

mod accounts;
mod alerts;
mod approvals;
mod axe;
mod clients;
mod conditions;
mod devices;
mod directory;
mod keyboard;
mod page;
mod passkeys;
mod relying_party;
mod single_sign_on;
mod visitor;

/// A client that is not trusted, whose callback is on this machine.
const LEDGER: &str = r#"
[[client]]
client_id = "ledger"
client_name = "Ledger Notes"
client_secret = "a-secret-of-more-than-thirty-two-characters"
redirect_uris = ["http://127.0.0.1/cb"]
policy_uri = "https://ledger.example.com/privacy"
tos_uri = "https://ledger.example.com/terms"

[[client]]
client_id = "television"
client_name = "Acme Television"
grant_types = ["urn:ietf:params:oauth:grant-type:device_code"]
token_endpoint_auth_method = "none"
"#;

const ANA: &str = "ana@acme.test";
const TAB: &str = "\u{e004}";
const ENTER: &str = "\u{e007}";
