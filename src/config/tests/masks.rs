//! No secret is ever printed.

use super::TestSources;
use crate::config::{Config, MailTransport, SecretUrl, SmsTransport};

#[test]
fn a_url_is_shown_without_its_password() {
    for (url, shown) in [
        ("sqlite:///var/lib/a@b.db?mode=rwc", "sqlite:///var/lib/a@b.db?mode=***"),
        ("postgres://user@host/db", "postgres://user@host/db"),
        ("postgres://user:hunter2@host:5432/db", "postgres://user:***@host:5432/db"),
        ("postgres://user:hun@ter2@host/db", "postgres://user:***@host/db"),
        ("postgres://user:hun:ter2@host/db", "postgres://user:***@host/db"),
        ("postgres://user:hun/ter2@host/db", "postgres://***"),
        ("postgres://user:12#ter2@host/db", "postgres://***"),
        ("postgres://user:12?ter2@host/db", "postgres://***"),
        (
            "postgres:///db?host=/run&user=u&password=hunter2",
            "postgres:///db?host=***&user=***&password=***",
        ),
        (
            "postgres:///db?p%61ssword=hunter2&sslmode=require",
            "postgres:///db?p%61ssword=***&sslmode=***",
        ),
        ("postgres:user:hunter2@host", "***"),
        ("smtps://user:hunter2@mail.example.com", "smtps://user:***@mail.example.com"),
        ("https://hunter2@sms.example.com/send", "https://***@sms.example.com/send"),
        (
            "https://sms.example.com/send?api_key=hunter2",
            "https://sms.example.com/send?api_key=***",
        ),
        (
            "https://sms.example.com/send?sig=hunter2&hunter2",
            "https://sms.example.com/send?sig=***&***",
        ),
        ("https://sms.example.com/send#hunter2", "https://sms.example.com/send#***"),
        ("log", "log"),
    ] {
        let secret = SecretUrl::new(url);
        assert_eq!(secret.to_string(), shown);
        assert_eq!(format!("{secret:?}"), format!("SecretUrl({shown})"));
        assert_eq!(secret.expose(), url);
    }
}

#[test]
fn no_secret_appears_in_what_is_loaded() {
    let file = "[store]\nurl = \"postgres://porteiro:hunter2@db/porteiro\"\n\
                [mail]\ntransport = \"smtps://user:hunter2@mail.example.com\"\n\
                [sms]\ntransport = \"https://sms.example.com/send\"\nsecret = \"hunter2\"\n";
    let loaded = TestSources::file(file).load().unwrap();
    let mut printed = format!("{loaded:?}{:?}", loaded.config);
    for line in loaded.lines() {
        let json = serde_json::to_string(line).unwrap();
        printed.extend([line.to_string(), format!("{line:?}"), json]);
    }
    assert!(!printed.contains("hunter2"), "{printed}");
    assert!(printed.contains("store.url = \"postgres://porteiro:***@db/porteiro\""), "{printed}");
    assert!(printed.contains("sms.secret = \"***\""), "{printed}");
    let secrets: Vec<_> = loaded.lines().filter(|l| l.secret).map(|l| l.name).collect();
    assert_eq!(secrets, ["store.url", "mail.transport", "sms.transport", "sms.secret"]);

    // And yet they are there for those who need them.
    let Config { store, mail, sms, .. } = loaded.config;
    assert_eq!(store.url.unwrap().expose(), "postgres://porteiro:hunter2@db/porteiro");
    let Some(MailTransport::Smtp(smtp)) = mail.transport else { panic!("{mail:?}") };
    assert_eq!(smtp.credentials.unwrap().password.expose(), b"hunter2");
    let Some(SmsTransport::Post { secret, .. }) = sms.transport else { panic!("{sms:?}") };
    assert_eq!(secret.unwrap().expose(), b"hunter2");
}

#[test]
fn what_a_link_carries_is_shown_no_more_than_a_password() {
    for (setting, value) in [
        ("LINKS__SIGN_IN", "https://app.example.com/in?tenant=hunter2#hunter2"),
        ("PASSWORD__BREACH_CHECK", "https://pwned.example.com/range/?k=hunter2"),
    ] {
        let given = TestSources::nothing().variable(format!("PORTEIRO_{setting}"), value);
        let lines: Vec<_> = given.load().unwrap().lines().map(ToString::to_string).collect();
        assert!(lines.iter().any(|line| line.contains("=***")), "{lines:?}");
        assert!(!lines.concat().contains("hunter2"), "{lines:?}");
    }
}

#[test]
fn no_secret_appears_in_a_refusal() {
    for (setting, values) in [
        ("STORE__URL", ["hunter2", "mysql://u:hunter2@h/d", "postgres://u:hun/hunter2@h:x/d"]),
        ("MAIL__TRANSPORT", ["hunter2", "smtps://u:hunter2@", "smtp://u:1/hunter2@h"]),
        ("SMS__TRANSPORT", ["hunter2", "ftp://hunter2@h", "https://hunter2@"]),
        ("SMS__SECRET", ["hunter2\n", "\thunter2", "hunter2\u{7f}"]),
        ("LISTEN", ["postgres://u:hunter2@h/d", "u:hunter2@h", "postgres://u:1/hunter2@h"]),
        ("LINKS__DEVICE", ["smtp://u:hunter2@h", "https://hunter2@h/", "https://u:hunter2@h/"]),
    ] {
        for value in values {
            let given = TestSources::nothing().variable(format!("PORTEIRO_{setting}"), value);
            let survey = Config::load_for_production(given.sources);
            assert!(survey.refusals.iter().any(|r| r.setting.is_some()), "{setting} {value}");
            let mut printed = format!("{survey:?}");
            for refusal in &survey.refusals {
                printed += &refusal.to_string();
            }
            for line in survey.loaded.lines() {
                printed += &line.to_string();
            }
            assert!(!printed.contains("hunter2"), "{setting} {value}: {printed}");
        }
    }
    // Nor does a file give them away by being malformed.
    let refused = TestSources::file("[sms]\nsecret = hunter2\n").refused().concat();
    assert!(!refused.contains("hunter2"), "{refused}");
}
