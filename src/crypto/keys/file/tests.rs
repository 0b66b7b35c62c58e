use super::*;
use crate::crypto::SystemDice;
use crate::crypto::keys::{Generator, Purpose};
use crate::domain::signing_keys::SigningAlgorithm::{self, EdDsa, Es256, Ps256, Rs256};
use serde_json::{Value, json};

const PEM_RSA: &str = include_str!("../fixtures/rsa_2048.pem");
const PEM_P256: &str = include_str!("../fixtures/p256.pem");
const PEM_ED25519: &str = include_str!("../fixtures/ed25519.pem");

fn generated(purpose: Purpose) -> Value {
    let folder = tempfile::tempdir().unwrap();
    let generator = Generator {
        folder: folder.path(),
        origin: Origin::Generate,
        created_at: Timestamp::from_millis(7),
        dice: &SystemDice,
    };
    let made = generator.generate(purpose).unwrap();
    serde_json::from_slice(&std::fs::read(made.path).unwrap()).unwrap()
}

fn jwk(algorithm: SigningAlgorithm) -> Value {
    generated(Purpose::Signing(algorithm))
}

fn signer(contents: &str) -> Arc<Signer> {
    match parse(contents.as_bytes()).unwrap().material {
        KeyMaterial::Signing(signer) => signer,
        KeyMaterial::Secret(_) => panic!("a secret key"),
    }
}

fn problem(contents: &str) -> Problem {
    parse(contents.as_bytes()).expect_err("a problem")
}

fn problem_with(mut jwk: Value, member: &str, value: Value) -> Problem {
    jwk[member] = value;
    problem(&jwk.to_string())
}

fn without(mut jwk: Value, member: &str) -> String {
    jwk.as_object_mut().unwrap().remove(member);
    jwk.to_string()
}

#[test]
fn a_pem_signs_with_the_algorithm_of_its_key_type() {
    assert_eq!(signer(PEM_RSA).algorithm(), Rs256);
    assert_eq!(signer(PEM_P256).algorithm(), Es256);
    assert_eq!(signer(PEM_ED25519).algorithm(), EdDsa);
}

#[test]
fn the_older_forms_of_pem_hold_the_same_keys() {
    let rsa = signer(include_str!("../fixtures/rsa_2048_pkcs1.pem"));
    assert_eq!(rsa.kid(), signer(PEM_RSA).kid());
    let p256 = signer(include_str!("../fixtures/p256_sec1.pem"));
    assert_eq!(p256.kid(), signer(PEM_P256).kid());
}

#[test]
fn a_pem_that_cannot_serve_is_refused_with_its_reason() {
    let cases = [
        (include_str!("../fixtures/rsa_1024.pem"), Problem::WeakModulus { bits: 1024 }),
        (include_str!("../fixtures/rsa_exponent_3.pem"), Problem::WeakExponent),
        (include_str!("../fixtures/p384.pem"), Problem::UnsupportedCurve),
        (include_str!("../fixtures/x25519.pem"), Problem::UnsupportedKeyType),
        (include_str!("../fixtures/encrypted.pem"), Problem::Encrypted),
        (include_str!("../fixtures/p256_public.pem"), Problem::NotAKey),
        (&[PEM_P256, PEM_ED25519].concat(), Problem::SeveralBlocks),
        (&PEM_P256.replace("MIGH", "MIG!"), Problem::NotAKey),
        (&PEM_P256[..100], Problem::NotAKey),
    ];
    for (pem, expected) in cases {
        assert_eq!(problem(pem), expected);
    }
}

#[test]
fn a_private_jwk_signs_with_the_algorithm_it_names_or_its_type_implies() {
    for algorithm in [Rs256, Ps256, Es256, EdDsa] {
        assert_eq!(signer(&jwk(algorithm).to_string()).algorithm(), algorithm);
    }
    assert_eq!(signer(&without(jwk(Ps256), "alg")).algorithm(), Rs256);
    assert_eq!(signer(&without(jwk(Es256), "alg")).algorithm(), Es256);
    assert_eq!(signer(&without(jwk(EdDsa), "alg")).algorithm(), EdDsa);
}

