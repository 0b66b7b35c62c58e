use super::*;
use crate::domain::{
    Context, Timestamp,
    message::{Asker, RequestOrigin},
};
use url::Url;

const HOST: &str = "id.example.com";
const CODE_DIGITS: &str = "402913";
const HOSTILE: &str = "A <b>\"'key'\" & 123456\nhttps://evil.test/\n123456";
const LINK: &str = "https://id.example.com/sign-in?flow=flw_1&token=a-b_c";

/// One of each.
fn contents() -> Vec<MailContent> {
    use MailContent as C;
    let (code, link) = (|| CODE_DIGITS.to_owned(), || LINK.to_owned());
    let name = HOSTILE.to_owned();
    vec![
        C::SignInCode { code: code() },
        C::SignInLink { link: link() },
        C::VerifyEmailCode { code: code() },
        C::VerifyEmailLink { link: link() },
        C::SignUpCode { code: code() },
        C::SignUpLink { link: link() },
        C::SignUpKnown,
        C::Invitation { link: link(), organization: name.clone(), administrator: false },
        C::Invitation { link: link(), organization: name.clone(), administrator: true },
        C::RecoveryCode { code: code() },
        C::RecoveryLink { link: link() },
        C::RecoveryStarted { stop: link() },
        C::RecoveryIssued { stop: link() },
        C::PasswordChanged,
        C::PasswordRemoved,
        C::EmailChangeCode { code: code() },
        C::EmailChangeKnown,
        C::EmailChangeRequested,
        C::EmailChanged,
        C::PhoneChanged,
        C::PhoneRemoved,
        C::DeletionRequested { until: "2027-02-14".to_owned() },
        C::PasskeyAdded { name: name.clone() },
        C::PasskeyRemoved { name: name.clone() },
        C::IdentityLinked { connection: name.clone() },
        C::IdentityUnlinked { connection: name.clone() },
        C::TotpEnrolled,
        C::TotpRemoved,
        C::RecoveryCodesMade,
        C::RecoveryCodeUsed,
        C::AccountRecovered,
        C::NewDevice,
        C::ImpossibleTravel,
        C::AlertDigest { folded: 1 },
        C::AlertDigest { folded: 99 },
        C::NoticeDigest { folded: 1 },
        C::NoticeDigest { folded: 123_456 },
        C::RoleGranted { organization: name.clone(), role: name.clone() },
        C::ApiKeyMade { organization: name.clone(), name: name.clone() },
        C::AgentAllowed { agent: name },
        C::Test,
    ]
}

fn render(locale: Locale, content: MailContent) -> Option<RenderedMail> {
    let asked = Some(Box::new(asked(Some(Asker::Application(HOSTILE.to_owned())))));
    let mail = Mail { asked, ..Mail::new("ana@acme.test", locale, content) };
    RenderedMail::of(&mail, HOST, &Wording::of_mail())
}

/// By a caller that would like to be read.
fn asked(by: Option<Asker>) -> RequestOrigin {
    let agent = format!("{HOSTILE} (Windows NT 10.0) Firefox/140.0 {HOSTILE}");
    let context = Context::request("203.0.113.9".parse().unwrap(), Some(agent.as_bytes()), None);
    RequestOrigin {
        by,
        ..RequestOrigin::by_request(&context, Timestamp::from_millis(1_800_000_000_000))
    }
}

/// The lines between the note and the footer.
fn facts(locale: Locale, asked: RequestOrigin) -> Vec<String> {
    let content = MailContent::TotpEnrolled;
    let mail = Mail::new("ana@acme.test", locale, content).asked(asked);
    let mail = RenderedMail::of(&mail, HOST, &Wording::of_mail()).unwrap();
    let parts: Vec<&str> = mail.text.split("\n\n").collect();
    assert_eq!(parts.len(), 4, "{}", mail.text);
    for line in parts[2].lines() {
        let value = line.split_once(": ").unwrap().1;
        assert!(mail.html.contains(&Markup::of(value).to_string()), "{line}: {}", mail.html);
    }
    parts[2].lines().map(str::to_owned).collect()
}

