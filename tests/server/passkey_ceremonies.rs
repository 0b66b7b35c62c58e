//! The two ceremonies of passkeys, without HTTP: what an honest device answers, and what a hostile one.

use crate::passkey_device::{Device, Lies, altered, unattended};
use porteiro::{
    crypto::passkeys::{Ceremony, PasskeyError, Passkeys, PresentedPasskey, Registrant},
    domain::account::{Passkey, PasskeyUse},
};
use serde_json::{Value, json};

const ISSUER: &str = "https://id.example.com";
const PAGES: &str = "https://app.example.org";
const ANA: Registrant<'static> = Registrant {
    account: "7f2c1ab4-51f7-4b6e-9d0c-0a5d3a1b2c3d",
    email: "ana@acme.test",
    display_name: "Ana",
};
const EVE: Registrant<'static> = Registrant {
    account: "00000000-51f7-4b6e-9d0c-0a5d3a1b2c3d",
    email: "eve@acme.test",
    display_name: "",
};

/// What is untrue of an answer, one at a time.
const LIES: [(&str, Lies); 6] = {
    const HONEST: Lies =
        Lies { origin: None, rp_id: None, kind: None, framed: false, unverified: false };
    [
        ("a page of another site", Lies { origin: Some("https://evil.test"), ..HONEST }),
        ("the scheme of the page", Lies { origin: Some("http://id.example.com"), ..HONEST }),
        ("a domain below ours", Lies { origin: Some("https://x.id.example.com"), ..HONEST }),
        ("a passkey of another RP", Lies { rp_id: Some("evil.test"), ..HONEST }),
        ("a frame of another page", Lies { framed: true, ..HONEST }),
        ("a device that asked no one", Lies { unverified: true, ..HONEST }),
    ]
};

fn passkeys() -> Passkeys {
    Passkeys::new(ISSUER, [PAGES, ISSUER, "no address"]).unwrap()
}

async fn register(passkeys: &Passkeys, device: &mut Device, who: Registrant<'_>) -> Passkey {
    let Ceremony { options, state } = passkeys.begin_registration(who, []).unwrap();
    let made = device.create(&options).await;
    passkeys.finish_registration(&state, &made, "Phone").unwrap()
}

fn finish(
    passkeys: &Passkeys,
    state: &Value,
    answer: &Value,
    held: &[Passkey],
) -> Result<PasskeyUse, PasskeyError> {
    passkeys.finish_sign_in(state, &PresentedPasskey::read(answer)?, held)
}

#[tokio::test]
async fn a_passkey_that_was_made_signs_its_account_in() {
    let (passkeys, mut device) = (passkeys(), Device::new(ISSUER));
    let made = register(&passkeys, &mut device, ANA).await;
    assert_eq!((made.name.as_str(), made.attested, made.last_used_at), ("Phone", false, None));
    assert!(made.backup_eligible && made.backed_up, "the device said so");
    let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
    let answer = device.get(&options).await;
    let presented = PresentedPasskey::read(&answer).unwrap();
    assert_eq!((presented.account.as_str(), &presented.credential), (ANA.account, &made.id));
    let used = passkeys.finish_sign_in(&state, &presented, [&made]).unwrap();
    let same =
        PasskeyUse { id: made.id, verifier: None, backed_up: true, counter_regressed: false };
    assert_eq!(used, same, "a device that does not count changes nothing");
}

#[test]
fn options_ask_for_a_verified_user_and_a_discoverable_passkey() {
    let passkeys = passkeys();
    let Ceremony { options, .. } = passkeys.begin_sign_in().unwrap();
    assert_eq!(options.as_object().unwrap().len(), 1, "{options}");
    let asked = &options["publicKey"];
    assert_eq!(
        (&asked["rpId"], &asked["allowCredentials"]),
        (&json!("id.example.com"), &json!([]))
    );
    assert_eq!(asked["userVerification"], "required");
    assert!(asked["challenge"].as_str().unwrap().len() >= 43, "256 bits");
    let Ceremony { options, .. } = passkeys.begin_registration(ANA, []).unwrap();
    let asked = &options["publicKey"];
    let selection = &asked["authenticatorSelection"];
    assert_eq!(
        (&selection["residentKey"], &selection["requireResidentKey"]),
        (&json!("required"), &json!(true))
    );
    assert_eq!(
        (&selection["userVerification"], &asked["attestation"]),
        (&json!("required"), &json!("none"))
    );
    assert_eq!(
        (&asked["user"]["name"], &asked["user"]["displayName"]),
        (&json!("ana@acme.test"), &json!("Ana"))
    );
    let Ceremony { options, .. } = passkeys.begin_registration(EVE, []).unwrap();
    assert_eq!(options["publicKey"]["user"]["displayName"], "eve@acme.test", "no name was given");
    let unusual = Registrant { account: "ana", ..ANA };
    assert!(matches!(passkeys.begin_registration(unusual, []), Err(PasskeyError::Account)));
}

