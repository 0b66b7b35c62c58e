//! Mails that tell a person of what has changed in their account, in the commit that changes it.

use crate::{
    domain::{
        account::{Command, Known},
        message::{Mail, MailContent},
    },
    http::app::App,
};

/// Returns the change of the account that leaves the mail; none where no mail can be sent.
pub fn notice(app: &App, known: &Known, content: MailContent) -> Option<Command> {
    mail(app, known, content).map(|mail| Command::Tell(Box::new(mail)))
}

/// Returns a change that is made alone, and that leaves the mail with it where mail can be sent.
pub fn telling(app: &App, known: &Known, content: MailContent, command: Command) -> Command {
    match mail(app, known, content) {
        None => command,
        Some(mail) => Command::Telling { command: Box::new(command), mail: Box::new(mail) },
    }
}

fn mail(app: &App, known: &Known, content: MailContent) -> Option<Mail> {
    let (to, locale) = (known.email.clone(), known.locale().unwrap_or(app.locale));
    app.channels().mail.then_some(Mail { to, locale, content })
}
