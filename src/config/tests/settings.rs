//! The table of settings: every row can be given, and the documented example is accepted.

use super::TestSources;
use crate::config::{BreachCheck, MailTransport, SETTINGS, Setting, SmsTransport, settings::Form};
use std::collections::BTreeSet;

/// A value of the setting that is not its default, as a file and as a variable have it.
fn example(setting: &Setting) -> (String, String) {
    let plain = match (setting.name, &setting.form) {
        ("store.url", _) => "sqlite:///var/lib/porteiro.db",
        ("mail.from", _) => "Example ID <id@example.com>",
        ("screens.default_locale", _) => "pt",
        ("mail.transport" | "sms.transport", _) => "log",
        ("password.breach_check", _) => "file:///hashes.txt",
        ("limits.quiet_hours", _) => "22-7",
        (_, Form::Flag(_)) if setting.default == Some("true") => "false",
        (_, Form::Flag(_)) => "true",
        (_, Form::Number(_) | Form::Count(_) | Form::Seconds(_) | Form::Days(_)) => "17",
        (_, Form::Address(_) | Form::OptionalAddress(_)) => "127.0.0.9:9",
        (_, Form::Networks(_)) => "10.0.0.0/8",
        (_, Form::NameServers(_)) => "127.0.0.9:53",
        (_, Form::Aaguids(_)) => "cb69481e-8ff7-4039-93ec-0a2729a154a8",
        ("passkeys.attestation", _) => "file:///etc/porteiro/roots.pem",
        (_, Form::Path(_)) => "/etc/porteiro/x",
        _ => "https://id.example.com/x",
    };
    let in_file = match setting.form {
        Form::Flag(_) | Form::Number(_) | Form::Count(_) | Form::Seconds(_) | Form::Days(_) => {
            plain.to_owned()
        }
        Form::Networks(_) | Form::NameServers(_) | Form::Aaguids(_) => format!("[\"{plain}\"]"),
        _ => format!("\"{plain}\""),
    };
    (in_file, plain.to_owned())
}

#[test]
fn a_database_that_a_file_names_is_beside_that_file() {
    for (url, expected) in [
        ("sqlite://porteiro.db", "sqlite://FOLDER/porteiro.db"),
        ("sqlite:data/porteiro.db?mode=rwc", "sqlite://FOLDER/data/porteiro.db?mode=rwc"),
        ("sqlite:///var/lib/porteiro.db", "sqlite:///var/lib/porteiro.db"),
        ("sqlite:/var/lib/porteiro.db", "sqlite:/var/lib/porteiro.db"),
    ] {
        let given = TestSources::file(format!("[store]\nurl = \"{url}\"\n"));
        let folder = given.folder.path().display().to_string();
        let loaded = given.load().unwrap();
        let expected = expected.replace("FOLDER", &folder);
        assert_eq!(loaded.config.store.url.as_ref().unwrap().expose(), expected);
        let shown = loaded.lines().find(|line| line.name == "store.url").unwrap().to_string();
        assert!(shown.contains(expected.split('?').next().unwrap()), "{shown}");
    }
    let given = TestSources::nothing().variable("PORTEIRO_STORE__URL", "sqlite://porteiro.db");
    let url = given.load().unwrap().config.store.url.unwrap();
    assert_eq!(
        url.expose(),
        "sqlite://porteiro.db",
        "on the command line it is relative to the working directory"
    );
}

#[test]
fn every_setting_is_read_from_a_file_and_from_its_variable() {
    for setting in SETTINGS {
        let (in_file, plain) = example(setting);
        let file = TestSources::file(format!("{} = {in_file}\n", setting.name)).load().unwrap();
        let variable = TestSources::nothing().variable(setting.variable(), &plain).load().unwrap();
        let flag = TestSources::nothing().flag(setting.name, "--it", &plain).load().unwrap();
        let value = |loaded: &super::LoadedConfig| {
            loaded.lines().find(|line| line.name == setting.name).unwrap().value.clone().unwrap()
        };
        assert_eq!(value(&file), value(&variable), "{}", setting.name);
        assert_eq!(value(&file), value(&flag), "{}", setting.name);
        assert_eq!(variable.origin(setting.name).unwrap().to_string(), setting.variable());
        assert_ne!(Some(value(&file).to_string().trim_matches('"')), setting.default);
        // It reaches the typed configuration, too; a secret alone has nothing to go with.
        let typed = format!("{:?}", variable.config);
        let untouched = format!("{:?}", TestSources::nothing().load().unwrap().config);
        assert!(typed != untouched || setting.name == "sms.secret", "{}", setting.name);
    }
}