#[test]
fn a_jwk_that_cannot_serve_is_refused_with_its_reason() {
    let es256 = jwk(Es256);
    assert_eq!(problem_with(es256.clone(), "kty", json!("LWE")), Problem::UnsupportedKeyType);
    assert_eq!(problem_with(es256.clone(), "crv", json!("P-521")), Problem::UnsupportedCurve);
    assert_eq!(problem_with(es256.clone(), "alg", json!("ES384")), Problem::UnsupportedAlgorithm);
    assert_eq!(problem_with(es256.clone(), "alg", json!("RS256")), Problem::UnsupportedAlgorithm);
    assert_eq!(problem_with(es256.clone(), "use", json!("enc")), Problem::UnsupportedUse);
    assert_eq!(problem_with(es256.clone(), "d", json!("AA")), Problem::MalformedMember("d"));
    assert_eq!(problem_with(es256.clone(), "d", json!("=")), Problem::MalformedMember("d"));
    assert_eq!(problem_with(es256.clone(), "d", json!(5)), Problem::NotAKey);
    assert_eq!(problem_with(es256.clone(), "porteiro_origin", json!("?")), Problem::NotAKey);
    assert_eq!(problem(&without(es256.clone(), "kty")), Problem::MissingMember("kty"));
    assert_eq!(problem(&without(es256, "crv")), Problem::MissingMember("crv"));
    assert_eq!(problem_with(jwk(Rs256), "oth", json!([])), Problem::UnsupportedKeyType);
}

#[test]
fn a_public_jwk_is_refused_for_the_members_it_lacks() {
    assert_eq!(problem(&signer(PEM_P256).public_jwk().to_string()), Problem::MissingMember("d"));
    let rs256 = jwk(Rs256);
    for member in ["n", "e", "d", "p", "q", "dp", "dq", "qi"] {
        let problem = problem(&without(rs256.clone(), member));
        assert!(matches!(problem, Problem::MissingMember(named) if named == member));
    }
}

#[test]
fn a_jwk_whose_halves_are_of_different_keys_is_refused() {
    for (algorithm, members) in [(Rs256, &["n"][..]), (Es256, &["x", "y"]), (EdDsa, &["x"])] {
        let (mut one, other) = (jwk(algorithm), jwk(algorithm));
        for member in members {
            one[member] = other[member].clone();
        }
        assert_eq!(problem(&one.to_string()), Problem::Inconsistent);
    }
    let (one, other) = (jwk(Rs256), jwk(Rs256));
    for member in ["d", "p", "q", "dp", "dq", "qi"] {
        let mixed = problem_with(one.clone(), member, other[member].clone());
        assert_eq!(mixed, Problem::Inconsistent, "{member}");
    }
}

#[test]
fn a_point_off_the_curve_is_refused() {
    let nowhere = json!("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAE");
    assert_eq!(problem_with(jwk(Es256), "x", nowhere), Problem::Inconsistent);
}

#[test]
fn a_short_modulus_is_weak_even_with_zeros_before_it() {
    use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
    let mut padded = vec![0; 128];
    padded.extend([0xFF; 128]);
    let n = json!(URL_SAFE_NO_PAD.encode(padded));
    assert_eq!(problem_with(jwk(Rs256), "n", n), Problem::WeakModulus { bits: 1024 });
}

#[test]
fn the_secret_key_must_be_marked_and_have_256_bits() {
    let secret = generated(Purpose::Secret);
    let parsed = parse(secret.to_string().as_bytes()).unwrap();
    assert!(matches!(parsed.material, KeyMaterial::Secret(_)));
    assert_eq!(parsed.created_at, Timestamp::from_millis(7));
    assert_eq!(parsed.origin, Some(Origin::Generate));
    assert_eq!(problem(&without(secret.clone(), "use")), Problem::UnsupportedUse);
    assert_eq!(problem_with(secret.clone(), "use", json!("sig")), Problem::UnsupportedUse);
    assert_eq!(problem(&without(secret.clone(), "k")), Problem::MissingMember("k"));
    assert_eq!(problem_with(secret, "k", json!("AAAA")), Problem::MalformedMember("k"));
}

#[test]
fn a_member_given_twice_is_refused() {
    let secret = generated(Purpose::Secret).to_string();
    assert_eq!(problem(&secret.replacen('{', r#"{"kty":"oct","#, 1)), Problem::NotAKey);
}

#[test]
fn what_is_no_key_at_all_is_refused() {
    for contents in ["", " ", "{", "{}x", "[]", "null", "ssh-ed25519 AAAA", "-----BEGIN X-----"] {
        assert_eq!(problem(contents), Problem::NotAKey);
    }
    assert_eq!(parse(&[0xFF, 0xFE]).unwrap_err(), Problem::NotAKey);
}

#[test]
fn what_was_parsed_prints_no_secret() {
    let secret = generated(Purpose::Secret);
    let printed = format!("{:?}", parse(secret.to_string().as_bytes()).unwrap());
    assert!(!printed.contains(secret["k"].as_str().unwrap()));
}
