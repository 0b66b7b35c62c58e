//! An account through its life, and what a file may not do to one.

use super::*;
use crate::domain::{
    account_alerts::{self, AccountAlerts},
    assurance::Method,
    message::Mail,
};
use serde_json::json;
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

fn ana() -> Draft {
    Draft {
        id: "0b7a1d0e-6a53-4d7e-9d3f-6f1d2c3b4a59".to_owned(),
        email: "Ana@Acme.test".to_owned(),
        email_verified: Some(true),
        claims: claims(json!({ "given_name": "Ana" })),
        password: Some(PasswordHash::new("$argon2id$first")),
        totp: Some(SealedSecret::new([7; 16])),
        updated_at: None,
    }
}

fn claims(members: Value) -> Map<String, Value> {
    let Value::Object(members) = members else { panic!("an object is needed") };
    members
}

fn provision_at(
    account: &mut Account,
    draft: Draft,
    now: Timestamp,
) -> Result<Provisioned, Refusal> {
    let decision = account.decide(&Command::Provision(draft), now);
    assert_eq!(decision.events.len(), decision.effects.records.len(), "each is recorded");
    let records = format!("{:?}", decision.effects.records);
    assert!(!records.contains('@') && !records.contains("Ana"), "{records}");
    for event in &decision.events {
        account.apply(event);
    }
    decision.outcome.map(|reply| match reply {
        Reply::Provisioned(outcome) => outcome,
        Reply::Used => panic!("it was provisioned"),
    })
}

fn provision(account: &mut Account, draft: Draft) -> Result<Provisioned, Refusal> {
    provision_at(account, draft, NOW)
}

fn known() -> Account {
    let mut account = Account::default();
    assert_eq!(provision(&mut account, ana()), Ok(Provisioned::Created));
    account
}

#[test]
fn an_account_is_found_by_its_address_in_any_case() {
    assert!(Account::default().names().is_empty() && Account::default().listings().is_empty());
    let account = known();
    assert_eq!(account.names(), [Name::new(EMAIL_ADDRESSES, "ana@acme.test")]);
    assert_eq!(account.listings(), [Listing::new(ACCOUNTS, "", "ana@acme.test")]);
    assert_eq!(account.live_until(), Timestamp::FOREVER);
    assert_eq!(account.known().unwrap().email, "Ana@Acme.test", "as it was written");
}

#[test]
fn what_is_as_it_was_changes_nothing() {
    let mut account = known();
    let before = account.clone();
    assert_eq!(provision(&mut account, ana()), Ok(Provisioned::Unchanged));
    let silent = Draft { email_verified: None, claims: Map::new(), ..ana() };
    assert_eq!(provision(&mut account, silent), Ok(Provisioned::Unchanged));
    assert_eq!(account, before);
}

#[test]
fn credentials_act_only_when_the_account_is_created() {
    let mut account = known();
    let other = Draft {
        id: "another".to_owned(),
        password: Some(PasswordHash::new("$argon2id$second")),
        totp: None,
        updated_at: Some(Timestamp::NEVER),
        ..ana()
    };
    assert_eq!(provision(&mut account, other.clone()), Ok(Provisioned::Unchanged));
    let renamed = Draft { claims: claims(json!({ "given_name": "Anna" })), ..other };
    assert_eq!(provision(&mut account, renamed), Ok(Provisioned::Changed(vec!["given_name"])));
    let known = account.known().unwrap();
    assert_eq!(known.credentials.password(), ana().password.as_ref());
    assert_eq!((known.credentials.totp(), &known.id), (ana().totp.as_ref(), &ana().id));
}

#[test]
fn a_change_names_its_fields_and_its_time() {
    let mut account = known();
    let later = NOW + Duration::from_mins(1);
    let claims = claims(json!({ "given_name": "", "family_name#pt": "Sá", "locale": "pt" }));
    let draft =
        Draft { email: "ana@acme.test".to_owned(), email_verified: Some(false), claims, ..ana() };
    let fields = vec!["email", "email_verified", "given_name", "family_name", "locale"];
    assert_eq!(provision_at(&mut account, draft, later), Ok(Provisioned::Changed(fields)));
    let known = account.known().unwrap();
    assert_eq!((known.created_at, known.updated_at), (NOW, later));
    assert_eq!(known.claim("updated_at"), Some(json!(1_800_000_060)));
    assert_eq!(known.claim("email"), Some(json!("ana@acme.test")));
    assert_eq!(known.claim("email_verified"), Some(json!(false)));
    assert_eq!(known.claim("family_name#pt"), Some(json!("Sá")));
    assert_eq!((known.claim("given_name"), known.claim("sub")), (None, None));
}

#[test]
fn an_account_may_come_with_its_last_change_but_not_from_the_future() {
    let created = |said: Timestamp| {
        let mut account = Account::default();
        provision(&mut account, Draft { updated_at: Some(said), ..ana() }).unwrap();
        account.known().unwrap().updated_at
    };
    assert_eq!(created(Timestamp::from_millis(5_000)), Timestamp::from_millis(5_000));
    assert_eq!(created(Timestamp::FOREVER), NOW);
}

