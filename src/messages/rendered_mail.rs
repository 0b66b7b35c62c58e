//! A mail in words: subject, text and HTML.
//!
//! In the text the code or the link stands alone on its line, and no other line is a URL or six
//! digits alone: programs and people find it there.

use crate::domain::{
    Locale,
    message::{Mail, MailContent},
};
use crate::wording::{Wording, quotable};
use fluent_bundle::FluentArgs;
use std::fmt::Write as _;

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
        if !highlight.is_sound() {
            return None;
        }
        let mut arguments = arguments_of(&mail.content);
        arguments.set("host", host);
        let kind = mail.content.kind();
        let say = |part| wording.say(mail.locale, (kind, Some(part)), &arguments);
        let parts = Parts {
            locale: mail.locale,
            subject: say("subject")?,
            lead: say("lead")?,
            action: say("action"),
            note: say("note")?,
            footer: wording.say(mail.locale, ("footer", None), &arguments)?,
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
        | C::RecoveryCode { code } => Highlight::Code(code),
        C::SignInLink { link }
        | C::VerifyEmailLink { link }
        | C::SignUpLink { link }
        | C::RecoveryLink { link }
        | C::Invitation { link, .. }
        | C::RecoveryStarted { stop: link }
        | C::RecoveryIssued { stop: link } => Highlight::Link(link),
        C::SignUpKnown
        | C::PasswordChanged
        | C::PasskeyAdded { .. }
        | C::PasskeyRemoved { .. }
        | C::TotpEnrolled
        | C::TotpRemoved
        | C::RecoveryCodesMade
        | C::RecoveryCodeUsed
        | C::AccountRecovered
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
    subject: String,
    lead: String,
    action: Option<String>,
    note: String,
    footer: String,
    highlight: Highlight<'a>,
}

impl Parts<'_> {
    fn text(&self) -> String {
        let Self { lead, note, footer, .. } = self;
        match self.highlight {
            Highlight::Code(alone) | Highlight::Link(alone) => {
                format!("{lead}\n\n{alone}\n\n{note}\n\n{footer}\n")
            }
            Highlight::None => format!("{lead}\n\n{note}\n\n{footer}\n"),
        }
    }

    /// Everything is escaped here and nowhere else; no picture, no script, nothing from elsewhere.
    fn html(&self) -> Option<String> {
        let [subject, lead, note, footer] =
            [&self.subject, &self.lead, &self.note, &self.footer].map(|text| escape(text));
        let highlight = match self.highlight {
            Highlight::Code(code) => format!("<p style=\"{CODE}\">{}</p>\n", escape(code)),
            Highlight::Link(link) => {
                let action = escape(self.action.as_deref()?);
                let link = escape(link);
                format!(
                    "<p style=\"{PARAGRAPH}\"><a href=\"{link}\" style=\"{BUTTON}\">{action}</a></p>\n"
                )
            }
            Highlight::None => String::new(),
        };
        let tag = self.locale.tag();
        Some(format!(
            "<!doctype html>\n\
             <html lang=\"{tag}\">\n\
             <head>\n\
             <meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <title>{subject}</title>\n\
             </head>\n\
             <body style=\"{BODY}\">\n\
             <div style=\"{CARD}\">\n\
             <h1 style=\"{TITLE}\">{subject}</h1>\n\
             <p style=\"{PARAGRAPH}\">{lead}</p>\n\
             {highlight}\
             <p style=\"{PARAGRAPH}\">{note}</p>\n\
             <p style=\"{SMALL}\">{footer}</p>\n\
             </div>\n\
             </body>\n\
             </html>\n"
        ))
    }
}

const BODY: &str = "margin:0;padding:24px;background:#f1f4f2;color:#13201b;\
                    font-family:system-ui,sans-serif;font-size:16px;line-height:24px";
const CARD: &str = "max-width:480px;margin:0 auto;padding:24px;background:#fff;border-radius:12px";
const TITLE: &str = "margin:0 0 16px;font-size:24px;line-height:30px;font-weight:600";
const PARAGRAPH: &str = "margin:0 0 16px";
const CODE: &str = "margin:0 0 16px;font-family:monospace;font-size:28px;line-height:40px;\
                    font-weight:600;letter-spacing:4px";
const BUTTON: &str = "display:inline-block;padding:12px 24px;border-radius:8px;\
                      background:#0b5c4a;color:#fff;font-weight:600;text-decoration:none";
const SMALL: &str = "margin:0;font-size:14px;line-height:20px;color:#51605a";

/// Escapes a text for the content of an element and for an attribute in double quotes.
///
/// What is not ASCII becomes a reference, so that the part is the same in every character set.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            ' '..='~' | '\n' => escaped.push(letter),
            other if other.is_ascii() => {}
            other => write!(escaped, "&#{};", u32::from(other)).expect("a String takes it all"),
        }
    }
    escaped
}

#[cfg(test)]
mod tests;