#[test]
fn the_table_is_in_order() {
    let names: BTreeSet<_> = SETTINGS.iter().map(|setting| setting.name).collect();
    assert_eq!(names.len(), SETTINGS.len(), "no name twice");
    let variables: BTreeSet<_> = SETTINGS.iter().map(Setting::variable).collect();
    assert_eq!(variables.len(), SETTINGS.len(), "no variable twice");
    assert_eq!(Setting::named("sign_up.open").unwrap().variable(), "PORTEIRO_SIGN_UP__OPEN");
    for setting in SETTINGS {
        assert!(!setting.about.is_empty() && !setting.about.ends_with('.'), "{}", setting.name);
    }
    // A section's settings stand together, so that what is printed reads like a file.
    let mut sections: Vec<_> = SETTINGS.iter().map(|setting| setting.place().0).collect();
    sections.dedup();
    let distinct: BTreeSet<_> = sections.iter().collect();
    assert_eq!(distinct.len(), sections.len());
}

const EXAMPLE: &str = r#"
issuer = "https://id.example.com"
listen = "0.0.0.0:8443"
public_proxy = false                       # true: TLS ends in front
trusted_proxies = ["10.0.0.0/8"]
client_cert_header = false

[store]
url = "sqlite:///var/lib/porteiro/porteiro.db"
[keys]
dir = "/etc/porteiro/keys"
pkcs11_module = "/usr/lib/softhsm/libsofthsm2.so"
pkcs11_token = "porteiro"
pkcs11_pin_file = "/etc/porteiro/pin"
[tls]
cert = "fullchain.pem"
key = "key.pem"
[mtls]
listen = "0.0.0.0:9443"
client_ca = "partners.pem"
url = "https://mtls.example.com"
[dpop]
nonce = false
[operator]
listen = "127.0.0.1:9090"
[screens]
enabled = true
default_locale = "en"
[links]
sign_in = "https://app.example.com/sign-in"
device = "https://app.example.com/device"
approval = "https://app.example.com/approve"
recovery = "https://app.example.com/recover"
invitation = "https://app.example.com/invited"
verify_email = "https://app.example.com/verify"
change_password = "https://app.example.com/password"
report = "https://app.example.com/report"
[mail]
transport = "smtps://user:pass@mail.example.com"
from = "Example ID <id@example.com>"
[sms]
transport = "https://sms.example.com/send"
[sign_up]
open = false
[registration]
open = true
[password]
min_length = 15
breach_check = "off"
[lifetimes]
authorization_code = 60
access_token = 300
id_token = 300
refresh_idle = 1209600
refresh_ceiling = 2592000
session_idle = 604800
session_ceiling = 2592000
par = 60
device_code = 600
ciba = 300
flow = 900
one_time_code = 600
magic_link = 900
[outbound]
allow_private_networks = false
extra_ca = "corp-ca.pem"
[dns]
servers = ["127.0.0.1:5353"]
[geo]
database = "/var/lib/GeoIP/city.mmdb"
[security_txt]
contact = "mailto:security@example.com"
policy = "https://example.com/security"
[alerts]
enabled = true
[log]
keep_days = 400
[limits]
enabled = true
"#;

#[test]
fn the_documented_example_is_accepted_whole_and_fit_to_serve() {
    assert_eq!(TestSources::file(EXAMPLE).unfit(), [""; 0]);
    let loaded = TestSources::file(EXAMPLE).load().unwrap();
    let unset: Vec<_> = loaded.lines().filter(|l| l.origin.is_none()).map(|l| l.name).collect();
    let optional =
        ["sms.secret", "registration.software_statement_keys", "claims.hook", "limits.quiet_hours"];
    assert_eq!(unset, optional);
    let config = loaded.config;
    assert_eq!(config.screens.default_locale, crate::domain::Locale::English);
    assert_eq!(config.password.breach_check, BreachCheck::Off);
    let Some(MailTransport::Smtp(smtp)) = config.mail.transport else { panic!("smtp") };
    assert_eq!((smtp.host.as_str(), smtp.port, smtp.implicit_tls), ("mail.example.com", 465, true));
    let from = config.mail.from.unwrap();
    assert_eq!(
        (from.name.as_deref(), from.address.as_str()),
        (Some("Example ID"), "id@example.com")
    );
}

