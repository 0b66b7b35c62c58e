//! Standard claims: what each takes, and what it does not.

use super::*;
use serde_json::json;

fn patched(held: &Profile, claims: Value) -> Result<Profile, Vec<ClaimFault>> {
    let Value::Object(claims) = claims else { panic!("an object is needed") };
    held.patch(&claims)
}

fn taken(name: &str, value: impl Into<Value>) -> Result<Profile, ClaimProblem> {
    let claims = Map::from_iter([(name.to_owned(), value.into())]);
    Profile::default().patch(&claims).map_err(|faults| faults[0].problem)
}

/// Asserts that a claim takes the former and refuses the latter, always for one reason.
fn takes(name: &str, good: &[&str], bad: &[&str], problem: ClaimProblem) {
    for text in good {
        let profile = taken(name, *text).unwrap_or_else(|why| panic!("{name} {text:?}: {why}"));
        assert_eq!(profile.claim(name), Some(&json!(text)));
    }
    for text in bad {
        assert_eq!(taken(name, *text), Err(problem), "{name} {text:?}");
    }
}

#[test]
fn every_claim_of_the_standard_is_taken_by_its_name() {
    let all = json!({
        "name": "Ana Sá", "given_name": "Ana", "family_name": "Sá", "middle_name": "M.",
        "nickname": "An", "preferred_username": "ana", "profile": "https://ana.example/",
        "picture": "https://ana.example/a.png", "website": "http://ana.example/", "gender": "f",
        "birthdate": "1990-02-28", "zoneinfo": "Europe/Lisbon", "locale": "pt-PT",
        "phone_number": "+351910000000", "phone_number_verified": true,
        "address": { "formatted": "Rua 1\r\nLisboa", "street_address": "Rua 1\n2.º",
                     "locality": "Lisboa", "region": "Lisboa", "postal_code": "1000-001",
                     "country": "PT" },
    });
    let profile = patched(&Profile::default(), all.clone()).unwrap();
    assert_eq!(Profile::known_claims().count(), profile.claims().count());
    for name in Profile::known_claims() {
        assert_eq!(profile.claim(name), all.get(name), "{name}");
    }
    assert!(profile.differing(&Profile::default()).all(|(_, differs)| differs));
    let text = serde_json::to_string(&profile).unwrap();
    assert_eq!(serde_json::from_str::<Profile>(&text).unwrap(), profile);
}

#[test]
fn no_claim_hides_anything() {
    let hidden = ["Ana\u{202e}lif", "An\u{200b}a", "\u{2066}Ana", "Ana\u{3164}", "A\u{ad}na"];
    for name in ["name", "given_name", "family_name", "nickname", "preferred_username"] {
        takes(name, &["Ana", "می\u{200c}خواهم"], &hidden, ClaimProblem::HiddenCharacter);
    }
    let address = taken("address", json!({ "locality": "Lis\u{202e}boa" }));
    assert_eq!(address, Err(ClaimProblem::HiddenCharacter));
    assert!(taken("address", json!({ "formatted": "Rua 1\r\nLisboa" })).is_ok());
}

#[test]
fn each_claim_has_its_form() {
    use ClaimProblem::*;
    let dates = ["1990-02-28", "2000-02-29", "0000-02-29", "1990", "0000-12-31"];
    let no_dates = [
        "1900-02-29",
        "1990-13-01",
        "1990-00-10",
        "1990-01-00",
        "0000",
        "90-01-01",
        "1990-1-1",
        "1990-01",
        "1990/01/01",
        "+990",
        "1990-01-01T00:00",
        "१९९०",
        "1990-04-31",
    ];
    takes("birthdate", &dates, &no_dates, NotDate);
    let zones = ["Europe/Lisbon", "UTC", "Etc/GMT+1", "America/Argentina/Buenos_Aires"];
    takes(
        "zoneinfo",
        &zones,
        &["/Lisbon", "Europe/", "../etc", "Europe Lisbon", "+1"],
        NotTimeZone,
    );
    takes("locale", &["pt", "pt-PT", "zh-Hant-TW"], &["pt_PT", "1", "p t", "pt-"], NotLanguage);
    let numbers = ["+351910000000", "+123456789012345"];
    let no_numbers = ["351910000000", "+351 910", "+", "+0351", "+1234567890123456", "+12a"];
    takes("phone_number", &numbers, &no_numbers, NotPhoneNumber);
    let urls = ["https://a.example/x?y#z", "http://a.example", "https://[::1]:8/"];
    let no_urls = [
        "javascript:alert(1)",
        "data:image/png,x",
        "//a.example",
        "https://",
        "https:a.example",
        "https://u:p@a.example/",
        "https://a.example/ x",
        "https://a\\b",
        "HTTPS://a.example",
        "https://á.example/",
        "https://a.example/<",
    ];
    for name in ["picture", "profile", "website"] {
        takes(name, &urls, &no_urls, NotUrl);
    }
    takes("nickname", &["ñ", "🙂"], &["a\nb", "a\u{1b}[2J", "a\0"], ControlCharacter);
}