#[tokio::test]
async fn pages_of_related_origins_may_use_passkeys_and_no_others() {
    let passkeys = passkeys();
    assert_eq!(passkeys.origins(), [ISSUER, PAGES]);
    let mut device = Device::new(PAGES);
    let made = register(&passkeys, &mut device, ANA).await;
    let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
    let answer = device.get(&options).await;
    assert!(finish(&passkeys, &state, &answer, &[made]).is_ok());
}

#[test]
fn an_issuer_without_a_domain_has_no_passkeys() {
    for issuer in ["http://127.0.0.1:8080", "https://[::1]:8443", "https://10.0.0.1", "id"] {
        assert!(Passkeys::new(issuer, []).is_none(), "{issuer}");
    }
    let local = Passkeys::new("http://localhost:8080", []).unwrap();
    assert_eq!(local.origins(), ["http://localhost:8080"]);
}

#[tokio::test]
async fn no_lie_signs_in() {
    let (passkeys, mut device) = (passkeys(), Device::new(ISSUER));
    let made = [register(&passkeys, &mut device, ANA).await];
    let create = ("another ceremony", Lies { kind: Some("webauthn.create"), ..Lies::default() });
    for (what, lies) in LIES.into_iter().chain([create]) {
        let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
        let answer = device.get_lying(&options, &lies).await;
        assert!(finish(&passkeys, &state, &answer, &made).is_err(), "{what}");
        let honest = device.get(&options).await;
        assert!(finish(&passkeys, &state, &honest, &made).is_ok(), "all else was right: {what}");
    }
}

#[tokio::test]
async fn no_lie_registers() {
    let passkeys = passkeys();
    let get = ("another ceremony", Lies { kind: Some("webauthn.get"), ..Lies::default() });
    for (what, lies) in LIES.into_iter().chain([get]) {
        let mut device = Device::new(ISSUER);
        let Ceremony { options, state } = passkeys.begin_registration(ANA, []).unwrap();
        let answer = device.create_lying(&options, &lies).await.unwrap();
        assert!(passkeys.finish_registration(&state, &answer, "").is_err(), "{what}");
        let honest = device.create(&options).await;
        let made = passkeys.finish_registration(&state, &honest, "");
        assert_eq!(made.unwrap().name, "Passkey", "all else was right: {what}");
    }
}

/// Origins that look like `https://example.com` and its page at `https://app.example.org`, and are neither.
pub const LOOKALIKES: [&str; 20] = [
    "https://badexample.com",
    "https://bad-example.com",
    "https://example.com.evil.test",
    "https://example.comevil.test",
    "https://login.example.com",
    "https://example.com:8443",
    "https://example.com:80",
    "http://example.com",
    "https://example.com.",
    "https://example.com@evil.test",
    "https://evil.test/https://example.com",
    "https://evil.test?https://example.com",
    "https://ex\u{430}mple.com",
    "https://com",
    "https://badapp.example.org",
    "https://app.example.org.evil.test",
    "https://x.app.example.org",
    "https://example.org",
    "https://app.example.org:8443",
    "http://app.example.org",
];

#[tokio::test]
async fn no_origin_that_looks_like_ours_signs_in_or_registers() {
    let passkeys = Passkeys::new("https://example.com", ["https://app.example.org/in"]).unwrap();
    let mut device = Device::new("https://example.com");
    let held = [register(&passkeys, &mut device, ANA).await];
    for origin in LOOKALIKES.into_iter().chain(["null", "", "android:apk-key-hash:AAAA"]) {
        let lies = Lies { origin: Some(origin), ..Lies::default() };
        let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
        let answer = device.get_lying(&options, &lies).await;
        assert!(finish(&passkeys, &state, &answer, &held).is_err(), "{origin}");
        let begun = [
            passkeys.begin_registration(ANA, []).unwrap(),
            passkeys.begin_conditional_registration(ANA, []).unwrap(),
        ];
        for Ceremony { options, state } in begun {
            let made = Device::new("https://example.com").create_lying(&options, &lies).await;
            let refused = passkeys.finish_registration(&state, &made.unwrap(), "");
            assert!(refused.is_err(), "{origin}");
        }
    }
}

