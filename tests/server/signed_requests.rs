//! Requests that clients sign, by each algorithm and at each endpoint that takes them.

use crate::{
    ciba::{GRANT, TYPES},
    person::{asking, parameter, redirect},
    signing_client::{claims, in_toml, key_set},
    support::{TestServer, form},
};
use hyper::Method;
use porteiro::{
    crypto::{
        Signer, SystemDice,
        keys::{DevKeys, Folder, Generator, Origin, Purpose},
    },
    domain::{Clock as _, signing_keys::SigningAlgorithm},
};
use serde_json::{Map, Value, json};
use std::sync::Arc;

const ANA: &str = "ana@acme.test";

/// A key of each algorithm, which our own keys are made like.
fn signers() -> Vec<Arc<Signer>> {
    let place = tempfile::tempdir().unwrap();
    let (folder, created_at) = (place.path(), porteiro::domain::Timestamp::from_millis(1));
    let generator = Generator { folder, origin: Origin::Generate, created_at, dice: &SystemDice };
    generator.generate_all().unwrap();
    generator.generate(Purpose::Signing(SigningAlgorithm::Ps256)).unwrap();
    let folder = Folder::load(folder, DevKeys::Refused).unwrap();
    folder.signing().iter().map(|file| file.signer.clone()).collect()
}

/// The client `many`, with all these keys; `more` are lines of TOML.
async fn provision(server: &TestServer, signers: &[Arc<Signer>], more: &str) {
    let keys: Vec<&Value> = signers.iter().map(|signer| signer.public_jwk()).collect();
    let text = format!(
        "{TYPES}\n[[client]]\nclient_id = \"many\"\ntrusted = true\n\
         redirect_uris = [\"https://many.example.com/cb\"]\n\
         grant_types = [\"authorization_code\", \"{GRANT}\"]\n\
         token_endpoint_auth_method = \"private_key_jwt\"\njwks = {}\n{more}\n",
        in_toml(&key_set(&keys))
    );
    server.apply(&text).await;
    server.clock.expire_views();
}

/// A request for a code.
fn object(server: &TestServer) -> Value {
    let asked = asking("many", &[]);
    let asked = url::form_urlencoded::parse(asked.as_bytes()).into_owned();
    let mut object: Map<String, Value> = asked.map(|(name, value)| (name, value.into())).collect();
    let now = server.clock.now().seconds();
    let of_token = json!({ "iss": "many", "aud": server.issuer(), "exp": now + 60, "nbf": now });
    object.extend(of_token.as_object().unwrap().clone());
    object.into()
}

/// A request for an approval.
fn approval(server: &TestServer) -> Value {
    let now = server.clock.now().seconds();
    let said = json!({ "scope": "openid", "login_hint": ANA, "nbf": now, "sub": null });
    claims(server, "many", said)
}

/// Presents requests signed by one algorithm at every endpoint, and tells how each was answered: with a code, and
/// by the statuses of the two others.
async fn answers(server: &TestServer, session: &str, signer: &Signer) -> (bool, u16, u16) {
    let sign = |claims: &Value| signer.sign("JWT", claims).unwrap();
    let assertion = || sign(&claims(server, "many", json!({})));
    let signed = sign(&object(server));
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let query = query.extend_pairs([("client_id", "many"), ("request", &signed)]).finish();
    let path = format!("/connect/authorize?{query}");
    let request = server.request(Method::GET, &path).header("accept", "application/json");
    let request = request.header("x-session-token", session);
    let answer = server.send(request.body(form(&[])).unwrap()).await;
    let has_code = parameter(&redirect(&answer), "code").is_some();
    let pushed = server.assert_at("/connect/par", &assertion(), &[("request", &signed)]).await;
    let asked = sign(&approval(server));
    let begun = server.assert_at("/connect/ciba", &assertion(), &[("request", &asked)]).await;
    (has_code, pushed.status.as_u16(), begun.status.as_u16())
}

#[tokio::test]
async fn a_request_is_verified_by_each_algorithm_at_each_endpoint() {
    let (server, signers) = (TestServer::open().await, signers());
    provision(&server, &signers, "").await;
    let session = server.sign_in(ANA).await;
    let mut algorithms: Vec<SigningAlgorithm> = signers.iter().map(|one| one.algorithm()).collect();
    algorithms.sort();
    assert_eq!(algorithms, SigningAlgorithm::ALL);
    for signer in &signers {
        assert_eq!(answers(&server, &session, signer).await, (true, 201, 200), "{signer:?}");
    }
    // An RSA key that names no algorithm is one for both.
    let rsa = signers.iter().find(|one| one.algorithm() == SigningAlgorithm::Rs256).unwrap();
    let by_both = [rsa.clone(), Arc::new(rsa.by(SigningAlgorithm::Ps256).unwrap())];
    let mut open = rsa.public_jwk().clone();
    open.as_object_mut().unwrap().remove("alg");
    let keys =
        format!("[[client]]\nclient_id = \"many\"\njwks = {}\n", in_toml(&key_set(&[&open])));
    for signer in &by_both[1..] {
        let refused = answers(&server, &session, signer).await;
        assert_eq!(refused, (false, 401, 401), "the key says RS256: {signer:?}");
    }
    server.apply(&keys).await;
    server.clock.expire_views();
    for signer in &by_both {
        assert_eq!(answers(&server, &session, signer).await, (true, 201, 200), "{signer:?}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_named_an_algorithm_signs_by_no_other() {
    let (server, signers) = (TestServer::open().await, signers());
    let session = server.sign_in(ANA).await;
    for named in [SigningAlgorithm::Ps256, SigningAlgorithm::Es256, SigningAlgorithm::EdDsa] {
        let more = format!(
            "request_object_signing_alg = \"{named}\"\n\
             backchannel_authentication_request_signing_alg = \"{named}\"\n"
        );
        provision(&server, &signers, &more).await;
        for signer in &signers {
            let expected =
                if signer.algorithm() == named { (true, 201, 200) } else { (false, 400, 400) };
            let answers = answers(&server, &session, signer).await;
            assert_eq!(answers, expected, "{signer:?} where {named} is named");
        }
    }
    server.stop().await;
}
