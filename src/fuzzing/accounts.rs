//! What people type, and names that they are known by.

use super::{Outcome, text, two};
use crate::domain::{
    DomainName,
    account::normalise_email,
    authority::{Permission, Scopes},
    device_grant::normalise_user_code,
    domain_claim,
    password::{Context, Password, Policy},
};
use std::sync::LazyLock;

/// The code of a device: one spelling, and that is read as itself.
pub(super) fn user_code(bytes: &[u8]) -> Outcome {
    let Some(typed) = text(bytes) else { return Outcome::NO_TEXT };
    let code = normalise_user_code(typed);
    if let Some(code) = &code {
        assert_eq!(normalise_user_code(code).as_ref(), Some(code));
    }
    Outcome::of(&code.map(|code| code.len()))
}

/// An address: lower case is the one spelling.
pub(super) fn email(bytes: &[u8]) -> Outcome {
    let Some(typed) = text(bytes) else { return Outcome::NO_TEXT };
    let address = normalise_email(typed);
    if let Some(address) = &address {
        assert_eq!(normalise_email(address).as_ref(), Some(address));
        assert!(!address.contains(char::is_control) && address.matches('@').count() == 1);
    }
    Outcome::of(&address.is_some())
}

/// A domain that an organization says is its own.
pub(super) fn domain(bytes: &[u8]) -> Outcome {
    let Some(typed) = text(bytes) else { return Outcome::NO_TEXT };
    let domain = DomainName::parse(typed);
    if let Ok(domain) = &domain {
        let again = DomainName::parse(domain.as_str());
        assert_eq!(again.as_ref(), Ok(domain), "a domain has one spelling");
    }
    Outcome::of(&domain.map(|_| ()))
}

static CLAIM: LazyLock<domain_claim::Known> = LazyLock::new(|| {
    let claim = serde_json::json!({
        "id": "a", "organization": "acme", "domain": "acme.example", "place": 0, "token": "token",
        "created_at": 0, "standing": "Pending",
    });
    serde_json::from_value(claim).expect("a claim as it is stored")
});

/// Records of a zone, one a line: only the one that was asked for proves a claim.
pub(super) fn txt_record(bytes: &[u8]) -> Outcome {
    let records = || bytes.split(|byte| *byte == b'\n');
    let is_proved = CLAIM.is_proved_by(records());
    let value = CLAIM.value();
    assert_eq!(is_proved, records().any(|record| record == value.as_bytes()));
    Outcome::of(&is_proved)
}

/// A password and, after it, a name of its person.
pub(super) fn password(bytes: &[u8]) -> Outcome {
    let (typed, name) = two(bytes);
    let (Some(typed), Some(name)) = (text(typed), text(name)) else { return Outcome::NO_TEXT };
    let context = Context::default().with_email(name).with_host(name).with_person(name, name);
    let read = Password::read(typed);
    let checked = read.as_ref().ok().map(|read| Policy::default().check(read, &context));
    Outcome::of(&read.is_ok()).and(Outcome::of(&checked))
}

/// Scopes, and permissions: what is shown is read as the same.
pub(super) fn scopes(bytes: &[u8]) -> Outcome {
    let Some(asked) = text(bytes) else { return Outcome::NO_TEXT };
    let scopes = Scopes::parse(asked);
    if let Ok(scopes) = &scopes {
        let joined = scopes.iter().collect::<Vec<_>>().join(" ");
        assert_eq!(Scopes::parse(&joined).as_ref(), Ok(scopes));
    }
    let permission = Permission::parse(asked);
    if let Ok(permission) = &permission {
        assert_eq!(permission.as_str(), asked);
        assert!(permission.is_wildcard() || permission.covers(asked));
    }
    Outcome::of(&scopes.map(|scopes| scopes.is_empty())).and(Outcome::of(&permission.is_ok()))
}