#[test]
fn what_the_example_leaves_to_the_defaults_is_the_same_without_it() {
    let example = TestSources::file(EXAMPLE).load().unwrap();
    let bare = TestSources::nothing().load().unwrap();
    for (one, other) in bare.lines().zip(example.lines()) {
        // These are examples of what is not the default.
        let examples = ["listen", "trusted_proxies", "dns.servers"];
        if one.value.is_some() && !examples.contains(&one.name) {
            assert_eq!(one.value, other.value, "{}", one.name);
        }
    }
}

#[test]
fn transports_are_read_as_written() {
    let mail = |value: &str| {
        let given = TestSources::nothing().variable("PORTEIRO_MAIL__TRANSPORT", value);
        given.load().unwrap().config.mail.transport.unwrap()
    };
    assert_eq!(mail("log"), MailTransport::Log);
    assert_eq!(mail("file:///var/mail%20out"), MailTransport::Folder("/var/mail out".into()));
    let MailTransport::Smtp(smtp) = mail("smtp://a%40b:p%2Fw%25@[::1]:1025/") else { panic!() };
    assert_eq!((smtp.host.as_str(), smtp.port, smtp.implicit_tls), ("[::1]", 1025, false));
    let credentials = smtp.credentials.unwrap();
    assert_eq!((credentials.user.as_str(), credentials.password.expose()), ("a@b", &b"p/w%"[..]));
    let MailTransport::Smtp(smtp) = mail("smtp://localhost") else { panic!() };
    assert_eq!((smtp.port, smtp.credentials), (587, None));

    let sms = |value: &str| {
        let given = TestSources::nothing().variable("PORTEIRO_SMS__TRANSPORT", value);
        given.load().unwrap().config.sms.transport.unwrap()
    };
    assert_eq!(sms("file:///sms"), SmsTransport::Folder("/sms".into()));
    for url in ["https://to%20ken@sms.example.com/send", "https://x:to%20ken@sms.example.com/send"]
    {
        let SmsTransport::Post { url, secret } = sms(url) else { panic!() };
        assert_eq!(url.as_str(), "https://sms.example.com/send");
        assert_eq!(secret.unwrap().expose(), b"to ken");
    }
}

#[test]
fn a_contact_is_a_uri_on_one_line() {
    let contact = |value: &str| {
        let given = TestSources::nothing().variable("PORTEIRO_SECURITY_TXT__CONTACT", value);
        given.load().map(|loaded| loaded.config.security_txt.contact.unwrap())
    };
    for right in ["mailto:a@b.test", "https://b.test/report", "tel:+351-910-000-000"] {
        assert_eq!(contact(right).unwrap(), right);
    }
    for wrong in [
        "",
        "a@b.test",
        "mailto:",
        "http://b.test/report",
        "javascript:alert(1)",
        "mailto:a@b.test\nCanonical: https://evil.test",
        "mailto:ana maria@b.test",
    ] {
        let refused = contact(wrong).unwrap_err()[0].to_string();
        assert!(refused.starts_with("security_txt.contact "), "{wrong}: {refused}");
    }
    let alone = TestSources::file("[security_txt]\npolicy = \"https://b.test/security\"\n").unfit();
    let needs = "security_txt.contact: is not set, and security_txt.policy needs it";
    assert!(alone.iter().any(|line| line == needs), "{alone:?}");
}

#[test]
fn the_security_log_is_kept_for_days_or_for_ever() {
    let keep = |days: &str| {
        let given = TestSources::nothing().variable("PORTEIRO_LOG__KEEP_DAYS", days);
        given.load().map(|loaded| loaded.config.log.keep)
    };
    let day = std::time::Duration::from_hours(24);
    assert_eq!(TestSources::nothing().load().unwrap().config.log.keep, Some(day * 400));
    assert_eq!(keep("1").unwrap(), Some(day));
    assert_eq!(keep("0").unwrap(), None);
    for wrong in ["-1", "1.5", "ever", "36501", "18446744073709551615"] {
        let refused = keep(wrong).unwrap_err();
        let said = refused[0].to_string();
        assert!(said.starts_with("log.keep_days (PORTEIRO_LOG__KEEP_DAYS): "), "{said}");
    }
}