#[test]
fn values_are_bounded_and_of_the_right_type() {
    assert!(taken("name", "ñ".repeat(255)).is_ok(), "characters are counted, not bytes");
    assert_eq!(taken("name", "n".repeat(256)), Err(ClaimProblem::TooLong { most: 255 }));
    let url = format!("https://a.example/{}", "x".repeat(2_048));
    assert_eq!(taken("picture", url), Err(ClaimProblem::TooLong { most: 2_048 }));
    for wrong in [json!(1), json!(true), json!(["a"]), json!({ "a": 1 })] {
        assert_eq!(taken("name", wrong), Err(ClaimProblem::NotText));
    }
    assert_eq!(taken("phone_number_verified", "true"), Err(ClaimProblem::NotFlag));
    assert_eq!(taken("address", "Lisboa"), Err(ClaimProblem::NotTable));
    for wrong in [json!({ "city": "Lisboa" }), json!({ "region": 1 }), json!({ "country": {} })] {
        assert_eq!(taken("address", wrong), Err(ClaimProblem::NotAddress));
    }
    let long = json!({ "formatted": "x".repeat(1_001) });
    assert_eq!(taken("address", long), Err(ClaimProblem::TooLong { most: 1_000 }));
    let control = json!({ "formatted": "a\rb" });
    assert_eq!(taken("address", control), Err(ClaimProblem::ControlCharacter));
}

#[test]
fn what_people_read_may_be_said_in_a_language_and_nothing_else() {
    for name in ["given_name#pt", "website#de-CH", "address#ja-Kana-JP"] {
        assert!(Profile::is_known(name), "{name}");
    }
    for name in ["given_name#", "birthdate#pt", "phone_number#pt", "sub", "email", "updated_at"] {
        assert!(!Profile::is_known(name), "{name}");
        assert_eq!(taken(name, "x"), Err(ClaimProblem::Unknown), "{name}");
    }
}

#[test]
fn an_empty_value_takes_a_claim_away() {
    let held = json!({ "name": "Ana", "locale": "pt", "address": { "country": "PT" } });
    let held = patched(&Profile::default(), held).unwrap();
    let empty = json!({ "name": " ", "locale": "", "address": { "country": "" } });
    let emptied = patched(&held, empty).unwrap();
    assert_eq!(emptied, Profile::default());
    let changed: Vec<_> = emptied.differing(&held).filter(|(_, differs)| *differs).collect();
    assert_eq!(changed, [("name", true), ("locale", true), ("address", true)]);
}

#[test]
fn what_was_proved_of_a_number_is_not_proved_of_another() {
    let first = json!({ "phone_number": "+351910000000", "phone_number_verified": true });
    let held = patched(&Profile::default(), first).unwrap();
    let verified = |profile: &Profile| profile.claim("phone_number_verified").cloned();
    let same = patched(&held, json!({ "phone_number": "+351910000000" })).unwrap();
    assert_eq!(verified(&same), Some(json!(true)));
    let other = patched(&held, json!({ "phone_number": "+351910000001" })).unwrap();
    assert_eq!(verified(&other), None);
    let gone = patched(&held, json!({ "phone_number": "" })).unwrap();
    assert_eq!(gone, Profile::default());
    let proved = json!({ "phone_number": "+351910000001", "phone_number_verified": true });
    assert_eq!(verified(&patched(&held, proved).unwrap()), Some(json!(true)));
    let problem = taken("phone_number_verified", true);
    assert_eq!(problem, Err(ClaimProblem::NothingVerified));
}
