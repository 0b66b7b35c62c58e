use super::*;
use crate::domain::{Context, Device, Fingerprint, assurance::AuthenticatorId, place::GeoPoint};
use std::time::Duration;

const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);
const MINUTE: Duration = Duration::from_mins(1);
const DAY: Duration = Duration::from_hours(24);
const LISBON: (f64, f64) = (38.72, -9.14);
const SYDNEY: (f64, f64) = (-33.87, 151.21);

fn from(device: &str) -> SignIn {
    let address = "203.0.113.9".parse().unwrap();
    let context = Context::request(address, Some(b"Firefox/140.0 (Windows NT 10.0)"), None);
    SignIn {
        account: "ana".to_owned(),
        device: DeviceKey::browser(device),
        epoch: 0,
        place: Place::default(),
        client_id: Some("billing".to_owned()),
        origin: RequestOrigin::by_request(&context, NOW),
        to: Some(AlertRecipient {
            email: "ana@acme.test".to_owned(),
            locale: Locale::Portuguese,
            report: Some(ReportLink::new("https://id.example.com/report?token=t")),
        }),
    }
}

fn at((latitude, longitude): (f64, f64), sign_in: SignIn) -> SignIn {
    let point = GeoPoint::of_degrees(latitude, longitude, 20);
    let place = Place { name: Some("a place".to_owned()), point };
    SignIn { place, ..sign_in }
}

/// What a decision writes and mails.
#[derive(Debug, PartialEq, Eq)]
struct AlertOutput {
    records: Vec<&'static str>,
    mails: Vec<MailContent>,
}

