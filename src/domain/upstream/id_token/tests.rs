//! ID tokens as providers make them, and as others would.

use super::*;
use crate::domain::upstream::CompanyFault;
use proptest::prelude::*;
use serde_json::json;

const ISSUER: &str = "https://login.acme.test";
const NOW: i64 = 1_800_000_000;

fn claims() -> Value {
    json!({
        "iss": ISSUER, "sub": "248289761001", "aud": "porteiro", "exp": NOW + 300, "iat": NOW,
        "nonce": "n-0S6_WzA2Mj",
    })
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = claims();
    claims[name] = value;
    claims
}

fn without(name: &str) -> Value {
    let mut claims = claims();
    claims.as_object_mut().unwrap().remove(name);
    claims
}

struct Asked {
    issuer: Issuer,
    max_age: Option<Duration>,
    company: Option<&'static str>,
    algorithm: SigningAlgorithm,
    access_token: Option<&'static str>,
}

impl Default for Asked {
    fn default() -> Self {
        Self {
            issuer: Issuer::parse(ISSUER).unwrap(),
            max_age: None,
            company: None,
            algorithm: SigningAlgorithm::Rs256,
            access_token: None,
        }
    }
}

impl Asked {
    fn judge(&self, claims: &Value) -> Result<UpstreamPerson, ClaimsFault> {
        let expected = Expectation {
            issuer: &self.issuer,
            client_id: "porteiro",
            nonce: "n-0S6_WzA2Mj",
            company: self.company,
            max_age: self.max_age,
            algorithm: self.algorithm,
            access_token: self.access_token,
            // OpenID Connect Core, appendix A.4.
            code: "Qcb0Orv1zh30vL1MPRsbm-diHiMwcLyZvn1arpZv-Jxf_11jnpEX3Tgfvk",
        };
        let Value::Object(claims) = claims.clone() else { panic!("claims are an object") };
        judge(claims, &expected, Timestamp::from_seconds(NOW))
    }
}

fn judged(claims: &Value) -> Result<UpstreamPerson, ClaimsFault> {
    Asked::default().judge(claims)
}

fn fault(claims: &Value) -> ClaimsFault {
    judged(claims).unwrap_err()
}

#[test]
fn a_plain_token_makes_a_person() {
    let person = judged(&claims()).unwrap();
    assert_eq!((person.issuer.as_str(), person.subject.as_str()), (ISSUER, "248289761001"));
    assert_eq!((person.email, person.email_verified, person.session), (None, None, None));
    assert_eq!((person.acr, person.amr, person.auth_time), (None, vec![], None));
    assert!(person.claims.is_empty());
}

#[test]
fn a_rich_token_makes_a_person_with_facts() {
    let mut rich = claims();
    for (name, value) in [
        ("email", json!("ana@acme.test")),
        ("email_verified", json!(true)),
        ("sid", json!("s1")),
        ("acr", json!("phr")),
        ("amr", json!(["pwd", "mfa"])),
        ("auth_time", json!(NOW - 60)),
        ("groups", json!(["finance", "staff"])),
        ("department", json!("Sales")),
        ("address", json!({ "country": "PT" })),
        ("updated_at", json!(1)),
        ("mixed", json!(["a", 1])),
    ] {
        rich[name] = value;
    }
    let person = judged(&rich).unwrap();
    assert_eq!(person.email.as_deref(), Some("ana@acme.test"));
    assert_eq!((person.email_verified, person.session.as_deref()), (Some(true), Some("s1")));
    assert_eq!(
        (person.acr.as_deref(), person.amr.clone()),
        (Some("phr"), vec!["pwd".into(), "mfa".into()])
    );
    assert_eq!(person.auth_time, Some(Timestamp::from_seconds(NOW - 60)));
    let facts = json!({ "groups": ["finance", "staff"], "department": "Sales" });
    assert_eq!(Value::Object(person.claims.clone()), facts);
    assert_eq!(serde_json::from_value::<UpstreamPerson>(json!(person)).unwrap(), person);
}

#[test]
fn the_issuer_is_the_one_that_was_asked() {
    for other in ["https://evil.test", "https://login.acme.test/", "HTTPS://login.acme.test"] {
        assert_eq!(fault(&with("iss", json!(other))), ClaimsFault::Issuer, "{other}");
    }
    assert_eq!(fault(&with("iss", json!([ISSUER]))), ClaimsFault::Malformed("iss"));
    assert_eq!(fault(&without("iss")), ClaimsFault::Missing("iss"));
}

