//! The message by which a person hears that a client asks for their approval. Its link is a signal: to
//! open it decides nothing (adr/0090).

use crate::{
    domain::{
        Context, DeliveryKey, Dispatch, Timestamp,
        account::Known,
        client::KnownClient,
        message::{Asker, Mail, MailContent, RequestOrigin, Sms, SmsContent},
    },
    http::{app::App, limits::attempts::MessageSender, routes},
    wording::quotable,
};

/// Returns the mail, or the SMS where there is no mail; none where no page could be opened, or the person
/// has been written to often enough.
pub async fn message(
    app: &App,
    context: &Context,
    client: &KnownClient,
    (account, id, expires_at): (&Known, &str, Timestamp),
) -> Option<Dispatch> {
    if !app.settings.screens && app.settings.links.approval.is_none() {
        return None;
    }
    let now = app.clock.now();
    if app.settings.quiet_hours.is_some_and(|hours| hours.contain(now)) {
        return None;
    }
    let channels = app.channels();
    let link =
        || app.page(app.settings.links.approval.as_ref(), routes::APPROVE, &[("approval", id)]);
    let locale = account.locale().unwrap_or(app.settings.locale);
    let key = DeliveryKey::client(&client.client_id);
    if channels.mail {
        let to = account.email.clone();
        let address = account.normalised_email();
        app.limits.attempts.charge_message(context, &address, MessageSender::Client).await.ok()?;
        let by = match &client.metadata.client_name {
            _ if client.is_self_registered() => Asker::SelfRegistered,
            Some(name) => Asker::Application(quotable(name)),
            None => Asker::Application(quotable(&client.client_id)),
        };
        let asked = RequestOrigin { by: Some(by), ..RequestOrigin::by_request(context, now) };
        let content = MailContent::Approval { link: link() };
        let mail = Mail::new(to, locale, content).asked(asked);
        return Some(mail.dispatch(expires_at).keyed(key));
    }
    let to = account.verified_phone().filter(|_| channels.sms)?.to_owned();
    app.limits.attempts.charge_message(context, &to, MessageSender::Client).await.ok()?;
    let sms = Sms { to, locale, content: SmsContent::Approval { link: link() } };
    Some(sms.dispatch(expires_at).keyed(key))
}
