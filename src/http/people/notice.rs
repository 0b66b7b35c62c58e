//! Mails that tell a person of what has changed in their account, in the commit that changes it.

use crate::{
    domain::{
        Actor, Context, Locale,
        account::{Command, Known},
        message::{Mail, MailContent, RequestOrigin},
    },
    http::{app::App, people::report_link},
};

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

/// Returns the mail; none where no mail can be sent. Where others act than the person, it does not tell where they are.
pub fn mail(app: &App, context: &Context, known: &Known, content: MailContent) -> Option<Mail> {
    let locale = known.locale().unwrap_or(app.settings.locale);
    let is_own = match context.actor() {
        None => true,
        Some(Actor::Person(id)) => *id == known.id,
        Some(_) => false,
    };
    let asked = if is_own {
        origin(app, context, locale)
    } else {
        RequestOrigin::by_administrators(app.clock.now())
    };
    let report = report_link::link(app, known);
    let mail = Mail { report, ..Mail::new(&*known.email, locale, content) }.asked(asked);
    app.channels().mail.then_some(mail)
}

/// Says from where a request comes, and where that is, in words of this language.
pub fn origin(app: &App, context: &Context, locale: Locale) -> RequestOrigin {
    let place = context.address().and_then(|address| app.alerts.geo.place(address, locale).name);
    RequestOrigin { place, ..RequestOrigin::by_request(context, app.clock.now()) }
}