#[test]
fn the_audience_is_this_client_and_no_other() {
    assert!(judged(&with("aud", json!(["porteiro"]))).is_ok());
    for (bad, why) in [
        (json!("another"), ClaimsFault::Audience),
        (json!(["another"]), ClaimsFault::Audience),
        (json!([]), ClaimsFault::Audience),
        (json!(["porteiro", "another"]), ClaimsFault::FurtherAudience),
        (json!(["another", "porteiro"]), ClaimsFault::FurtherAudience),
        (json!([1]), ClaimsFault::Malformed("aud")),
        (json!({ "porteiro": 1 }), ClaimsFault::Malformed("aud")),
        (json!(null), ClaimsFault::Malformed("aud")),
        (json!(["porteiro", "porteiro"]), ClaimsFault::AuthorizedParty),
    ] {
        assert_eq!(fault(&with("aud", bad.clone())), why, "{bad}");
    }
    assert_eq!(fault(&without("aud")), ClaimsFault::Missing("aud"));
}

#[test]
fn the_authorized_party_is_this_client() {
    assert!(judged(&with("azp", json!("porteiro"))).is_ok());
    assert_eq!(fault(&with("azp", json!("another"))), ClaimsFault::AuthorizedParty);
    assert_eq!(fault(&with("azp", json!(1))), ClaimsFault::Malformed("azp"));
    let mut twice = with("azp", json!("porteiro"));
    twice["aud"] = json!(["porteiro", "porteiro"]);
    assert!(judged(&twice).is_ok());
    // A party of ours makes no other audience trusted.
    twice["aud"] = json!(["porteiro", "another"]);
    assert_eq!(fault(&twice), ClaimsFault::FurtherAudience);
}

#[test]
fn a_token_is_good_for_its_time_with_a_minute_to_spare() {
    assert!(judged(&with("exp", json!(NOW - 59))).is_ok());
    assert_eq!(fault(&with("exp", json!(NOW - 60))), ClaimsFault::Expired);
    assert!(judged(&with("iat", json!(NOW + 60))).is_ok());
    assert_eq!(fault(&with("iat", json!(NOW + 61))), ClaimsFault::NotYet);
    assert!(judged(&with("iat", json!(NOW - 959))).is_ok());
    assert_eq!(fault(&with("iat", json!(NOW - 960))), ClaimsFault::TooOld);
    assert!(judged(&with("nbf", json!(NOW + 60))).is_ok());
    assert_eq!(fault(&with("nbf", json!(NOW + 61))), ClaimsFault::NotYet);
    assert!(judged(&with("iat", json!(1_799_999_999.75))).is_ok(), "a fraction is allowed");
    for name in ["exp", "iat"] {
        assert_eq!(fault(&without(name)), ClaimsFault::Missing(name));
        for bad in [json!("1800000300"), json!(-1), json!(1e30), json!(null), json!([NOW])] {
            assert_eq!(fault(&with(name, bad)), ClaimsFault::Malformed(name));
        }
    }
    assert_eq!(fault(&with("nbf", json!("soon"))), ClaimsFault::Malformed("nbf"));
}

#[test]
fn the_nonce_is_that_of_this_sign_in() {
    for other in ["n-0S6_WzA2Mk", "n-0S6_WzA2M", "n-0S6_WzA2Mjj", "N-0S6_WZA2MJ"] {
        assert_eq!(fault(&with("nonce", json!(other))), ClaimsFault::Nonce, "{other}");
    }
    assert_eq!(fault(&with("nonce", json!(""))), ClaimsFault::Malformed("nonce"));
    assert_eq!(fault(&without("nonce")), ClaimsFault::Missing("nonce"));
}

#[test]
fn a_subject_is_short_printable_ascii() {
    for good in ["a", "Ana Sousa", "auth0|5f7c8ec7c33c6c004bbafe82", &"s".repeat(255)] {
        assert_eq!(judged(&with("sub", json!(good))).unwrap().subject, good);
    }
    for bad in [json!(""), json!("s".repeat(256)), json!("é"), json!("a\nb"), json!(1), json!(null)]
    {
        assert_eq!(fault(&with("sub", bad)), ClaimsFault::Malformed("sub"));
    }
    assert_eq!(fault(&without("sub")), ClaimsFault::Missing("sub"));
}

#[test]
fn where_an_age_was_asked_for_the_proof_must_be_younger() {
    let asked = Asked { max_age: Some(Duration::from_mins(10)), ..Asked::default() };
    let at = |seconds: i64| asked.judge(&with("auth_time", json!(NOW + seconds)));
    assert!(at(-600).is_ok() && at(-660).is_ok() && at(60).is_ok());
    assert_eq!(at(-661), Err(ClaimsFault::AuthTime));
    assert_eq!(at(61), Err(ClaimsFault::AuthTime));
    assert_eq!(asked.judge(&claims()), Err(ClaimsFault::Missing("auth_time")));
    let malformed = asked.judge(&with("auth_time", json!("now")));
    assert_eq!(malformed, Err(ClaimsFault::Malformed("auth_time")));
    assert_eq!(judged(&with("auth_time", json!("now"))).unwrap().auth_time, None);
}

