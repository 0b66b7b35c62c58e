//! What the metadata say.

use super::run::Run;
use crate::person::text;
use serde_json::{Value, json};

const FAPI: [&str; 4] = ["PS256", "ES256", "EdDSA", "Ed25519"];

fn has(metadata: &Value, member: &str, wanted: &[&str]) -> bool {
    let list = metadata[member].as_array().unwrap_or_else(|| panic!("{member}: {metadata}"));
    wanted.iter().any(|value| list.contains(&json!(value)))
}

pub async fn end_point_verification(run: &Run) {
    let path = if run.variant.openid {
        "/.well-known/openid-configuration"
    } else {
        "/.well-known/oauth-authorization-server"
    };
    let answer = run.server.get(path).await;
    assert_eq!(answer.status, 200, "{run}: {answer:?}");
    let metadata = answer.json();
    let listed = |member: &str, wanted: &[&str]| {
        assert!(has(&metadata, member, wanted), "{run}: {member}: {metadata}");
    };
    assert_eq!(metadata["issuer"], run.server.issuer(), "{run}");
    assert_eq!(metadata["authorization_response_iss_parameter_supported"], true, "{run}");
    let pushed = text(&metadata["pushed_authorization_request_endpoint"]);
    assert!(pushed.starts_with(run.server.issuer()), "{run}: {pushed}");
    let only = &metadata["require_pushed_authorization_requests"];
    assert!(only.is_null() || only.is_boolean(), "{run}: {only}");
    listed("response_types_supported", &["code"]);
    listed("code_challenge_methods_supported", &["S256"]);
    listed("token_endpoint_auth_signing_alg_values_supported", &FAPI);
    let (by_key, by_certificate) =
        (&["private_key_jwt"][..], &["tls_client_auth", "self_signed_tls_client_auth"][..]);
    let methods = if run.variant.private_key_jwt() { by_key } else { by_certificate };
    listed("token_endpoint_auth_methods_supported", methods);
    if run.variant.dpop() {
        listed("dpop_signing_alg_values_supported", &FAPI);
    } else {
        assert_eq!(metadata["tls_client_certificate_bound_access_tokens"], true, "{run}");
    }
    if run.variant.openid {
        listed("id_token_signing_alg_values_supported", &FAPI);
        listed("userinfo_signing_alg_values_supported", &FAPI);
    }
    if run.variant.rar {
        listed("authorization_details_types_supported", &["payment"]);
    }
    if run.variant.signed {
        listed("request_object_signing_alg_values_supported", &FAPI);
    }
    if run.variant.jarm {
        listed("response_modes_supported", &["jwt"]);
        listed("authorization_signing_alg_values_supported", &FAPI);
    }
    if run.variant.certified() {
        let aliases = &metadata["mtls_endpoint_aliases"];
        for name in ["token_endpoint", "pushed_authorization_request_endpoint"] {
            assert!(text(&aliases[name]).starts_with(&run.url("/")), "{run}: {aliases}");
        }
    }
}
