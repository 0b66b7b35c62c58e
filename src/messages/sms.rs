//! Carries SMS: to an HTTP gateway, into files, or into the log.

use super::{
    folder,
    installation::Installation,
    mail::CourierDependencies,
    mailbox::{Mailbox, SentMessage},
    undelivered::causes,
};
use crate::{
    actors::{Courier, DeliveryFailure, DeliveryFuture, OutboxMessage},
    config::{self, SmsTransport},
    domain::{
        Secret,
        message::{self, Sms, SmsContent},
    },
    outbound::{OutboundClient, Policy, Request},
    wording::Wording,
};
use fluent_bundle::FluentArgs;
use hyper::{
    StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderName, HeaderValue},
};
use serde_json::json;
use std::{path::PathBuf, sync::Arc, time::Duration};
use url::Url;

/// How long a gateway may take; less than the outbox allows.
const TIME_LIMIT: Duration = Duration::from_secs(15);

/// The answer of a gateway is not read, but must not be endless.
const SIZE_LIMIT: usize = 64 * 1024;

/// Names the message, so that a gateway which gets it twice can tell.
const IDEMPOTENCY_KEY: HeaderName = HeaderName::from_static("idempotency-key");

enum Sender {
    Post(Box<Gateway>),
    Folder(PathBuf),
    Log,
    /// Nowhere but into the mailbox.
    Kept,
}

struct Gateway {
    outbound: OutboundClient,
    url: Url,
    /// The `Authorization` header.
    bearer: Option<HeaderValue>,
}

/// Carries SMS.
pub(super) struct SmsCourier {
    sender: Sender,
    mailbox: Option<Arc<Mailbox>>,
    installation: Arc<Installation>,
    wording: Wording,
}

impl SmsCourier {
    /// Carries SMS by the transport that was configured, or into the mailbox alone; `None` where
    /// there is neither.
    pub(super) fn new(
        given: &config::Sms,
        shared: &CourierDependencies<'_>,
        allow_private_networks: bool,
    ) -> Result<Option<Self>, String> {
        let sender = match given.transport.clone() {
            Some(SmsTransport::Post { url, secret }) => {
                let policy = Policy {
                    allow_private_networks,
                    extra_ca: shared.extra_ca.map(<[u8]>::to_vec),
                    time_limit: TIME_LIMIT,
                    size_limit: SIZE_LIMIT,
                };
                let outbound = OutboundClient::new(policy, shared.resolver.clone());
                let outbound = outbound.map_err(|error| causes(&error))?;
                let bearer = secret.as_ref().map(bearer).transpose()?;
                Sender::Post(Box::new(Gateway { outbound, url, bearer }))
            }
            Some(SmsTransport::Folder(folder)) => Sender::Folder(folder),
            Some(SmsTransport::Log) => Sender::Log,
            None if shared.mailbox.is_some() => Sender::Kept,
            None => return Ok(None),
        };
        Ok(Some(Self {
            sender,
            mailbox: shared.mailbox.clone(),
            installation: shared.installation.clone(),
            wording: Wording::of_sms(),
        }))
    }

    /// Sends an SMS at once; `id` tells it from others.
    pub(super) async fn send(&self, id: &str, sms: &Sms) -> Result<(), DeliveryFailure> {
        if sms.content == SmsContent::Decoy {
            return Ok(());
        }
        let text = self.words(sms)?;
        let body = json!({ "to": sms.to, "text": text }).to_string();
        match &self.sender {
            Sender::Post(gateway) => gateway.post(id, body).await?,
            Sender::Folder(path) => {
                let written = folder::write(path, format!("{id}.json"), body.into()).await;
                written.map_err(|error| DeliveryFailure::Later(format!("no file: {error}")))?;
            }
            Sender::Log => {
                let (kind, to) = (sms.content.kind(), masked(&sms.to));
                tracing::info!(id, kind, to, "an SMS, as far as a log may tell");
            }
            Sender::Kept => {}
        }
        if let Some(mailbox) = &self.mailbox {
            let (id, to) = (id.to_owned(), sms.to.clone());
            let (channel, sent_at) = (message::SMS, mailbox.now());
            let (subject, html) = (None, None);
            mailbox.keep(SentMessage { id, channel, to, subject, text, html, sent_at });
        }
        Ok(())
    }

    fn words(&self, sms: &Sms) -> Result<String, DeliveryFailure> {
        let mut arguments = FluentArgs::new();
        arguments.set("host", self.installation.host()?);
        if let SmsContent::SignInCode { code } | SmsContent::VerifyPhoneCode { code } = &sms.content
        {
            arguments.set("code", code.as_str());
        }
        if let SmsContent::Approval { link } = &sms.content {
            arguments.set("link", link.as_str());
        }
        let text = self.wording.say(sms.locale, (sms.content.kind(), None), &arguments);
        text.ok_or_else(DeliveryFailure::of_newer_version)
    }
}

impl Gateway {
    async fn post(&self, id: &str, body: String) -> Result<(), DeliveryFailure> {
        let mut request = Request::post(self.url.clone(), body)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        if let Ok(id) = HeaderValue::from_str(id) {
            request = request.header(IDEMPOTENCY_KEY, id);
        }
        if let Some(bearer) = &self.bearer {
            request = request.header(AUTHORIZATION, bearer.clone());
        }
        // An operator wrote the URL; that http is for loopback alone was checked with it.
        if self.url.scheme() == "http" {
            request = request.allow_plain_http();
        }
        let answered = self.outbound.send(request).await;
        let answered = answered.map_err(|error| {
            DeliveryFailure::TopicRests(format!(
                "the gateway could not be used: {}",
                causes(&error)
            ))
        })?;
        let why = || format!("the gateway answered {}", answered.status.as_u16());
        match answered.status {
            status if status.is_success() => Ok(()),
            // It says that this message is at fault; all else an operator can mend, or time.
            StatusCode::BAD_REQUEST | StatusCode::UNPROCESSABLE_ENTITY => {
                Err(DeliveryFailure::Never(why()))
            }
            _ => Err(DeliveryFailure::Later(why())),
        }
    }
}

impl Courier for SmsCourier {
    fn deliver<'a>(&'a self, message: &'a OutboxMessage) -> DeliveryFuture<'a> {
        Box::pin(async move {
            let sms = Sms::read(&message.payload);
            let sms = sms.ok_or_else(DeliveryFailure::of_newer_version)?;
            self.send(&message.id, &sms).await
        })
    }
}

fn bearer(secret: &Secret) -> Result<HeaderValue, String> {
    let text = str::from_utf8(secret.expose()).ok().map(|secret| format!("Bearer {secret}"));
    let value = text.and_then(|text| HeaderValue::try_from(text).ok());
    let mut value = value.ok_or("sms.secret: cannot be sent in a header")?;
    value.set_sensitive(true);
    Ok(value)
}

/// Shows the end of a phone number.
fn masked(number: &str) -> String {
    let digits: Vec<char> = number.chars().collect();
    let end: String = digits[digits.len().saturating_sub(2)..].iter().collect();
    format!("…{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_shows_the_end_of_a_number() {
        assert_eq!(masked("+351910000042"), "…42");
        assert_eq!(masked("7"), "…7");
    }

    #[test]
    fn a_secret_that_no_header_takes_is_refused() {
        assert!(bearer(&Secret::new("a secret")).unwrap().is_sensitive());
        assert!(bearer(&Secret::new("a\nsecret")).is_err());
        assert!(bearer(&Secret::new(vec![0xff])).is_err());
    }
}