#[tokio::test]
async fn a_passkey_that_was_made_without_the_person_is_taken_where_it_was_asked_for_so() {
    let (passkeys, mut device) = (passkeys(), Device::new(ISSUER));
    let rp_id = "id.example.com";
    let asked = passkeys.begin_registration(ANA, []).unwrap();
    let made = unattended(&device.create(&asked.options).await, rp_id);
    assert!(passkeys.finish_registration(&asked.state, &made, "").is_err(), "the person is asked");
    let asked = passkeys.begin_conditional_registration(ANA, []).unwrap();
    let honest = device.create(&asked.options).await;
    let taken =
        passkeys.finish_registration(&asked.state, &unattended(&honest, rp_id), "").unwrap();
    assert_eq!(taken.verifier["cred"]["user_verified"], false, "{}", taken.verifier);
    // All else is demanded: the challenge, the domain, and that there is a key.
    let other = passkeys.begin_conditional_registration(ANA, []).unwrap();
    assert!(passkeys.finish_registration(&other.state, &honest, "").is_err(), "another ceremony");
    let astray = Lies { rp_id: Some("evil.test"), ..Lies::default() };
    let astray = Device::new(ISSUER).create_lying(&asked.options, &astray).await.unwrap();
    assert!(passkeys.finish_registration(&asked.state, &astray, "").is_err(), "another RP");
    // Its uses demand the person.
    let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
    let lies = Lies { unverified: true, ..Lies::default() };
    let absent = device.get_lying(&options, &lies).await;
    assert!(finish(&passkeys, &state, &absent, std::slice::from_ref(&taken)).is_err());
    let answer = device.get(&options).await;
    let used = finish(&passkeys, &state, &answer, &[taken]).unwrap();
    assert!(!used.counter_regressed);
    // A person who was asked all the same is not forgotten.
    let asked = passkeys.begin_conditional_registration(EVE, []).unwrap();
    let made = Device::new(ISSUER).create(&asked.options).await;
    let taken = passkeys.finish_registration(&asked.state, &made, "").unwrap();
    assert_eq!(taken.verifier["cred"]["user_verified"], true);
}

#[tokio::test]
async fn an_answer_is_good_for_its_own_ceremony_alone() {
    let (passkeys, mut device) = (passkeys(), Device::new(ISSUER));
    let made = [register(&passkeys, &mut device, ANA).await];
    let old = passkeys.begin_sign_in().unwrap();
    let answer = device.get(&old.options).await;
    let new = passkeys.begin_sign_in().unwrap();
    assert!(finish(&passkeys, &new.state, &answer, &made).is_err(), "replayed");
    let old = passkeys.begin_registration(ANA, []).unwrap();
    let answer = device.create(&old.options).await;
    let new = passkeys.begin_registration(ANA, []).unwrap();
    assert!(passkeys.finish_registration(&new.state, &answer, "").is_err(), "replayed");
    assert!(passkeys.finish_registration(&json!({}), &answer, "").is_err(), "no state at all");
}

#[tokio::test]
async fn a_passkey_opens_no_other_account() {
    let (passkeys, mut device) = (passkeys(), Device::new(ISSUER));
    let ana = register(&passkeys, &mut Device::new(ISSUER), ANA).await;
    register(&passkeys, &mut device, EVE).await;
    let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
    let honest = device.get(&options).await;
    let as_ana = altered(&honest, "/response/userHandle", |id| {
        id[..4].copy_from_slice(&[0x7f, 0x2c, 0x1a, 0xb4]);
    });
    assert_eq!(PresentedPasskey::read(&as_ana).unwrap().account, ANA.account, "it says so");
    let refused = finish(&passkeys, &state, &as_ana, std::slice::from_ref(&ana));
    assert!(matches!(refused, Err(PasskeyError::Unknown)));
    let mut with_her_id = as_ana;
    with_her_id["rawId"] = ana.id.clone().into();
    assert!(finish(&passkeys, &state, &with_her_id, &[ana]).is_err(), "her passkey did not sign");
}

