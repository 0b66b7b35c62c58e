//! A mail in words: subject, text and HTML.
//!
//! In the text the code or the link stands alone on its line, and no other line is a URL or six
//! digits alone: programs and people find it there.

mod facts;

use crate::domain::{
    Locale,
    message::{Mail, MailContent, ReportLink},
};
use crate::{
    html::{escape, in_ascii},
    wording::{Wording, quotable},
};
use askama::{Template, filters::HtmlSafe};
use facts::{Fact, FactWords};
use fluent_bundle::FluentArgs;
use std::fmt;

/// What stands alone on a line.
enum Highlight<'a> {
    Code(&'a str),
    Link(&'a str),
    None,
}

/// A mail as it is sent.
pub(super) struct RenderedMail {
    pub(super) subject: String,
    pub(super) text: String,
    pub(super) html: String,
}

impl RenderedMail {
    /// Finds the words for a mail of the installation at `host`; `None` where there are none, or where
    /// its code or link would not stay on its line.
    pub(super) fn of(mail: &Mail, host: &str, wording: &Wording) -> Option<Self> {
        let highlight = highlight(&mail.content);
        // One line alone is a link: a mail that has one of its own says elsewhere what to do.
        let report = mail.report.as_ref().map(ReportLink::as_str);
        let report = report.filter(|_| matches!(highlight, Highlight::None));
        if !highlight.is_sound() || !report.is_none_or(|link| Highlight::Link(link).is_sound()) {
            return None;
        }
        let mut arguments = arguments_of(&mail.content);
        arguments.set("host", host);
        arguments.set("others", mail.others);
        let kind = mail.content.kind();
        let say = |part| wording.say(mail.locale, (kind, Some(part)), &arguments);
        let words = FactWords { locale: mail.locale, host, wording };
        let facts = mail.asked.as_deref().map(|asked| words.facts(asked));
        let general = |name| wording.say(mail.locale, (name, None), &arguments);
        let lead = match mail.others {
            0 => say("lead")?,
            _ => format!("{} {}", say("lead")?, general("others")?),
        };
        let (note, report) = match report {
            None => (Some(say("note")?), None),
            Some(link) => {
                let (lead, action) = (general("report-lead")?, general("report-action")?);
                (say("beside"), Some(ReportPart { lead, action, link }))
            }
        };
        let parts = Parts {
            locale: mail.locale,
            host,
            subject: say("subject")?,
            lead,
            action: say("action"),
            note,
            report,
            facts: facts.unwrap_or_else(|| Some(Vec::new()))?,
            footer: general("footer")?,
            highlight,
        };
        Some(Self { text: parts.text(), html: parts.html()?, subject: parts.subject })
    }
}

fn highlight(content: &MailContent) -> Highlight<'_> {
    use MailContent as C;
    match content {
        C::SignInCode { code }
        | C::VerifyEmailCode { code }
        | C::SignUpCode { code }
        | C::RecoveryCode { code }
        | C::EmailChangeCode { code } => Highlight::Code(code),
        C::SignInLink { link }
        | C::VerifyEmailLink { link }
        | C::SignUpLink { link }
        | C::RecoveryLink { link }
        | C::Approval { link }
        | C::Invitation { link, .. }
        | C::RecoveryStarted { stop: link }
        | C::RecoveryIssued { stop: link } => Highlight::Link(link),
        C::SignUpKnown
        | C::PasswordChanged
        | C::PasswordRemoved
        | C::EmailChangeKnown
        | C::EmailChangeRequested
        | C::EmailChanged
        | C::PhoneChanged
        | C::PhoneRemoved
        | C::DeletionRequested { .. }
        | C::PasskeyAdded { .. }
        | C::PasskeyRemoved { .. }
        | C::IdentityLinked { .. }
        | C::IdentityUnlinked { .. }
        | C::TotpEnrolled
        | C::TotpRemoved
        | C::RecoveryCodesMade
        | C::RecoveryCodeUsed
        | C::AccountRecovered
        | C::NewDevice
        | C::ImpossibleTravel
        | C::AlertDigest { .. }
        | C::NoticeDigest { .. }
        | C::RoleGranted { .. }
        | C::ApiKeyMade { .. }
        | C::AgentAllowed { .. }
        | C::Test
        | C::Nothing => Highlight::None,
    }
}

fn arguments_of(content: &MailContent) -> FluentArgs<'static> {
    let mut arguments = FluentArgs::new();
    match content {
        MailContent::Invitation { organization, administrator, .. } => {
            arguments.set("organization", quotable(organization));
            arguments.set("role", if *administrator { "administrator" } else { "member" });
        }
        MailContent::PasskeyAdded { name } | MailContent::PasskeyRemoved { name } => {
            arguments.set("name", quotable(name));
        }
        MailContent::IdentityLinked { connection }
        | MailContent::IdentityUnlinked { connection } => {
            arguments.set("connection", quotable(connection));
        }
        MailContent::AlertDigest { folded } | MailContent::NoticeDigest { folded } => {
            arguments.set("folded", *folded);
        }
        MailContent::RoleGranted { organization, role } => {
            arguments.set("organization", quotable(organization));
            arguments.set("role", quotable(role));
        }
        MailContent::ApiKeyMade { organization, name } => {
            arguments.set("organization", quotable(organization));
            arguments.set("name", quotable(name));
        }
        MailContent::AgentAllowed { agent } => arguments.set("agent", quotable(agent)),
        MailContent::DeletionRequested { until } => arguments.set("until", quotable(until)),
        _ => {}
    }
    arguments
}