#[test]
fn a_mail_says_who_asked_from_where_and_when() {
    let web = || asked(Some(Asker::Application("Acme <Billing>".to_owned())));
    assert_eq!(
        facts(Locale::English, web()),
        [
            "Time: 15 January 2027, 08:00 UTC",
            "Application: Acme <Billing>",
            "Device: Firefox on Windows",
            "Network: 203.0.113.0/24",
        ]
    );
    assert_eq!(
        facts(Locale::Portuguese, web()),
        [
            "Hora: 15 de janeiro de 2027, 08:00 UTC",
            "Aplicação: Acme <Billing>",
            "Dispositivo: Firefox em Windows",
            "Rede: 203.0.113.0/24",
        ]
    );
    let operator = RequestOrigin::by_operator(Timestamp::from_millis(0));
    let lines = ["Time: 1 January 1970, 00:00 UTC", "By: an operator of id.example.com"];
    assert_eq!(facts(Locale::English, operator), lines);
    let own = facts(Locale::English, asked(Some(Asker::SelfRegistered)));
    assert_eq!(own[1], "Application: one that registered itself");
    let of_curl = Context::request("::1".parse().unwrap(), Some(b"curl/8"), None);
    let plain =
        facts(Locale::English, RequestOrigin::by_request(&of_curl, Timestamp::from_millis(0)));
    assert_eq!(plain, ["Time: 1 January 1970, 00:00 UTC", "Network: ::/48"]);
}

#[test]
fn a_mail_of_which_nothing_is_known_says_nothing_more() {
    let content = MailContent::Test;
    let mail = Mail::new("ana@acme.test", Locale::English, content);
    let mail = RenderedMail::of(&mail, HOST, &Wording::of_mail()).unwrap();
    assert_eq!(mail.text.matches("\n\n").count(), 2, "{}", mail.text);
    assert!(!mail.text.contains("Time"), "{}", mail.text);
}

/// Every line that a program could take for the code or the link.
fn standing_alone(text: &str) -> Vec<&str> {
    let is_code = |line: &str| line.len() == 6 && line.bytes().all(|byte| byte.is_ascii_digit());
    let is_link = |line: &str| Url::parse(line).is_ok_and(|url| url.has_host());
    text.lines().map(str::trim).filter(|line| is_code(line) || is_link(line)).collect()
}

#[test]
fn in_every_mail_the_code_or_the_link_stands_alone_and_no_other_line_does() {
    for locale in Locale::ALL {
        for content in contents() {
            let kind = content.kind();
            let expected: &[&str] = match highlight(&content) {
                Highlight::Code(_) => &[CODE_DIGITS],
                Highlight::Link(_) => &[LINK],
                Highlight::None => &[],
            };
            let mail = render(locale, content).unwrap_or_else(|| panic!("{kind} in {locale:?}"));
            assert_eq!(standing_alone(&mail.text), expected, "{}", mail.text);
            let lines = mail.text.lines().filter(|line| expected.contains(line)).count();
            assert_eq!(lines, expected.len(), "without anything around it: {}", mail.text);
            assert!(mail.subject.contains(HOST) && mail.text.contains(HOST), "{kind}");
            assert!(!mail.subject.contains(CODE_DIGITS), "a subject is seen on locked phones");
            assert!(!mail.subject.contains('\n') && !mail.text.contains("{ $"), "{kind}");
        }
    }
}

/// The same, with the link by which the person says that it was not them.
fn render_with_report(locale: Locale, content: MailContent, report: &str) -> Option<RenderedMail> {
    let asked = RequestOrigin { place: Some(HOSTILE.to_owned()), ..asked(None) };
    let (asked, report) = (Some(Box::new(asked)), Some(ReportLink::new(report)));
    let mail = Mail { asked, report, ..Mail::new("ana@acme.test", locale, content) };
    RenderedMail::of(&mail, HOST, &Wording::of_mail())
}

