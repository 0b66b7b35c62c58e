use super::*;
use url::Url;

const HOST: &str = "id.example.com";
const CODE_DIGITS: &str = "402913";
const LINK: &str = "https://id.example.com/sign-in?flow=flw_1&token=a-b_c";

/// One of each.
fn contents() -> Vec<MailContent> {
    use MailContent as C;
    let (code, link) = (|| CODE_DIGITS.to_owned(), || LINK.to_owned());
    let name = "A <b>\"'key'\" & 123456\nhttps://evil.test/\n123456".to_owned();
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
        C::PasskeyRemoved { name },
        C::TotpEnrolled,
        C::TotpRemoved,
        C::RecoveryCodesMade,
        C::RecoveryCodeUsed,
        C::AccountRecovered,
        C::Test,
    ]
}

fn render(locale: Locale, content: MailContent) -> Option<RenderedMail> {
    let mail = Mail { to: "ana@acme.test".to_owned(), locale, content };
    RenderedMail::of(&mail, HOST, &Wording::of_mail())
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
