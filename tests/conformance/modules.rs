//! Every module of the plans has its test, and no test is left that is none.

use super::plans::{FAPI_CIBA, MESSAGE_SIGNING, SECURITY_PROFILE};
use std::{collections::BTreeSet, fs};

/// A plan, the file of its tests, and its modules by their public names.
const PLANS: [(&str, &str, &[&str]); 5] = [
    (
        "oidcc-basic-certification-test-plan",
        "basic.rs",
        &[
            "oidcc-server",
            "oidcc-response-type-missing",
            "oidcc-idtoken-signature",
            "oidcc-idtoken-unsigned",
            "oidcc-userinfo-get",
            "oidcc-userinfo-post-header",
            "oidcc-userinfo-post-body",
            "oidcc-ensure-request-without-nonce-succeeds-for-code-flow",
            "oidcc-scope-profile",
            "oidcc-scope-email",
            "oidcc-scope-address",
            "oidcc-scope-phone",
            "oidcc-scope-all",
            "oidcc-alternate-happy-flow",
            "oidcc-display-page",
            "oidcc-display-popup",
            "oidcc-prompt-login",
            "oidcc-prompt-none-not-logged-in",
            "oidcc-prompt-none-logged-in",
            "oidcc-max-age-1",
            "oidcc-max-age-10000",
            "oidcc-ensure-request-with-unknown-parameter-succeeds",
            "oidcc-id-token-hint",
            "oidcc-login-hint",
            "oidcc-ui-locales",
            "oidcc-claims-locales",
            "oidcc-ensure-request-with-acr-values-succeeds",
            "oidcc-codereuse",
            "oidcc-codereuse-30seconds",
            "oidcc-ensure-registered-redirect-uri",
            "oidcc-ensure-post-request-succeeds",
            "oidcc-server-client-secret-post",
            "oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported",
            "oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported",
            "oidcc-claims-essential",
            "oidcc-ensure-request-object-with-redirect-uri",
            "oidcc-refresh-token",
            "oidcc-ensure-request-with-valid-pkce-succeeds",
        ],
    ),
    (
        "oidcc-config-certification-test-plan",
        "config.rs",
        &["oidcc-discovery-endpoint-verification"],
    ),
    (
        "oidcc-dynamic-certification-test-plan",
        "dynamic.rs",
        &[
            "oidcc-idtoken-rs256",
            "oidcc-idtoken-unsigned",
            "oidcc-userinfo-rs256",
            "oidcc-ensure-redirect-uri-in-authorization-request",
            "oidcc-redirect-uri-query-OK",
            "oidcc-redirect-uri-query-mismatch",
            "oidcc-redirect-uri-query-added",
            "oidcc-redirect-uri-regfrag",
            "oidcc-discovery-endpoint-verification",
            "oidcc-server",
            "oidcc-registration-logo-uri",
            "oidcc-registration-policy-uri",
            "oidcc-registration-tos-uri",
            "oidcc-registration-jwks-uri",
            "oidcc-registration-sector-uri",
            "oidcc-registration-sector-bad",
            "oidcc-server-rotate-keys",
            "oidcc-refresh-token-rp-key-rotation",
            "oidcc-request-uri-unsigned",
            "oidcc-request-uri-signed-rs256",
            "oidcc-ensure-request-object-with-redirect-uri",
            "oidcc-refresh-token",
            "oidcc-ensure-client-assertion-with-iss-aud-succeeds",
        ],
    ),
    (
        "oidcc-rp-initiated-logout-certification-test-plan",
        "rp_initiated_logout.rs",
        &[
            "oidcc-rp-initiated-logout-discovery-endpoint-verification",
            "oidcc-rp-initiated-logout",
            "oidcc-rp-initiated-logout-bad-post-logout-redirect-uri",
            "oidcc-rp-initiated-logout-modified-id-token-hint",
            "oidcc-rp-initiated-logout-no-id-token-hint",
            "oidcc-rp-initiated-logout-no-params",
            "oidcc-rp-initiated-logout-no-post-logout-redirect-uri",
            "oidcc-rp-initiated-logout-no-state",
            "oidcc-rp-initiated-logout-only-state",
            "oidcc-rp-initiated-logout-query-added-to-post-logout-redirect-uri",
            "oidcc-rp-initiated-logout-bad-id-token-hint",
        ],
    ),
    (
        "oidcc-backchannel-rp-initiated-logout-certification-test-plan",
        "backchannel_logout.rs",
        &[
            "oidcc-backchannel-logout-discovery-endpoint-verification",
            "oidcc-backchannel-rp-initiated-logout",
        ],
    ),
];

#[test]
fn every_module_of_the_plans_has_one_test_under_its_name() {
    for (plan, file, modules) in PLANS {
        listed(plan, &[file], modules);
    }
    let shared = "fapi2/shared_modules.rs";
    let signing = [SECURITY_PROFILE, MESSAGE_SIGNING].concat();
    let security_profile = ["fapi2/security_profile.rs", shared];
    listed("fapi2-security-profile-final-test-plan", &security_profile, SECURITY_PROFILE);
    let message_signing = ["fapi2/message_signing.rs", shared];
    listed("fapi2-message-signing-final-test-plan", &message_signing, &signing);
    listed("fapi-ciba-id1-test-plan", &["fapi_ciba/plan.rs"], FAPI_CIBA);
}

/// Insists that files have a test for each module of a plan, and no other.
#[track_caller]
fn listed(plan: &str, files: &[&str], modules: &[&str]) {
    let read = |file: &&str| fs::read_to_string(format!("tests/conformance/{file}")).unwrap();
    let source: String = files.iter().map(read).collect();
    let after_attribute = source.split("#[tokio::test]").skip(1);
    let tests: BTreeSet<&str> = after_attribute
        .map(|rest| rest.trim_start().strip_prefix("async fn ").unwrap())
        .map(|rest| rest.split('(').next().unwrap())
        .collect();
    let named: Vec<String> =
        modules.iter().map(|name| name.to_ascii_lowercase().replace('-', "_")).collect();
    let named: BTreeSet<&str> = named.iter().map(String::as_str).collect();
    assert_eq!(tests, named, "{plan}");
    assert_eq!(modules.len(), named.len(), "{plan}");
}
