//! Whether mails and SMS can be sent: the server is asked, and a test is sent where one was wanted.

use super::{
    Tests,
    checks::{Finding, bad, doubtful, good},
    outside::connects,
};
use crate::{
    actors::DeliveryFailure,
    clock::SystemClock,
    config::{Config, MailTransport, SmsTransport, Smtp},
    crypto::{SystemDice, draw_text, keys::DevKeys},
    domain::message::{Mail, MailContent, Sms, SmsContent},
    messages::{ConnectionSecurity, Messages},
};
use std::{path::Path, sync::Arc};

const MAIL: &str = "mail";
const SMS: &str = "sms";

/// A number can be taken over; who offers it should know (NIST SP 800-63B-4 §3.2.9).
const RESTRICTED: &str = "a code by SMS is a restricted authenticator: with a password it is aal2 for accounts \
                          that have neither a passkey nor an authenticator application, and a number can be \
                          taken over; leave sms.transport out, or let organizations require phr";

pub(super) async fn all(config: &Config, dev_keys: DevKeys, tests: &Tests) -> Vec<Finding> {
    let messages = match Messages::configured(config, Arc::new(SystemClock), None) {
        Ok(messages) => messages,
        Err(faults) => return faults.into_iter().map(|fault| bad("messages", fault)).collect(),
    };
    messages.speak_for(config.issuer.as_deref().unwrap_or("http://localhost"));
    let mut findings = Vec::new();
    match &tests.mail_to {
        Some(to) => findings.push(test_mail(config, &messages, to).await),
        // A development server keeps its mails.
        None if config.mail.transport.is_none() && dev_keys == DevKeys::Accepted => {}
        None => findings.push(mail(config, &messages).await),
    }
    match &tests.sms_to {
        Some(to) => findings.push(test_sms(config, &messages, to).await),
        None => findings.extend(sms(config).await),
    }
    if config.sms.transport.is_some() {
        findings.push(doubtful(SMS, RESTRICTED));
    }
    findings
}

async fn mail(config: &Config, messages: &Messages) -> Finding {
    match &config.mail.transport {
        None => {
            let text = "mail.transport is not set: no codes, links and invitations are sent";
            doubtful(MAIL, text)
        }
        Some(MailTransport::Log) => doubtful(MAIL, "goes to the log: people get none"),
        Some(MailTransport::Folder(folder)) => writable(MAIL, folder),
        Some(MailTransport::Smtp(server)) => {
            let Some(reached) = messages.reach_mail_server().await else {
                return bad(MAIL, "cannot be sent");
            };
            judge(server, reached)
        }
    }
}

fn judge(server: &Smtp, reached: Result<ConnectionSecurity, String>) -> Finding {
    let at = format!("{}:{}", server.host, server.port);
    match reached {
        Ok(ConnectionSecurity { encrypted: true, authenticated: true }) => {
            good(MAIL, format!("{at} answers over TLS and takes our password"))
        }
        Ok(ConnectionSecurity { encrypted: true, .. }) => {
            good(MAIL, format!("{at} answers over TLS"))
        }
        Ok(ConnectionSecurity { encrypted: false, .. }) if is_here(&server.host) => {
            good(MAIL, format!("{at} answers"))
        }
        Ok(ConnectionSecurity { encrypted: false, .. }) => {
            let text = "answers in clear: codes can be read on the way; use smtps:// or a server \
                        with STARTTLS";
            doubtful(MAIL, format!("{at} {text}"))
        }
        Err(why) => bad(MAIL, format!("{at}: {why}")),
    }
}

fn is_here(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    let is_loopback = |address: std::net::IpAddr| address.to_canonical().is_loopback();
    bare == "localhost" || bare.parse().is_ok_and(is_loopback)
}

async fn test_mail(config: &Config, messages: &Messages, to: &str) -> Finding {
    let mail = Mail::new(to, config.screens.default_locale, MailContent::Test);
    told(MAIL, to, messages.send_mail(&new_id(), &mail).await)
}

async fn test_sms(config: &Config, messages: &Messages, to: &str) -> Finding {
    let sms =
        Sms { to: to.to_owned(), locale: config.screens.default_locale, content: SmsContent::Test };
    told(SMS, to, messages.send_sms(&new_id(), &sms).await)
}

fn new_id() -> String {
    format!("test-{}", draw_text(&SystemDice, 16))
}

fn told(subject: &'static str, to: &str, sent: Option<Result<(), DeliveryFailure>>) -> Finding {
    match sent {
        None => bad(subject, format!("{subject}.transport is not set")),
        Some(Ok(())) => good(subject, format!("a test for {to} was taken: see whether it arrives")),
        Some(Err(
            DeliveryFailure::Later(why)
            | DeliveryFailure::QueueRests(_, why)
            | DeliveryFailure::TopicRests(why)
            | DeliveryFailure::Never(why),
        )) => bad(subject, why),
    }
}

async fn sms(config: &Config) -> Option<Finding> {
    Some(match config.sms.transport.as_ref()? {
        SmsTransport::Log => doubtful(SMS, "goes to the log: people get none"),
        SmsTransport::Folder(folder) => writable(SMS, folder),
        SmsTransport::Post { url, .. } => {
            let (host, port) = (url.host_str().unwrap_or(""), url.port_or_known_default());
            match connects(host, port.unwrap_or(443)).await {
                Ok(()) => good(SMS, format!("{host} takes connections")),
                Err(why) => bad(SMS, format!("{host}: {why}")),
            }
        }
    })
}

/// A folder that is not there yet is made with the first message.
fn writable(subject: &'static str, folder: &Path) -> Finding {
    let there = folder.ancestors().find(|folder| folder.exists()).unwrap_or(folder);
    match rustix::fs::access(there, rustix::fs::Access::WRITE_OK) {
        Ok(()) => good(subject, format!("{} can be written to", folder.display())),
        Err(error) => bad(subject, format!("{}: {error}", there.display())),
    }
}
