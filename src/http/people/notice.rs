//! Mails that tell a person of what has changed in their account, in the commit that changes it.

use crate::{
    domain::{
        Context, Locale,
        account::{Command, Known},
        message::{Mail, MailContent, RequestOrigin},
    },
    http::{app::App, people::report_link},
};

/// Returns the change of the account that leaves the mail; none where no mail can be sent.
pub fn notice(
    app: &App,
    context: &Context,
    known: &Known,
    content: MailContent,
) -> Option<Command> {
    mail(app, context, known, content).map(|mail| Command::Tell(Box::new(mail)))
}

/// Returns a change that is made alone, and that leaves the mail with it where mail can be sent.
pub fn telling(
    app: &App,
    context: &Context,
    known: &Known,
    content: MailContent,
    command: Command,
) -> Command {
    match mail(app, context, known, content) {
        None => command,
        Some(mail) => Command::Telling { command: Box::new(command), mail: Box::new(mail) },
    }
}

/// Returns the mail; none where no mail can be sent.
pub fn mail(app: &App, context: &Context, known: &Known, content: MailContent) -> Option<Mail> {
    let (to, locale) = (known.email.clone(), known.locale().unwrap_or(app.settings.locale));
    let asked = Some(Box::new(origin(app, context, locale)));
    let report = report_link::link(app, known);
    app.channels().mail.then_some(Mail { to, locale, content, asked, report })
}

/// Says from where a request comes, and where that is, in words of this language.
pub fn origin(app: &App, context: &Context, locale: Locale) -> RequestOrigin {
    let place = context.address().and_then(|address| app.alerts.geo.place(address, locale).name);
    RequestOrigin { place, ..RequestOrigin::by_request(context, app.clock.now()) }
}
