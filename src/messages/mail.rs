//! Carries mails: reads the row, finds the words, hands it over.

use super::{
    folder,
    installation::Installation,
    mailbox::{Mailbox, SentMessage},
    rendered_mail::RenderedMail,
    smtp::{ConnectionSecurity, Envelope, SmtpSender},
};
use crate::{
    actors::{Courier, DeliveryFailure, DeliveryFuture, OutboxMessage},
    config::{self, MailTransport},
    domain::{
        Clock, Timestamp,
        message::{self, Mail, MailContent},
    },
    outbound::Resolver,
    wording::Wording,
};
use lettre::{
    Address, Message,
    message::{
        Mailbox as Correspondent, MultiPart, SinglePart,
        header::{ContentType, HeaderName, HeaderValue},
    },
};
use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use url::Host;

/// Where mails go.
enum Sender {
    Smtp(Box<SmtpSender>),
    Folder(PathBuf),
    Log,
    /// Nowhere but into the mailbox.
    Kept,
}

/// Carries mails.
pub(super) struct MailCourier {
    sender: Sender,
    from: Option<Correspondent>,
    mailbox: Option<Arc<Mailbox>>,
    installation: Arc<Installation>,
    wording: Wording,
    clock: Arc<dyn Clock>,
}

/// What a courier is built from, whatever it carries.
pub(super) struct CourierDependencies<'a> {
    pub(super) mailbox: Option<Arc<Mailbox>>,
    pub(super) installation: Arc<Installation>,
    pub(super) clock: Arc<dyn Clock>,
    /// More trust anchors, PEM.
    pub(super) extra_ca: Option<&'a [u8]>,
    /// Finds the servers that messages are handed to.
    pub(super) resolver: Arc<dyn Resolver>,
}

impl MailCourier {
    /// Carries mails by the transport that was configured, or into the mailbox alone; `None` where
    /// there is neither.
    pub(super) fn new(
        given: &config::Mail,
        shared: &CourierDependencies<'_>,
    ) -> Result<Option<Self>, String> {
        let sender = match given.transport.clone() {
            Some(MailTransport::Smtp(server)) => {
                let resolver = shared.resolver.clone();
                Sender::Smtp(Box::new(SmtpSender::new(server, shared.extra_ca, resolver)?))
            }
            Some(MailTransport::Folder(folder)) => Sender::Folder(folder),
            Some(MailTransport::Log) => Sender::Log,
            None if shared.mailbox.is_some() => Sender::Kept,
            None => return Ok(None),
        };
        let from = given.from.as_ref().map(correspondent).transpose()?;
        Ok(Some(Self {
            sender,
            from,
            mailbox: shared.mailbox.clone(),
            installation: shared.installation.clone(),
            wording: Wording::of_mail(),
            clock: shared.clock.clone(),
        }))
    }

    /// Connects to the mail server without sending; `None` where there is none to connect to.
    pub(super) async fn reach(&self) -> Option<Result<ConnectionSecurity, String>> {
        match &self.sender {
            Sender::Smtp(sender) => Some(sender.reach().await),
            Sender::Folder(_) | Sender::Log | Sender::Kept => None,
        }
    }

    /// Sends a mail at once; `id` tells it from others.
    pub(super) async fn send(&self, id: &str, mail: &Mail) -> Result<(), DeliveryFailure> {
        if mail.content == MailContent::Nothing {
            return Ok(());
        }
        let never = |why: &str| DeliveryFailure::Never(why.to_owned());
        let host = self.installation.host()?;
        let rendered = RenderedMail::of(mail, &host, &self.wording);
        let rendered = rendered.ok_or_else(DeliveryFailure::of_newer_version)?;
        let to = address(&mail.to).ok_or_else(|| never("its address cannot be written to"))?;
        match &self.sender {
            Sender::Smtp(sender) => {
                let from = self.sender_of(&host)?;
                let content = self.compose(id, (&from, &to), &rendered)?;
                let (from, class) = (&from.email, mail.content.class());
                sender.send(&Envelope { from, to: &to, content: &content, class }).await?;
            }
            Sender::Folder(path) => {
                let content = self.compose(id, (&self.sender_of(&host)?, &to), &rendered)?;
                let written = folder::write(path, format!("{id}.eml"), content).await;
                written.map_err(|error| DeliveryFailure::Later(format!("no file: {error}")))?;
            }
            Sender::Log => {
                let (kind, to) = (mail.content.kind(), masked(&mail.to));
                tracing::info!(id, kind, to, "a mail, as far as a log may tell");
            }
            Sender::Kept => {}
        }
        if let Some(mailbox) = &self.mailbox {
            mailbox.keep(SentMessage {
                id: id.to_owned(),
                channel: message::MAIL,
                to: mail.to.clone(),
                subject: Some(rendered.subject),
                text: rendered.text,
                html: Some(rendered.html),
                sent_at: mailbox.now(),
            });
        }
        Ok(())
    }

