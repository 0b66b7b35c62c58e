//! Dynamic OP: `oidcc-dynamic-certification-test-plan`, with response type `code`; every client registers
//! itself and authenticates by `private_key_jwt`.

use super::{
    config,
    suite::{NONCE, Party, Suite, get, verified},
};
use crate::{
    http::Answer,
    key_rotation::rotate,
    person::{VERIFIER, claims, text},
    signing_client::{self, key_set},
    site::{Conduct, Site},
    support::TestServer,
};
use hyper::StatusCode;
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder, Generator, Origin, Purpose},
    },
    domain::{Clock as _, signing_keys::SigningAlgorithm},
};
use serde_json::{Value, json};
use std::time::Duration;

/// Longer than an answer on this machine takes, however busy it is.
const LONG: Duration = Duration::from_mins(1);

/// The RS256 key of a relying party.
struct Key {
    folder: Folder,
    jwk: Value,
}

impl Key {
    fn new(server: &TestServer) -> Self {
        let place = tempfile::tempdir().unwrap();
        let generator = Generator {
            folder: place.path(),
            origin: Origin::Generate,
            created_at: server.clock.now(),
            dice: &SystemDice,
        };
        generator.generate(Purpose::Secret).unwrap();
        // A folder is not complete without a key for ES256.
        for algorithm in [SigningAlgorithm::Rs256, SigningAlgorithm::Es256] {
            generator.generate(Purpose::Signing(algorithm)).unwrap();
        }
        let folder = Folder::load(place.path(), DevKeys::Refused).unwrap();
        let mut keys = folder.observed().into_iter();
        let jwk = keys.find(|key| key.public_jwk["alg"] == "RS256").unwrap().public_jwk;
        Self { folder, jwk }
    }

    fn sign(&self, said: &Value) -> String {
        let mut files = self.folder.signing().iter();
        let file = files.find(|file| self.jwk["kid"] == file.signer.kid()).unwrap();
        file.signer.sign("JWT", said).unwrap()
    }

    /// Asks the token endpoint with an assertion for this audience.
    async fn post(
        &self,
        suite: &Suite,
        party: &Party,
        audience: &str,
        fields: &[(&str, &str)],
    ) -> Answer {
        let id = text(&party.registered["client_id"]);
        let said = signing_client::claims(&suite.server, id, json!({ "aud": audience }));
        suite.server.assert_at("/connect/token", &self.sign(&said), fields).await
    }

    async fn redeem(&self, suite: &Suite, party: &Party, code: &str) -> Value {
        let endpoint = format!("{}/connect/token", suite.server.issuer());
        let answer = self.post(suite, party, &endpoint, &redeeming(party, code)).await;
        suite.check_tokens(party, &answer, Some(NONCE)).await;
        answer.json()
    }
}

fn redeeming<'a>(party: &'a Party, code: &'a str) -> [(&'static str, &'a str); 4] {
    [
        ("grant_type", "authorization_code"),
        ("code", code),
        ("redirect_uri", &party.redirect_uri),
        ("code_verifier", VERIFIER),
    ]
}

/// A suite with a client that signs, and these members beside.
async fn scene(members: &Value) -> (Suite, Party, Key) {
    let suite = Suite::open().await;
    let key = Key::new(&suite.server);
    let party = register(&suite, &key, members).await;
    (suite, party, key)
}

async fn register(suite: &Suite, key: &Key, members: &Value) -> Party {
    let mut asked = json!({ "token_endpoint_auth_method": "private_key_jwt",
                            "jwks": key_set(&[&key.jwk]) });
    for (name, value) in members.as_object().unwrap() {
        asked[name] = value.clone();
    }
    suite.register(&asked).await
}

/// A suite that can reach this site.
async fn beside(site: &Site) -> (Suite, Key) {
    let suite = Suite::open_reaching(site.fetcher(LONG)).await;
    let key = Key::new(&suite.server);
    (suite, key)
}

