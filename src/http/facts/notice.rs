//! Mails that tell a person what was changed in their account; they leave with the change itself.

use crate::{
    domain::{
        Locale,
        account::{Command, Known},
        message::{Mail, MailContent},
    },
    http::app::App,
};

/// Returns the command that changes the account and tells its person, where mail can be sent at all.
pub fn telling(app: &App, account: &Known, content: MailContent, command: Command) -> Command {
    if !app.channels().mail {
        return command;
    }
    let claim = account.claim("locale");
    let locale = claim.as_ref().and_then(|claim| claim.as_str()).and_then(Locale::of_tag);
    let (to, locale) = (account.email.clone(), locale.unwrap_or(app.locale));
    Command::Telling { command: Box::new(command), mail: Mail { to, locale, content } }
}