fn output(records: &[&'static str], mails: &[MailContent]) -> AlertOutput {
    AlertOutput { records: records.to_vec(), mails: mails.to_vec() }
}

fn ask(
    alerts: &mut AccountAlerts,
    command: &Command,
    now: Timestamp,
) -> Result<AlertOutput, Refusal> {
    let decision = alerts.decide(command, now);
    decision.events.iter().for_each(|event| alerts.apply(event));
    let text = serde_json::to_string(alerts).unwrap();
    assert_eq!(serde_json::from_str::<AccountAlerts>(&text).unwrap(), *alerts);
    let mails = decision.effects.dispatches.iter().map(|one| Mail::read(&one.payload).unwrap());
    let output = AlertOutput {
        records: decision.effects.records.iter().map(|record| record.event).collect(),
        mails: mails.map(|mail| mail.content).collect(),
    };
    decision.outcome.map(|()| output)
}

fn sign_in(alerts: &mut AccountAlerts, sign_in: SignIn, now: Timestamp) -> AlertOutput {
    ask(alerts, &Command::SignIn(Box::new(sign_in)), now).unwrap()
}

/// An account whose person signed in from one device.
fn with_laptop() -> AccountAlerts {
    let mut alerts = AccountAlerts::default();
    assert_eq!(
        sign_in(&mut alerts, from("laptop"), NOW),
        output(&[], &[]),
        "the first alerts no one"
    );
    alerts
}

#[test]
fn a_device_is_new_once_and_the_first_of_an_account_alerts_no_one() {
    let mut alerts = with_laptop();
    assert_eq!(sign_in(&mut alerts, from("laptop"), NOW + MINUTE), output(&[], &[]));
    let new = output(&["sign_in.new_device"], &[MailContent::NewDevice]);
    assert_eq!(sign_in(&mut alerts, from("phone"), NOW + DAY), new);
    assert_eq!(sign_in(&mut alerts, from("phone"), NOW + DAY), output(&[], &[]));
    let program = |agent: &str, network: &str| {
        let (user_agent, network) = (Some(agent.to_owned()), Some(network.to_owned()));
        SignIn { device: DeviceKey::program(&Device { user_agent, network }), ..from("") }
    };
    let one = || program("curl/8", "203.0.113.0/24");
    assert_eq!(sign_in(&mut alerts, one(), NOW + 2 * DAY).records, ["sign_in.new_device"]);
    assert_eq!(sign_in(&mut alerts, one(), NOW + 2 * DAY).records, [""; 0]);
    for other in [program("curl/9", "203.0.113.0/24"), program("curl/8", "198.51.100.0/24")] {
        assert_eq!(sign_in(&mut alerts, other, NOW + 2 * DAY).records, ["sign_in.new_device"]);
    }
}

#[test]
fn an_alert_names_device_place_and_client_and_goes_to_the_person_with_its_link() {
    let mut alerts = with_laptop();
    let command = Command::SignIn(Box::new(at(LISBON, from("phone"))));
    let decision = alerts.decide(&command, NOW + MINUTE);
    let detail = serde_json::Value::Object(decision.effects.records[0].detail.clone());
    let expected = serde_json::json!({ "account": "ana", "device": "Firefox, Windows",
        "place": "a place", "client_id": "billing", "mailed": true });
    assert_eq!(detail, expected);
    let mail = Mail::read(&decision.effects.dispatches[0].payload).unwrap();
    assert_eq!((&*mail.to, mail.locale), ("ana@acme.test", Locale::Portuguese));
    assert_eq!(mail.report.unwrap().as_str(), "https://id.example.com/report?token=t");
    assert_eq!(mail.asked.unwrap().network.as_deref(), Some("203.0.113.0/24"));
    let silent = SignIn { to: None, ..from("phone") };
    let without_mail = sign_in(&mut alerts, silent, NOW + MINUTE);
    assert_eq!(without_mail, output(&["sign_in.new_device"], &[]));
}

#[test]
fn most_sign_ins_write_nothing() {
    let mut alerts = with_laptop();
    let events = |alerts: &AccountAlerts, now| {
        alerts.decide(&Command::SignIn(Box::new(from("laptop"))), now).events.len()
    };
    assert_eq!(events(&alerts, NOW + MINUTE), 0);
    assert_eq!(events(&alerts, NOW + DAY), 1, "once a day it is noted");
    sign_in(&mut alerts, at(LISBON, from("laptop")), NOW);
    let again = Command::SignIn(Box::new(at(LISBON, from("laptop"))));
    assert_eq!(alerts.decide(&again, NOW + MINUTE).events.len(), 0);
}

#[test]
fn devices_are_bounded_in_number_and_time_and_an_empty_list_is_no_first_sign_in() {
    let mut alerts = with_laptop();
    for number in 0..MOST_DEVICES {
        sign_in(&mut alerts, from(&number.to_string()), NOW + MINUTE);
    }
    assert_eq!(alerts.devices(), MOST_DEVICES);
    let forgotten = sign_in(&mut alerts, from("laptop"), NOW + 2 * MINUTE);
    assert_eq!(forgotten.records, ["sign_in.new_device"], "the longest unused was forgotten");
    let late = NOW + 2 * MINUTE + DEVICE_KEPT_FOR;
    let idle = sign_in(&mut alerts, from("laptop"), late);
    assert_eq!((idle.records, alerts.devices()), (vec!["sign_in.new_device"], 1));
    let mut used = with_laptop();
    for day in 1..400 {
        assert_eq!(sign_in(&mut used, from("laptop"), NOW + day * DAY), output(&[], &[]), "{day}");
    }
}

#[test]
fn a_journey_that_no_person_makes_is_told_and_one_by_aeroplane_is_not() {
    let mut alerts = AccountAlerts::default();
    sign_in(&mut alerts, at(LISBON, from("laptop")), NOW);
    let soon = sign_in(&mut alerts.clone(), at(SYDNEY, from("laptop")), NOW + 60 * MINUTE);
    let mail = MailContent::ImpossibleTravel;
    assert_eq!(soon, output(&["sign_in.impossible_travel"], std::slice::from_ref(&mail)));
    let both = sign_in(&mut alerts.clone(), at(SYDNEY, from("phone")), NOW + 60 * MINUTE);
    let events = ["sign_in.new_device", "sign_in.impossible_travel"];
    assert_eq!(both, output(&events, &[mail]), "one mail for one sign-in");
    let flown = sign_in(&mut alerts.clone(), at(SYDNEY, from("laptop")), NOW + DAY);
    assert_eq!(flown, output(&[], &[]));
    let near = sign_in(&mut alerts.clone(), at((41.15, -8.61), from("laptop")), NOW);
    assert_eq!(near, output(&[], &[]), "a database is not so exact");
    let unknown = sign_in(&mut alerts, from("laptop"), NOW + MINUTE);
    assert_eq!(unknown, output(&[], &[]), "no place is no journey");
    let back = sign_in(&mut alerts, at(SYDNEY, from("laptop")), NOW - DAY);
    assert_eq!(back.records, ["sign_in.impossible_travel"], "a clock that went back hides nothing");
    let mut first = AccountAlerts::default();
    assert_eq!(sign_in(&mut first, at(SYDNEY, from("laptop")), NOW), output(&[], &[]));
}

#[test]
fn a_flood_becomes_one_mail_and_a_digest_that_counts_the_others() {
    let mut alerts = with_laptop();
    let digest = |to| Command::SendDigest { account: "ana".to_owned(), to };
    let mut mails = Vec::new();
    for number in 0..100 {
        mails.extend(sign_in(&mut alerts, from(&number.to_string()), NOW + MINUTE).mails);
    }
    assert_eq!(mails, [MailContent::NewDevice]);
    let due = NOW + MINUTE + FOLDED_FOR;
    assert_eq!(alerts.listings(), [Listing::new(ALERT_DIGESTS, "", rank(due))]);
    let to = from("x").to;
    assert_eq!(ask(&mut alerts, &digest(to.clone()), due - MINUTE), Err(Refusal::NotDue));
    let counted = output(&[], &[MailContent::AlertDigest { folded: 99 }]);
    assert_eq!(ask(&mut alerts.clone(), &digest(to.clone()), due), Ok(counted));
    assert_eq!(ask(&mut alerts.clone(), &digest(None), due), Ok(output(&[], &[])));
    // Without a digest the next mail says it.
    let next = alerts.decide(&Command::SignIn(Box::new(from("later"))), due);
    let next = Mail::read(&next.effects.dispatches[0].payload).unwrap();
    assert_eq!((next.content, next.others), (MailContent::NewDevice, 99));
    ask(&mut alerts, &digest(to.clone()), due).unwrap();
    assert_eq!(
        (alerts.listings().len(), ask(&mut alerts, &digest(to), due)),
        (0, Err(Refusal::NotDue))
    );
    assert_eq!(sign_in(&mut alerts, from("after"), due).mails, [], "a digest is a mail as well");
    let kinds = sign_in(&mut with_laptop(), from("phone"), NOW - 365 * DAY);
    assert_eq!(kinds.mails.len(), 1, "a clock that went back opens no window for a year");
}

fn report(name: &str, at: Timestamp) -> Report {
    let mailbox = AuthenticatorId::mailbox("ana@acme.test");
    Report { account: "ana".to_owned(), id: Fingerprint::of(name.as_bytes()), at, mailbox }
}

fn decide(report: &Report, allow: bool) -> Command {
    Command::DecideReport { account: "ana".to_owned(), report: report.clone(), allow }
}

#[test]
fn a_report_is_decided_once_and_within_seven_days() {
    let mut alerts = with_laptop();
    let (one, other) = (report("one", NOW), report("other", NOW));
    let last = NOW + REPORT_LIFETIME - Duration::from_millis(1);
    assert!(alerts.takes_report(&one, last));
    assert!(!alerts.takes_report(&one, NOW + REPORT_LIFETIME));
    let late = ask(&mut alerts, &decide(&one, true), NOW + REPORT_LIFETIME);
    assert_eq!(late, Err(Refusal::ReportOver));
    assert!(!alerts.takes_report(&report("future", NOW + DAY), NOW));
    let denied = ask(&mut alerts, &decide(&one, false), last);
    assert_eq!(denied, Ok(output(&["account.report_denied"], &[])));
    assert_eq!(alerts.devices(), 1, "a no changes nothing");
    for allow in [true, false] {
        assert_eq!(ask(&mut alerts, &decide(&one, allow), last), Err(Refusal::ReportOver));
    }
    let reported = ask(&mut alerts, &decide(&other, true), last);
    assert_eq!(reported, Ok(output(&["account.reported"], &[])));
    assert_eq!(alerts.devices(), 0);
    let anew = sign_in(&mut alerts, from("laptop"), last);
    assert_eq!(anew.records, ["sign_in.new_device"], "after a report each device is new");
    let mut unborn = AccountAlerts::default();
    assert!(ask(&mut unborn, &decide(&one, true), NOW).is_ok(), "a notice may be the first mail");
}

#[test]
fn decided_reports_are_bounded_and_none_becomes_good_again() {
    let mut alerts = with_laptop();
    let all: Vec<Report> =
        (0..200_u32).map(|one| report(&one.to_string(), NOW + one * MINUTE)).collect();
    let now = NOW + 200 * MINUTE;
    for one in &all {
        ask(&mut alerts, &decide(one, false), now).unwrap();
    }
    assert!(serde_json::to_string(&alerts).unwrap().len() < 16_000);
    for one in &all {
        assert!(!alerts.takes_report(one, now));
    }
    assert!(alerts.takes_report(&report("fresh", now), now));
}

#[test]
fn a_recovery_forgets_devices_and_an_erasure_everything() {
    let mut alerts = with_laptop();
    ask(&mut alerts, &Command::ForgetDevices, NOW).unwrap();
    assert_eq!(alerts.devices(), 0);
    assert_eq!(sign_in(&mut alerts, from("laptop"), NOW).records, ["sign_in.new_device"]);
    ask(&mut AccountAlerts::default(), &Command::ForgetDevices, NOW).unwrap();
    ask(&mut alerts, &Command::Erase, NOW).unwrap();
    assert_eq!(alerts, AccountAlerts::Erased { at: NOW });
    assert!(alerts.forget_at().is_some() && !alerts.takes_report(&report("one", NOW), NOW));
    for refused in [decide(&report("one", NOW), true), Command::SignIn(Box::new(from("laptop")))] {
        assert_eq!(ask(&mut alerts, &refused, NOW), Err(Refusal::Erased));
    }
    assert!(ask(&mut alerts, &Command::Erase, NOW).is_ok());
}

fn telling(content: MailContent) -> Command {
    let mail = Box::new(Mail::new("ana@acme.test", Locale::English, content));
    Command::Tell { account: "ana".to_owned(), mail }
}

fn role(number: u32) -> Command {
    let (organization, role) = ("Acme".to_owned(), number.to_string());
    telling(MailContent::RoleGranted { organization, role })
}

#[test]
fn a_hundred_changes_of_a_kind_are_one_mail_and_a_digest_and_each_other_kind_is_told_at_once() {
    let mut alerts = AccountAlerts::default();
    let mut mails = Vec::new();
    for number in 0..100 {
        mails.extend(ask(&mut alerts, &role(number), NOW + MINUTE).unwrap().mails);
    }
    assert_eq!(mails.len(), 1, "{mails:?}");
    for other in [MailContent::PasswordChanged, MailContent::TotpRemoved] {
        let told = ask(&mut alerts, &telling(other.clone()), NOW + MINUTE).unwrap();
        assert_eq!(told, output(&[], &[other]), "a flood of roles hides no other kind");
    }
    for _ in 0..4 {
        sign_in(&mut alerts, from("laptop"), NOW + MINUTE);
    }
    for device in ["phone", "tablet", "desk"] {
        sign_in(&mut alerts, from(device), NOW + MINUTE);
    }
    let digest = Command::SendDigest { account: "ana".to_owned(), to: from("x").to };
    let due = NOW + MINUTE + FOLDED_FOR;
    let told = [MailContent::AlertDigest { folded: 2 }, MailContent::NoticeDigest { folded: 99 }];
    assert_eq!(ask(&mut alerts, &digest, due), Ok(output(&[], &told)));
    assert_eq!(ask(&mut alerts, &role(1), due), Ok(output(&[], &[])), "a digest is a mail as well");
    let later = due + FOLDED_FOR;
    let next = alerts.decide(&role(2), later);
    let mail = Mail::read(&next.effects.dispatches[0].payload).unwrap();
    assert_eq!((mail.content.kind(), mail.others), ("role-granted", 1));
    for number in 0..3 {
        ask(&mut alerts, &role(number), later).unwrap();
    }
    let kept = serde_json::to_string(&alerts).unwrap();
    assert!(!kept.contains("totp-removed"), "what is over is not kept: {kept}");
}

#[test]
fn a_former_address_is_told_at_once_what_was_counted_and_the_next_one_begins_anew() {
    let mut alerts = AccountAlerts::default();
    let changed = || telling(MailContent::EmailChanged);
    let told = [MailContent::EmailChanged];
    for _ in 0..3 {
        assert_eq!(ask(&mut alerts, &changed(), NOW), Ok(output(&[], &told)), "each is mailed");
    }
    for number in 0..5 {
        ask(&mut alerts, &role(number), NOW).unwrap();
    }
    let told = [MailContent::EmailChanged, MailContent::NoticeDigest { folded: 4 }];
    assert_eq!(ask(&mut alerts, &changed(), NOW), Ok(output(&[], &told)));
    assert_eq!(
        (alerts.listings(), ask(&mut alerts, &role(9), NOW).unwrap().mails.len()),
        (vec![], 1)
    );
    for content in [MailContent::AccountRecovered, MailContent::AccountRecovered] {
        assert_eq!(ask(&mut alerts, &telling(content), NOW).unwrap().mails.len(), 1);
    }
}

#[test]
fn in_another_epoch_of_the_person_no_device_of_a_former_one_is_known() {
    let mut alerts = with_laptop();
    sign_in(&mut alerts, from("phone"), NOW);
    let anew = |device| SignIn { epoch: 1, ..from(device) };
    let late = NOW + 2 * FOLDED_FOR;
    let told = output(&["sign_in.new_device"], &[MailContent::NewDevice]);
    assert_eq!(sign_in(&mut alerts, anew("phone"), late), told, "a thief's browser is new as well");
    assert_eq!(sign_in(&mut alerts, anew("phone"), late), output(&[], &[]));
    assert_eq!(sign_in(&mut alerts, anew("laptop"), late).records, ["sign_in.new_device"]);
    assert_eq!(alerts.devices(), 2);
}