#[test]
fn no_account_without_an_address_and_none_takes_anothers() {
    for bad in ["", "ana", "ana@", "a b@c", "a@b@c"] {
        let draft = Draft { email: bad.to_owned(), ..ana() };
        assert_eq!(provision(&mut Account::default(), draft), Err(Refusal::Email), "{bad}");
    }
    let other = Draft { email: "eva@acme.test".to_owned(), ..ana() };
    assert_eq!(provision(&mut known(), other), Err(Refusal::OtherEmail));
}

#[test]
fn every_claim_that_is_wrong_is_named_and_nothing_changes() {
    let mut account = known();
    let before = account.clone();
    let claims = claims(json!({ "birthdate": "yesterday", "family_name": "Sá", "shoe_size": 38 }));
    let refused = provision(&mut account, Draft { claims, ..ana() });
    let Err(Refusal::Claims(faults)) = refused else { panic!("{refused:?}") };
    let said: Vec<String> = faults.iter().map(ToString::to_string).collect();
    assert!(said[0].starts_with("`birthdate` must be a date"), "{said:?}");
    assert_eq!(said[1], "`shoe_size` is no claim that an account holds");
    assert_eq!((account, said.len()), (before, 2));
}

#[test]
fn an_account_is_stored_as_it_was_and_its_credentials_are_not_shown() {
    let account = known();
    let text = serde_json::to_string(&account).unwrap();
    assert_eq!(serde_json::from_str::<Account>(&text).unwrap(), account);
    let shown = format!("{account:?} {:?}", Command::Provision(ana()));
    assert!(!shown.contains("argon2") && !shown.contains("BwcH"), "{shown}");
}

#[test]
fn a_password_is_hashed_anew_only_while_it_is_the_same() {
    let mut account = known();
    let hash = |phc: &str| PasswordHash::new(phc);
    let rehash = |from: &str, to: &str| Command::Rehash { from: hash(from), to: hash(to) };
    let decision = account.decide(&rehash("$argon2id$other", "$argon2id$new"), NOW);
    assert_eq!(decision.outcome, Err(Refusal::OtherPassword));
    let decision = account.decide(&rehash("$argon2id$first", "$argon2id$new"), NOW);
    decision.events.iter().for_each(|event| account.apply(event));
    assert_eq!(account.known().unwrap().credentials.password(), Some(&hash("$argon2id$new")));
}

#[test]
fn a_code_of_an_authenticator_application_works_once_and_none_before_it_after() {
    let mut account = known();
    let mut spend = |step| {
        let decision = account.decide(&Command::UseTotp { step }, NOW);
        decision.events.iter().for_each(|event| account.apply(event));
        decision.outcome
    };
    assert_eq!(spend(7), Ok(Reply::Used));
    assert_eq!(spend(7), Err(Refusal::TotpSpent));
    assert_eq!(spend(6), Err(Refusal::TotpSpent));
    assert_eq!(spend(8), Ok(Reply::Used));
}

fn decide(account: &mut Account, command: &Command) -> Result<Reply, Refusal> {
    let decision = account.decide(command, NOW);
    decision.events.iter().for_each(|event| account.apply(event));
    decision.outcome
}

fn set_of(hashes: &[&str]) -> RecoveryCodes {
    let hashes = hashes.iter().map(|hash| PasswordHash::new(*hash)).collect();
    RecoveryCodes { salt: "salt".to_owned(), hashes }
}

fn use_code(hash: &str) -> Command {
    Command::UseRecoveryCode(PasswordHash::new(hash))
}

#[test]
fn a_recovery_code_works_once_and_not_after_another_set_was_made() {
    let mut account = known();
    let spent = Err(Refusal::RecoveryCodeSpent);
    assert_eq!(decide(&mut account, &use_code("a")), spent, "there is no set");
    decide(&mut account, &Command::SetRecoveryCodes(set_of(&["a", "b"]))).unwrap();
    assert_eq!(decide(&mut account, &use_code("c")), spent);
    assert_eq!(decide(&mut account, &use_code("a")), Ok(Reply::Used));
    assert_eq!(decide(&mut account, &use_code("a")), spent);
    assert_eq!(account.known().unwrap().credentials.recovery_codes(), Some(("salt", 1)));
    decide(&mut account, &Command::SetRecoveryCodes(set_of(&["c"]))).unwrap();
    assert_eq!(decide(&mut account, &use_code("b")), spent, "the set is another one");
    assert_eq!(decide(&mut account, &use_code("c")), Ok(Reply::Used));
}