#[tokio::test]
async fn what_was_altered_or_cut_off_signs_no_one_in() {
    let (passkeys, mut device) = (passkeys(), Device::new(ISSUER));
    let made = [register(&passkeys, &mut device, ANA).await];
    let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
    let answer = device.get(&options).await;
    for path in ["/response/signature", "/response/authenticatorData", "/response/clientDataJSON"] {
        let mut length = 0;
        altered(&answer, path, |bytes| length = bytes.len());
        for at in 0..length {
            let flipped = altered(&answer, path, |bytes| bytes[at] ^= 1);
            assert!(finish(&passkeys, &state, &flipped, &made).is_err(), "{path} at {at}");
            let cut = altered(&answer, path, |bytes| bytes.truncate(at));
            assert!(finish(&passkeys, &state, &cut, &made).is_err(), "{path} until {at}");
        }
    }
    for path in ["id", "rawId", "type", "response"] {
        let mut without = answer.clone();
        without.as_object_mut().unwrap().remove(path);
        assert!(finish(&passkeys, &state, &without, &made).is_err(), "without {path}");
    }
    for path in ["userHandle", "signature", "authenticatorData", "clientDataJSON"] {
        let mut without = answer.clone();
        without["response"].as_object_mut().unwrap().remove(path);
        assert!(finish(&passkeys, &state, &without, &made).is_err(), "without {path}");
    }
    assert!(finish(&passkeys, &state, &answer, &made).is_ok(), "as it was");
}

#[tokio::test]
async fn a_damaged_attestation_is_refused_in_order() {
    let (passkeys, mut device) = (passkeys(), Device::new(ISSUER));
    let Ceremony { options, state } = passkeys.begin_registration(ANA, []).unwrap();
    let answer = device.create(&options).await;
    let path = "/response/attestationObject";
    let mut length = 0;
    altered(&answer, path, |bytes| length = bytes.len());
    for at in 0..length {
        // Nothing signs it, so that not every change can be noticed; none may end the process.
        let flipped = altered(&answer, path, |bytes| bytes[at] ^= 0xFF);
        drop(passkeys.finish_registration(&state, &flipped, ""));
        let cut = altered(&answer, path, |bytes| bytes.truncate(at));
        assert!(passkeys.finish_registration(&state, &cut, "").is_err(), "until {at}");
    }
}

#[tokio::test]
async fn an_answer_of_unusual_size_is_not_even_decoded() {
    let (passkeys, mut device) = (passkeys(), Device::new(ISSUER));
    let made = [register(&passkeys, &mut device, ANA).await];
    let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
    let answer = device.get(&options).await;
    for path in ["id", "rawId", "authenticatorData", "clientDataJSON", "signature", "userHandle"] {
        let mut large = answer.clone();
        let part = match large["response"].get_mut(path) {
            Some(part) => part,
            None => large.get_mut(path).unwrap(),
        };
        // Not base64url, so that decoding it would say so.
        *part = "?".repeat(20_000).into();
        let refused = finish(&passkeys, &state, &large, &made).map(|_| ()).unwrap_err();
        assert!(refused.to_string().ends_with("a part is too long"), "{path}: {refused}");
    }
    let Ceremony { options, state } = passkeys.begin_registration(ANA, []).unwrap();
    let answer = device.create(&options).await;
    let large = altered(&answer, "/response/attestationObject", |bytes| bytes.resize(13_000, 0));
    let refused = passkeys.finish_registration(&state, &large, "").map(|_| ()).unwrap_err();
    assert!(refused.to_string().ends_with("a part is too long"), "{refused}");
}

#[tokio::test]
async fn a_counter_that_did_not_grow_is_said_and_keeps_no_one_out() {
    let (passkeys, mut device) = (passkeys(), Device::counting(ISSUER));
    let mut made = register(&passkeys, &mut device, ANA).await;
    let mut copy = device.copy();
    for _ in 0..3 {
        let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
        let answer = device.get(&options).await;
        let used = finish(&passkeys, &state, &answer, std::slice::from_ref(&made)).unwrap();
        assert!(!used.counter_regressed);
        made.verifier = used.verifier.expect("the counter has grown");
    }
    for _ in 0..3 {
        let Ceremony { options, state } = passkeys.begin_sign_in().unwrap();
        let answer = copy.get(&options).await;
        let used = finish(&passkeys, &state, &answer, std::slice::from_ref(&made)).unwrap();
        assert!(used.counter_regressed, "two devices have the same passkey");
        assert_eq!(used.verifier, None, "the highest that was seen is kept");
    }
}

#[tokio::test]
async fn a_device_that_has_a_passkey_of_the_account_makes_no_second() {
    let (passkeys, mut device) = (passkeys(), Device::new(ISSUER));
    let made = register(&passkeys, &mut device, ANA).await;
    let Ceremony { options, .. } = passkeys.begin_registration(ANA, [&made]).unwrap();
    let excluded = &options["publicKey"]["excludeCredentials"];
    assert_eq!(excluded, &json!([{ "type": "public-key", "id": made.id }]));
    assert_eq!(device.create_lying(&options, &Lies::default()).await, None);
    assert!(Device::new(ISSUER).create_lying(&options, &Lies::default()).await.is_some());
}