    /// Returns who mails are from: as configured, else an address at the issuer's host.
    fn sender_of(&self, host: &str) -> Result<Correspondent, DeliveryFailure> {
        if let Some(from) = &self.from {
            return Ok(from.clone());
        }
        let name = host.rsplit_once(':').map_or(host, |(name, _port)| name);
        let email =
            Address::new("no-reply", name).or_else(|_| Address::new("no-reply", "localhost"));
        let email = email.map_err(|_| DeliveryFailure::Later("mail.from is not set".to_owned()))?;
        Ok(Correspondent::new(None, email))
    }

    /// Writes the mail as it travels (RFC 5322, multipart/alternative).
    fn compose(
        &self,
        id: &str,
        (from, to): (&Correspondent, &Address),
        mail: &RenderedMail,
    ) -> Result<Vec<u8>, DeliveryFailure> {
        let host = from.email.domain();
        let part = |kind, text: &str| SinglePart::builder().header(kind).body(text.to_owned());
        let composed = Message::builder()
            .from(from.clone())
            .to(Correspondent::new(None, to.clone()))
            .subject(mail.subject.clone())
            .date(system_time(self.clock.now()))
            // The same each time that it is tried: a program that gets it twice can tell.
            .message_id(Some(format!("<{id}@{host}>")))
            // RFC 3834 §5: absence notes do not answer it.
            .raw_header(HeaderValue::new(
                HeaderName::new_from_ascii_str("Auto-Submitted"),
                "auto-generated".to_owned(),
            ))
            .multipart(
                MultiPart::alternative()
                    .singlepart(part(ContentType::TEXT_PLAIN, &mail.text))
                    .singlepart(part(ContentType::TEXT_HTML, &mail.html)),
            );
        let composed =
            composed.map_err(|_| DeliveryFailure::Never("it cannot be written".to_owned()))?;
        Ok(composed.formatted())
    }
}

impl Courier for MailCourier {
    fn deliver<'a>(&'a self, message: &'a OutboxMessage) -> DeliveryFuture<'a> {
        Box::pin(async move {
            let mail = Mail::read(&message.payload);
            let mail = mail.ok_or_else(DeliveryFailure::of_newer_version)?;
            self.send(&message.id, &mail).await
        })
    }
}

fn correspondent(given: &config::Mailbox) -> Result<Correspondent, String> {
    let email = address(&given.address);
    let email = email.ok_or("mail.from: is not an address that mail can be sent from")?;
    if given.name.as_ref().is_some_and(|name| name.contains(char::is_control)) {
        return Err("mail.from: the name has control characters in it".to_owned());
    }
    Ok(Correspondent::new(given.name.clone(), email))
}

/// Reads an address; its host is written as in DNS, so that most servers take it.
fn address(text: &str) -> Option<Address> {
    let (user, host) = text.rsplit_once('@')?;
    let host = if host.is_ascii() { host.to_owned() } else { Host::parse(host).ok()?.to_string() };
    Address::new(user, host).ok()
}

/// Shows enough of an address to recognise it, and not the whole.
pub(super) fn masked(address: &str) -> String {
    let (user, host) = address.rsplit_once('@').unwrap_or((address, ""));
    let first: String = user.chars().take(1).collect();
    format!("{first}…@{host}")
}

fn system_time(at: Timestamp) -> SystemTime {
    UNIX_EPOCH + Duration::from_millis(u64::try_from(at.millis()).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_written_so_that_most_servers_take_it() {
        let written = |text| address(text).map(|found| found.to_string());
        assert_eq!(written("ana@acme.test").as_deref(), Some("ana@acme.test"));
        assert_eq!(written("ána@exempló.pt").as_deref(), Some("ána@xn--exempl-gxa.pt"));
        for bad in ["ana", "@acme.test", "ana@", "a\r\nRCPT TO:<b@c>@acme.test", "a b@acme.test"] {
            assert_eq!(written(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_log_shows_a_part_of_an_address() {
        assert_eq!(masked("ana@acme.test"), "a…@acme.test");
        assert_eq!(masked("no address"), "n…@");
    }
}