impl Highlight<'_> {
    fn is_sound(&self) -> bool {
        let one_line =
            |text: &str| !text.is_empty() && text.chars().all(|letter| letter.is_ascii_graphic());
        match self {
            Self::Code(code) => one_line(code),
            // Nothing but a web page opens from a mail of ours.
            Self::Link(link) => {
                one_line(link) && (link.starts_with("https://") || link.starts_with("http://"))
            }
            Self::None => true,
        }
    }
}

struct Parts<'a> {
    locale: Locale,
    host: &'a str,
    subject: String,
    lead: String,
    action: Option<String>,
    note: Option<String>,
    /// How the person says that it was not them.
    report: Option<ReportPart<'a>>,
    /// Who asked for it, from where and when.
    facts: Vec<Fact>,
    footer: String,
    highlight: Highlight<'a>,
}

/// How a person says that it was not them.
struct ReportPart<'a> {
    lead: String,
    action: String,
    link: &'a str,
}

impl Parts<'_> {
    fn text(&self) -> String {
        let alone = match self.highlight {
            Highlight::Code(alone) | Highlight::Link(alone) => Some(alone),
            Highlight::None => None,
        };
        let line = |Fact { label, value }: &Fact| format!("{label}: {value}");
        let facts = self.facts.iter().map(line).collect::<Vec<_>>().join("\n");
        let facts = Some(&*facts).filter(|facts| !facts.is_empty());
        let report = self.report.as_ref();
        let parts = [
            Some(&*self.lead),
            alone,
            self.note.as_deref(),
            report.map(|report| &*report.lead),
            report.map(|report| report.link),
            facts,
            Some(&*self.footer),
        ];
        let mut text = parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n");
        text.push('\n');
        text
    }

    /// One card with one code or one button; no picture, no script, nothing from elsewhere.
    fn html(&self) -> Option<String> {
        let (code, link) = match self.highlight {
            Highlight::Code(code) => (Some(code), None),
            Highlight::Link(link) => (None, Some(link)),
            Highlight::None => (None, None),
        };
        let button = match link {
            None => None,
            Some(link) => {
                let action = Markup::of(self.action.as_deref()?);
                Some(Button { link: Markup::of(link), action })
            }
        };
        let card = Card {
            lang: self.locale.tag(),
            style: DARK,
            sans: SANS,
            mono: MONO,
            host: Markup::of(self.host),
            subject: Markup::of(&self.subject),
            lead: Markup::of(&self.lead),
            code: code.map(Markup::of),
            button,
            note: self.note.as_deref().map(Markup::of),
            report: self.report.as_ref().map(ReportMarkup::of),
            facts: self.facts.iter().map(FactMarkup::of).collect(),
            footer: Markup::of(&self.footer),
        };
        card.render().ok()
    }
}

/// For readers that have dark pages. Those that drop it turn the colours of the message around, which
/// are legible that way too.
const DARK: &str = ":root{color-scheme:light dark;supported-color-schemes:light dark}\
    @media (prefers-color-scheme:dark){\
    .page{background-color:#0c1210!important}\
    .card{background-color:#151d1a!important;border-color:#293430!important}\
    .ink{color:#e8efeb!important}.muted{color:#a0aea8!important}.host{color:#6fd0b3!important}\
    .code{background-color:#111816!important;border-color:#6c7b74!important;color:#e8efeb!important}\
    .button{background-color:#6fd0b3!important}.label{color:#06251c!important}}";
const SANS: &str = "system-ui,-apple-system,Roboto,Helvetica,Arial,sans-serif";
const MONO: &str = "ui-monospace,Menlo,Consolas,monospace";

#[derive(Template)]
#[template(path = "mail.html")]
struct Card<'a> {
    lang: &'a str,
    style: &'static str,
    sans: &'static str,
    mono: &'static str,
    host: Markup,
    subject: Markup,
    lead: Markup,
    code: Option<Markup>,
    button: Option<Button>,
    note: Option<Markup>,
    report: Option<ReportMarkup>,
    facts: Vec<FactMarkup>,
    footer: Markup,
}

struct ReportMarkup {
    lead: Markup,
    button: Button,
}

impl ReportMarkup {
    fn of(report: &ReportPart<'_>) -> Self {
        let button = Button { link: Markup::of(report.link), action: Markup::of(&report.action) };
        Self { lead: Markup::of(&report.lead), button }
    }
}

struct FactMarkup {
    label: Markup,
    value: Markup,
}

impl FactMarkup {
    fn of(fact: &Fact) -> Self {
        Self { label: Markup::of(&fact.label), value: Markup::of(&fact.value) }
    }
}

struct Button {
    link: Markup,
    action: Markup,
}

/// A text that was escaped, in ASCII: a mail is read in any character set.
struct Markup(String);

impl Markup {
    fn of(text: &str) -> Self {
        Self(in_ascii(&escape(text)))
    }
}

impl fmt::Display for Markup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl HtmlSafe for Markup {}

#[cfg(test)]
mod tests;