#[test]
fn hashes_are_checked_where_they_are() {
    // OpenID Connect Core, appendices A.3 and A.4.
    let access_token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y";
    let asked = Asked { access_token: Some(access_token), ..Asked::default() };
    assert!(asked.judge(&with("at_hash", json!("77QmUPtjPfzWtF2AnpK9RQ"))).is_ok());
    let other = with("at_hash", json!("77QmUPtjPfzWtF2AnpK9RA"));
    assert_eq!(asked.judge(&other), Err(ClaimsFault::AccessTokenHash));
    let hash = with("at_hash", json!("77QmUPtjPfzWtF2AnpK9RQ"));
    assert_eq!(judged(&hash), Err(ClaimsFault::AccessTokenHash), "there is no access token");
    assert!(judged(&with("c_hash", json!("LDktKdoQak3Pk0cnXxCltA"))).is_ok());
    assert_eq!(fault(&with("c_hash", json!("LDktKdoQak3Pk0cnXxCltB"))), ClaimsFault::CodeHash);
    let long = URL_SAFE_NO_PAD.encode(&Sha512::digest(access_token)[..32]);
    let long = with("at_hash", json!(long));
    assert_eq!(asked.judge(&long), Err(ClaimsFault::AccessTokenHash));
    let edwards = Asked { algorithm: SigningAlgorithm::EdDsa, ..asked };
    assert!(edwards.judge(&long).is_ok() && edwards.judge(&hash).is_ok());
    assert_eq!(edwards.judge(&other), Err(ClaimsFault::AccessTokenHash));
}

#[test]
fn the_company_is_judged_with_the_token() {
    let asked = Asked { company: Some("acme.test"), ..Asked::default() };
    assert!(asked.judge(&with("hd", json!("acme.test"))).is_ok());
    let other = asked.judge(&with("hd", json!("evil.test")));
    assert_eq!(other, Err(ClaimsFault::Company(CompanyFault::Other)));
    assert_eq!(other.unwrap_err().reason(), "another_company");
}

#[test]
fn an_address_is_verified_by_true_or_its_text_and_by_nothing_else() {
    let verified = |value: Value| judged(&with("email_verified", value)).unwrap().email_verified;
    assert_eq!(verified(json!(true)), Some(true));
    assert_eq!(verified(json!("true")), Some(true));
    for not in [json!(false), json!("false"), json!("True"), json!(1), json!(null), json!([true])] {
        assert_eq!(verified(not.clone()), Some(false), "{not}");
    }
    assert_eq!(judged(&claims()).unwrap().email_verified, None);
}

#[test]
fn what_is_no_address_counts_as_absent() {
    let email = |value: Value| judged(&with("email", value)).unwrap().email;
    assert_eq!(email(json!("Ana@acme.test")).as_deref(), Some("Ana@acme.test"));
    let long = format!("{}@acme.test", "a".repeat(250));
    for bad in ["", "ana", "@acme.test", "ana@", "a na@acme.test", "ana\u{200b}@acme.test", &long] {
        assert_eq!(email(json!(bad)), None, "{bad}");
    }
    assert_eq!(email(json!(["ana@acme.test"])), None);
}

#[test]
fn a_malformed_claim_of_trust_raises_nothing_and_a_malformed_session_refuses() {
    let person = judged(&with("acr", json!(2))).unwrap();
    assert_eq!(person.acr, None);
    assert!(judged(&with("amr", json!("mfa"))).unwrap().amr.is_empty());
    assert_eq!(judged(&with("amr", json!(["pwd", 1]))).unwrap().amr, ["pwd"]);
    assert!(judged(&with("amr", json!(vec!["mfa"; 33]))).unwrap().amr.is_empty());
    assert_eq!(fault(&with("sid", json!(1))), ClaimsFault::Malformed("sid"));
}

#[test]
fn claims_are_bounded() {
    let mut many = claims();
    for n in 0..=MOST_CLAIMS {
        many[format!("c{n}")] = json!("x");
    }
    assert_eq!(fault(&many), ClaimsFault::TooMany);
    let long = json!("x".repeat(LONGEST_TEXT + 1));
    assert!(judged(&with("department", long.clone())).unwrap().claims.is_empty());
    assert!(judged(&with("groups", json!([long]))).unwrap().claims.is_empty());
    assert!(judged(&with("groups", json!(vec!["x"; 1_001]))).unwrap().claims.is_empty());
    assert!(judged(&with(&"n".repeat(256), json!("x"))).unwrap().claims.is_empty());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,12}".prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 12, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec(("[a-z]{1,4}", inner), 0..4)
                .prop_map(|members| members.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn no_claim_panics_and_only_the_right_ones_make_a_person(
        name in "(iss|sub|aud|exp|iat|nbf|nonce|azp|at_hash|c_hash|sid|acr|amr|auth_time|email|email_verified|groups)",
        value in any_json(),
    ) {
        let judged = judged(&with(&name, value.clone()));
        if ["iss", "aud", "nonce", "azp", "c_hash", "at_hash"].contains(&name.as_str()) {
            prop_assert!(judged.is_err(), "{} {}", name, value);
        }
        if let Ok(person) = judged {
            prop_assert!(person.claims.values().all(|fact| fact.is_string() || fact.is_array()));
        }
    }
}