#[tokio::test]
async fn oidcc_idtoken_rs256() {
    let (mut suite, party, key) = scene(&json!({ "id_token_signed_response_alg": "RS256" })).await;
    let code = suite.code(&party, &[]).await;
    let tokens = key.redeem(&suite, &party, &code).await;
    let header = jsonwebtoken::decode_header(text(&tokens["id_token"])).unwrap();
    assert_eq!((header.alg, header.kid.is_some()), (jsonwebtoken::Algorithm::RS256, true));
    suite.clean_up(&party).await;
}

/// Skipped by the suite, because `none` is not offered.
#[tokio::test]
async fn oidcc_idtoken_unsigned() {
    let suite = Suite::open().await;
    let metadata = suite.metadata().await;
    assert!(!metadata["id_token_signing_alg_values_supported"].to_string().contains("none"));
    suite.server.stop().await;
}

#[tokio::test]
async fn oidcc_userinfo_rs256() {
    let (mut suite, party, key) = scene(&json!({ "userinfo_signed_response_alg": "RS256" })).await;
    let metadata = suite.metadata().await;
    assert!(metadata["userinfo_signing_alg_values_supported"].to_string().contains("RS256"));
    let code = suite.code(&party, &[]).await;
    let tokens = key.redeem(&suite, &party, &code).await;
    let answer = suite.server.userinfo(text(&tokens["access_token"])).await;
    assert_eq!(answer.header("content-type"), Some("application/jwt"));
    let said = verified(&answer.text(), &suite.server.key_set().await);
    assert_eq!(said["iss"], suite.server.issuer());
    assert_eq!(said["aud"], party.registered["client_id"]);
    assert_eq!(said["sub"], claims(&tokens["id_token"])["sub"]);
    assert!(said.get("nonce").is_none());
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_ensure_redirect_uri_in_authorization_request() {
    let uris = ["https://suite.example.com/a", "https://suite.example.com/b"];
    let (mut suite, party, _) = scene(&json!({ "redirect_uris": uris })).await;
    suite.authorize(&party, &[("-redirect_uri", "")]).await.is_page();
    suite.clean_up(&party).await;
}

const WITH_QUERY: &str = "https://suite.example.com/test/a/callback?foo=bar";

#[tokio::test]
async fn oidcc_redirect_uri_query_ok() {
    let (mut suite, party, key) = scene(&json!({ "redirect_uris": [WITH_QUERY] })).await;
    let url = suite.authorize(&party, &[]).await.redirect();
    assert_eq!(get(&url, "foo").as_deref(), Some("bar"));
    let code = get(&url, "code").unwrap();
    key.redeem(&suite, &party, &code).await;
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_redirect_uri_query_mismatch() {
    let (mut suite, party, _) = scene(&json!({ "redirect_uris": [WITH_QUERY] })).await;
    let other = "https://suite.example.com/test/a/callback?foo=baz";
    suite.authorize(&party, &[("redirect_uri", other)]).await.is_page();
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_redirect_uri_query_added() {
    let (mut suite, party, _) = scene(&json!({})).await;
    let other = format!("{}?foo=bar", party.redirect_uri);
    suite.authorize(&party, &[("redirect_uri", &other)]).await.is_page();
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_redirect_uri_regfrag() {
    let suite = Suite::open().await;
    let asked = json!({ "redirect_uris": ["https://suite.example.com/cb#foobar"] });
    let answer = suite.server.post_json("/connect/register", &asked, &[]).await;
    answer.refused(400, "invalid_redirect_uri");
    suite.server.stop().await;
}

/// The plan would have `id_token`, `id_token token` and `implicit` listed. They are not served, and what
/// is not served is not listed (docs/deviations.md).
#[tokio::test]
async fn oidcc_discovery_endpoint_verification() {
    let suite = Suite::open().await;
    let document = config::check(&suite).await;
    assert_eq!(document["response_types_supported"], json!(["code"]));
    assert!(!document["grant_types_supported"].to_string().contains("implicit"));
    assert!(document["registration_endpoint"].is_string());
    suite.server.stop().await;
}

#[tokio::test]
async fn oidcc_server() {
    let (mut suite, party, key) = scene(&json!({})).await;
    let code = suite.code(&party, &[]).await;
    let tokens = key.redeem(&suite, &party, &code).await;
    suite.userinfo(&tokens).await;
    suite.clean_up(&party).await;
}

/// What a page would show is in the flow's document.
async fn is_shown(member: &str) {
    let uri = format!("https://suite.example.com/{member}");
    let (suite, party, _) = scene(&json!({ member: uri })).await;
    let page = suite.sign_in_page(&party, &[]).await;
    assert_eq!(page["client"][member], json!(uri), "{page}");
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_registration_logo_uri() {
    is_shown("logo_uri").await;
}

#[tokio::test]
async fn oidcc_registration_policy_uri() {
    is_shown("policy_uri").await;
}

#[tokio::test]
async fn oidcc_registration_tos_uri() {
    is_shown("tos_uri").await;
}

#[tokio::test]
async fn oidcc_registration_jwks_uri() {
    let site = Site::serving(&json!({})).await;
    let (mut suite, key) = beside(&site).await;
    site.now_serves(&key_set(&[&key.jwk]));
    let members = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": site.url });
    let party = suite.register(&members).await;
    let code = suite.code(&party, &[]).await;
    key.redeem(&suite, &party, &code).await;
    assert_eq!(site.asked(), 1);
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_registration_sector_uri() {
    let uris = json!(["https://suite.example.com/test/a/callback"]);
    let site = Site::serving(&uris).await;
    let (mut suite, key) = beside(&site).await;
    let metadata = suite.metadata().await;
    assert!(metadata["subject_types_supported"].to_string().contains("pairwise"));
    let members = json!({ "subject_type": "pairwise", "sector_identifier_uri": site.url });
    let party = register(&suite, &key, &members).await;
    let code = suite.code(&party, &[]).await;
    let tokens = key.redeem(&suite, &party, &code).await;
    let said = suite.userinfo(&tokens).await;
    // Another sector knows the person by another name.
    let other = register(&suite, &key, &json!({})).await;
    let code = suite.code(&other, &[]).await;
    let public = key.redeem(&suite, &other, &code).await;
    assert_ne!(claims(&public["id_token"])["sub"], said["sub"]);
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_registration_sector_bad() {
    let site = Site::serving(&json!(["https://suite.example.com/another"])).await;
    let (suite, _) = beside(&site).await;
    let asked = json!({
        "redirect_uris": ["https://suite.example.com/test/a/callback"],
        "subject_type": "pairwise",
        "sector_identifier_uri": site.url,
    });
    let answer = suite.server.post_json("/connect/register", &asked, &[]).await;
    answer.refused(400, "invalid_client_metadata");
    suite.server.stop().await;
}

#[tokio::test]
async fn oidcc_server_rotate_keys() {
    let (suite, party, _) = scene(&json!({})).await;
    let kids = async || -> Vec<String> {
        let keys = suite.server.get("/connect/jwks").await.json();
        let keys = keys["keys"].as_array().unwrap().clone();
        keys.iter().map(|key| text(&key["kid"]).to_owned()).collect()
    };
    let before = kids().await;
    rotate(&suite.server).await;
    let after = kids().await;
    assert!(after.len() > before.len(), "{before:?} {after:?}");
    assert!(before.iter().all(|kid| after.contains(kid)), "{before:?} {after:?}");
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_refresh_token_rp_key_rotation() {
    let site = Site::serving(&json!({})).await;
    let (mut suite, key) = beside(&site).await;
    site.now_serves(&key_set(&[&key.jwk]));
    let members = json!({ "token_endpoint_auth_method": "private_key_jwt", "jwks_uri": site.url });
    let party = suite.register(&members).await;
    let asked = [("scope", "openid offline_access"), ("prompt", "consent")];
    let code = suite.code(&party, &asked).await;
    let tokens = key.redeem(&suite, &party, &code).await;
    // The relying party replaces its key; a kid that is not known has it fetched again.
    let next = Key::new(&suite.server);
    site.now_serves(&key_set(&[&next.jwk]));
    suite.server.clock.advance(Duration::from_mins(1));
    let fields =
        [("grant_type", "refresh_token"), ("refresh_token", text(&tokens["refresh_token"]))];
    let issuer = suite.server.issuer().to_owned();
    let answer = next.post(&suite, &party, &issuer, &fields).await;
    suite.check_tokens(&party, &answer, None).await;
    suite.clean_up(&party).await;
}

/// Skipped by the suite, because `none` is not offered; it must not be said that no address is taken.
#[tokio::test]
async fn oidcc_request_uri_unsigned() {
    let suite = Suite::open().await;
    let metadata = suite.metadata().await;
    assert_ne!(metadata["request_uri_parameter_supported"], false);
    let offered = metadata["request_object_signing_alg_values_supported"].to_string();
    assert!(offered.contains("RS256") && !offered.contains("none"), "{offered}");
    suite.server.stop().await;
}

#[tokio::test]
async fn oidcc_request_uri_signed_rs256() {
    let site = Site::serving(&json!({})).await;
    let (mut suite, key) = beside(&site).await;
    let uri = format!("{}#a-hash-of-what-is-there", site.url);
    let members = json!({ "request_uris": [uri], "request_object_signing_alg": "RS256" });
    let party = register(&suite, &key, &members).await;
    let id = text(&party.registered["client_id"]).to_owned();
    for pkce in [false, true] {
        let query = super::suite::query(&party, &[], pkce);
        let mut object: serde_json::Map<String, Value> =
            url::form_urlencoded::parse(query.as_bytes())
                .map(|(name, value)| (name.into_owned(), json!(value)))
                .collect();
        object.insert("iss".to_owned(), json!(id));
        object.insert("aud".to_owned(), json!(suite.server.issuer()));
        let object = key.sign(&Value::Object(object));
        site.now(Conduct::Answer(StatusCode::OK, object));
        suite.server.clock.advance(Duration::from_mins(10));
        let reply = suite.present(&id, &uri).await.redirect();
        assert_eq!(get(&reply, "code").is_some(), pkce, "{reply}");
        if let Some(code) = get(&reply, "code") {
            key.redeem(&suite, &party, &code).await;
        }
    }
    suite.clean_up(&party).await;
}

/// Skipped by the suite, because `none` is not offered.
#[tokio::test]
async fn oidcc_ensure_request_object_with_redirect_uri() {
    let (mut suite, party, _) = scene(&json!({})).await;
    let unsigned = "eyJhbGciOiJub25lIn0.eyJyZWRpcmVjdF91cmkiOiJodHRwczovL2V2aWwuZXhhbXBsZSJ9.";
    match suite.authorize(&party, &[("request", unsigned)]).await {
        super::suite::Reply::Page(page) => assert_eq!(page.status, 400, "{page:?}"),
        super::suite::Reply::Redirect(url) => assert!(get(&url, "error").is_some(), "{url}"),
    }
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_refresh_token() {
    let (mut suite, party, key) = scene(&json!({})).await;
    let other_key = Key::new(&suite.server);
    let other = register(&suite, &other_key, &json!({})).await;
    let asked = [("scope", "openid offline_access"), ("prompt", "consent")];
    let code = suite.code(&party, &asked).await;
    let first = key.redeem(&suite, &party, &code).await;
    suite.server.clock.advance(Duration::from_secs(2));
    let issuer = suite.server.issuer().to_owned();
    let token = text(&first["refresh_token"]);
    let fields = [("grant_type", "refresh_token"), ("refresh_token", token)];
    // The token of one client is worth nothing to another.
    let answer = other_key.post(&suite, &other, &issuer, &fields).await;
    answer.refused(400, "invalid_grant");
    let answer = key.post(&suite, &party, &issuer, &fields).await;
    suite.check_tokens(&party, &answer, None).await;
    suite.clean_up(&party).await;
}

#[tokio::test]
async fn oidcc_ensure_client_assertion_with_iss_aud_succeeds() {
    let (mut suite, party, key) = scene(&json!({})).await;
    let code = suite.code(&party, &[]).await;
    let issuer = suite.server.issuer().to_owned();
    let answer = key.post(&suite, &party, &issuer, &redeeming(&party, &code)).await;
    suite.check_tokens(&party, &answer, Some(NONCE)).await;
    suite.clean_up(&party).await;
}
