//! A module run in one variant after the other: the server, the two clients of the variant, and a person.

use super::{signer::Signer, variant::Variant};
use crate::{
    certificate_holder::{CertificateHolder, Partners},
    key_holder::KeyHolder,
    signing_client::{ClientKey, RsaClientKey, in_toml, key_set},
    support::{TestOptions, TestServer},
};
use porteiro::domain::Clock as _;
use serde_json::{Value, json};
use std::{fmt, sync::Arc};

/// The roles of Acme, where a manager may read the audit trail, and a type of details.
const SCENE: &str = r#"
[[resource]]
identifier = "https://api.example.com/invoices"
[[resource.authorization_details]]
type = "payment"
permission = "invoices:approve"
schema = { type = "object", required = ["amount", "to"] }

[[organization]]
slug = "acme"
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read", "orders:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*", "audit:read"]
"#;

/// A client of the plan, with everything that it proves itself by.
pub struct Client {
    pub id: String,
    pub callback: String,
    pub signer: Arc<Signer>,
    pub certificate: CertificateHolder,
    pub holder: KeyHolder,
}

/// A variant that is being run.
pub struct Run {
    pub server: TestServer,
    pub partners: Partners,
    pub variant: Variant,
    /// How the variant is called when something is wrong in it.
    pub label: String,
    pub one: Client,
    /// The second client has another sort of key, and a redirect URI with a query.
    pub two: Client,
}

impl fmt::Display for Run {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.label)
    }
}

/// Runs a module in each of these variants, with clients of its own in each.
pub async fn each(variants: Vec<Variant>, module: impl AsyncFn(&Run)) {
    let (server, partners) = stage(TestOptions::default()).await;
    let mut file = SCENE.to_owned();
    let mut cast = Vec::new();
    let keys = keys();
    for variant in variants {
        let [one, two] = clients((&server, &partners), variant, (&variant.to_string(), &keys));
        file.push_str(&provisioned(variant, &one));
        file.push_str(&provisioned(variant, &two));
        cast.push((variant, one, two));
    }
    server.apply(&file).await;
    let mut cast = cast.into_iter();
    let (variant, one, two) = cast.next().expect("a plan runs it in some variant");
    let mut run = Run { server, partners, variant, label: variant.to_string(), one, two };
    loop {
        // Boxed: a module is long.
        Box::pin(module(&run)).await;
        let Some(next) = cast.next() else { break };
        (run.variant, run.one, run.two) = next;
        run.label = run.variant.to_string();
    }
    run.server.stop().await;
}

/// A server that asks for certificates and takes any number of requests, and who issues certificates.
pub async fn stage(options: TestOptions) -> (TestServer, Partners) {
    let partners = Partners::new();
    let options = TestOptions { mtls: Some(partners.plan()), rates: None, ..options };
    (TestServer::open_in(options).await, partners)
}

/// The keys of all first clients, and of all second ones.
pub fn keys() -> [Arc<Signer>; 2] {
    let (rsa, ec) = (RsaClientKey::new("one"), ClientKey::new("two"));
    [Arc::new(Signer::Rsa(rsa)), Arc::new(Signer::Ec(ec))]
}

/// The two clients of a variant.
pub fn clients(
    (server, partners): (&TestServer, &Partners),
    variant: Variant,
    (label, [first, second]): (&str, &[Arc<Signer>; 2]),
) -> [Client; 2] {
    let callback = "https://suite.example.com/test/a/callback";
    let holder = || KeyHolder::new(&origin(server, variant), server.clock.now().seconds());
    let (one, two) = (format!("{label}-one"), format!("{label}-two"));
    [
        Client {
            certificate: partners.issue(&one),
            id: one,
            callback: callback.to_owned(),
            signer: first.clone(),
            holder: holder(),
        },
        Client {
            certificate: CertificateHolder::self_signed(&two),
            id: two,
            callback: format!("{callback}?dummy1=lorem&dummy2=ipsum"),
            signer: second.clone(),
            holder: holder(),
        },
    ]
}

/// Where the programs of a variant find the server.
pub fn origin(server: &TestServer, variant: Variant) -> String {
    if variant.certified() {
        format!("https://localhost:{}", server.running().mtls.unwrap().port())
    } else {
        server.issuer().to_owned()
    }
}

/// Writes a client of the plans for codes as TOML.
fn provisioned(variant: Variant, client: &Client) -> String {
    let mut lines = vec![
        identified(variant, client),
        format!("redirect_uris = [\"{}\"]", client.callback),
        "grant_types = [\"authorization_code\", \"refresh_token\"]".to_owned(),
        format!("require_profile = \"{}\"", variant.profile()),
    ];
    if matches!(*client.signer, Signer::Rsa(_)) {
        lines.push("authorization_signed_response_alg = \"PS256\"".to_owned());
    }
    let bound = if variant.dpop() {
        "dpop_bound_access_tokens"
    } else {
        "tls_client_certificate_bound_access_tokens"
    };
    lines.push(format!("{bound} = true"));
    if variant.signed {
        lines.push("require_signed_request_object = true".to_owned());
    }
    format!("{}\n\n", lines.join("\n"))
}

/// Writes by what a client is known, as TOML. The first names its algorithms, and is known by the name
/// that an authority certified; the second names none, and is known by its own certificate.
pub fn identified(variant: Variant, client: &Client) -> String {
    let is_first = matches!(*client.signer, Signer::Rsa(_));
    let mut own = client.certificate.jwk();
    own["kid"] = json!("certificate");
    let mut keys: Vec<&Value> = vec![client.signer.jwk()];
    let method = match (variant.private_key_jwt(), is_first) {
        (true, _) => "private_key_jwt",
        (false, true) => "tls_client_auth",
        (false, false) => {
            keys.push(&own);
            "self_signed_tls_client_auth"
        }
    };
    let mut lines = vec![
        "[[client]]".to_owned(),
        format!("client_id = \"{}\"", client.id),
        format!("token_endpoint_auth_method = \"{method}\""),
        format!("jwks = {}", in_toml(&key_set(&keys))),
    ];
    if method == "tls_client_auth" {
        lines.push(format!("tls_client_auth_subject_dn = \"CN={},O=Acme\"", client.id));
    }
    if is_first {
        lines.push("id_token_signed_response_alg = \"PS256\"".to_owned());
    }
    lines.join("\n")
}