#[test]
fn the_link_of_a_report_stands_alone_in_a_mail_that_has_no_other() {
    const REPORT: &str = "https://id.example.com/report?token=a-b_c";
    for locale in Locale::ALL {
        for content in contents() {
            let own: &[&str] = match highlight(&content) {
                Highlight::Code(_) => &[CODE_DIGITS],
                Highlight::Link(_) => &[LINK],
                Highlight::None => &[REPORT],
            };
            let mail = render_with_report(locale, content, REPORT).unwrap();
            assert_eq!(standing_alone(&mail.text), own, "{}", mail.text);
            let links = mail.html.matches("<a ").count();
            assert_eq!(links, usize::from(own != [CODE_DIGITS]), "{}", mail.html);
            assert!(!mail.html.contains("<b>"), "{}", mail.html);
        }
    }
    for bad in ["javascript:alert(1)", "https://id.example.com/\nhttps://evil.test/", ""] {
        assert!(render_with_report(Locale::English, MailContent::TotpRemoved, bad).is_none());
    }
}

#[test]
fn each_language_has_its_own_words() {
    for content in contents() {
        let english = render(Locale::English, content.clone()).unwrap();
        let portuguese = render(Locale::Portuguese, content).unwrap();
        assert_ne!(english.subject, portuguese.subject);
        assert_ne!(english.text, portuguese.text);
        assert!(portuguese.html.contains("<html lang=\"pt\">"));
    }
}

#[test]
fn nothing_that_people_chose_becomes_markup() {
    for locale in Locale::ALL {
        for content in contents() {
            let mail = render(locale, content).unwrap();
            assert!(mail.html.is_ascii());
            assert!(!mail.html.contains("<b>") && !mail.html.contains("'key'"), "{}", mail.html);
            for forbidden in ["<script", "<img", "<link", "url(", "http-equiv", "onclick"] {
                assert!(!mail.html.contains(forbidden), "{forbidden}");
            }
            let opened = mail.html.matches("<a href=").count();
            let named = mail.html.matches("https://id.example.com/sign-in?flow=flw_1&amp;token=");
            assert_eq!(opened, named.count(), "a link is in its own attribute only");
        }
    }
    assert_eq!(
        Markup::of("<a href=\"x\">'&\u{0}é</a>").to_string(),
        "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#233;&lt;/a&gt;"
    );
}

#[test]
fn a_code_or_link_that_would_not_stay_on_its_line_is_not_sent() {
    for link in [
        "javascript:alert(1)",
        "id.example.com/x",
        "https://id.example.com/\nhttps://evil.test/",
        "https://id.example.com/a b",
        "",
    ] {
        let content = MailContent::SignInLink { link: link.to_owned() };
        assert!(render(Locale::English, content).is_none(), "{link:?}");
    }
    for code in ["", "123456\n654321", "123 456"] {
        let content = MailContent::SignInCode { code: code.to_owned() };
        assert!(render(Locale::English, content).is_none(), "{code:?}");
    }
    assert!(render(Locale::English, MailContent::Nothing).is_none(), "a decoy has no words");
}

#[test]
fn a_mail_is_one_card_that_has_colours_for_the_dark() {
    for locale in Locale::ALL {
        for content in contents() {
            let one = match highlight(&content) {
                Highlight::Code(_) => (1, 0),
                Highlight::Link(_) => (0, 1),
                Highlight::None => (0, 0),
            };
            let html = render(locale, content).unwrap().html;
            let found = (html.matches("class=\"code\"").count(), html.matches("<a ").count());
            assert_eq!(found, one, "{html}");
            assert_eq!(html.matches("<h1").count(), 1);
            assert!(html.contains("prefers-color-scheme:dark") && html.contains("max-width:480px"));
            assert!(html.lines().all(|line| line.len() < 998), "a line of a mail is short");
        }
    }
}

#[test]
fn a_mail_says_how_many_of_its_kind_were_not_sent_before_it() {
    for (locale, expected) in [
        (Locale::English, ["one more of the same kind", "123456 more of the same kind"]),
        (Locale::Portuguese, ["mais um igual", "mais 123456 iguais"]),
    ] {
        let text = |others| {
            let mail = Mail::new("ana@acme.test", locale, MailContent::TotpRemoved);
            RenderedMail::of(&Mail { others, ..mail }, HOST, &Wording::of_mail()).unwrap().text
        };
        let alone = text(0);
        for (others, expected) in [1, 123_456].into_iter().zip(expected) {
            let said = text(others);
            assert!(said.contains(expected) && said.len() > alone.len(), "{said}");
            assert_eq!(standing_alone(&said), [""; 0], "{said}");
        }
        assert!(!alone.contains(expected[0]) && !alone.contains(" 0 "), "{alone}");
    }
}