#[test]
fn a_set_that_comes_unasked_voids_no_code_that_is_unused() {
    let mut account = known();
    let issue = |hash| Command::IssueRecoveryCodes(set_of(&[hash]));
    decide(&mut account, &issue("a")).unwrap();
    assert_eq!(decide(&mut account, &issue("b")), Err(Refusal::RecoveryCodesLeft));
    decide(&mut account, &use_code("a")).unwrap();
    assert!(!account.known().unwrap().credentials.has_recovery_codes());
    decide(&mut account, &issue("b")).unwrap();
    assert_eq!(decide(&mut account, &use_code("b")), Ok(Reply::Used));
}

#[test]
fn the_code_that_enrols_an_application_is_spent_by_that() {
    let mut account = known();
    decide(&mut account, &Command::UseTotp { step: 9 }).unwrap();
    let secret = SealedSecret::new([8; 16]);
    decide(&mut account, &Command::EnrolTotp { secret: secret.clone(), step: 7 }).unwrap();
    assert_eq!(account.known().unwrap().credentials.totp(), Some(&secret), "there is one");
    let used = |account: &mut Account, step| decide(account, &Command::UseTotp { step });
    assert_eq!(used(&mut account, 7), Err(Refusal::TotpSpent));
    assert_eq!(used(&mut account, 8), Ok(Reply::Used));
    decide(&mut account, &Command::RemoveTotp).unwrap();
    assert_eq!(used(&mut account, 9), Err(Refusal::TotpSpent), "there is none");
    assert_eq!(decide(&mut account, &Command::RemoveTotp), Err(Refusal::NoTotp));
}

#[test]
fn a_person_is_told_of_what_was_done_and_not_of_what_was_refused() {
    let mut account = known();
    decide(&mut account, &Command::SetRecoveryCodes(set_of(&["a"]))).unwrap();
    let content = crate::domain::message::MailContent::RecoveryCodeUsed;
    let mail = Mail::new("ana@acme.test", crate::domain::Locale::English, content);
    let telling = |hash| {
        let command = Box::new(use_code(hash));
        Command::Telling { command, mail: Box::new(mail.clone()) }
    };
    let wrong = account.decide(&telling("b"), NOW);
    assert_eq!(wrong.outcome, Err(Refusal::RecoveryCodeSpent));
    assert!(wrong.commands.is_empty());
    let used = account.decide(&telling("a"), NOW);
    assert_eq!(used.outcome, Ok(Reply::Used));
    let told: Vec<_> = used.commands.iter().map(|one| one.command::<AccountAlerts>()).collect();
    let tell = |id: &str| account_alerts::Command::Tell {
        account: id.to_owned(),
        mail: Box::new(mail.clone()),
    };
    assert_eq!(told, [Some(&tell(&account.known().unwrap().id))]);
    let (command, told) = telling("a").parted();
    assert!(matches!(command, Command::UseRecoveryCode(_)) && told.is_some());
    assert_eq!((used.events.len(), used.effects.records.len()), (1, 1));
}

fn passkey(id: &str) -> Box<Passkey> {
    Box::new(Passkey {
        id: id.to_owned(),
        name: "Phone".to_owned(),
        verifier: json!({}),
        backup_eligible: true,
        backed_up: false,
        attested: false,
        last_used_at: None,
    })
}

fn change(account: &mut Account, command: &Command) -> Result<Reply, Refusal> {
    let decision = account.decide(command, NOW);
    for event in &decision.events {
        account.apply(event);
    }
    decision.outcome
}

#[test]
fn mail_alone_replaces_no_second_factor_whenever_it_was_enrolled() {
    let saved = RecoveryCodes { salt: "salt".to_owned(), hashes: vec![PasswordHash::new("one")] };
    let recover = |saved_code, password_only| {
        let by = if saved_code { RecoveredBy::MailAndCode } else { RecoveredBy::Mail };
        Command::Recover { by, password_only }
    };
    let methods = |account: &Account| account.known().unwrap().credentials.methods();
    let mut account = known();
    change(&mut account, &Command::SetRecoveryCodes(saved)).unwrap();
    let refused = change(&mut account.clone(), &recover(false, false));
    assert_eq!(refused, Err(Refusal::SecondFactorStays));
    let mut by_mail = account.clone();
    change(&mut by_mail, &recover(false, true)).unwrap();
    assert_eq!(methods(&by_mail), methods(&account), "nothing is removed");
    assert_eq!(by_mail.known().unwrap().epoch, 1);
    let mut by_both = account.clone();
    change(&mut by_both, &recover(true, false)).unwrap();
    assert_eq!(methods(&by_both), [Method::RecoveryCode], "what was lost is replaced");

    let mut plain = Account::default();
    provision(&mut plain, Draft { totp: None, ..ana() }).unwrap();
    let mut mailed = plain.clone();
    change(&mut mailed, &recover(false, false)).unwrap();
    assert!(methods(&mailed).is_empty());
    assert!(mailed.known().unwrap().credentials.password_since().is_none());
    // A passkey that was added while the recovery went on.
    change(&mut plain, &Command::AddPasskey(passkey("new"))).unwrap();
    assert_eq!(change(&mut plain, &recover(false, false)), Err(Refusal::SecondFactorStays));
}
