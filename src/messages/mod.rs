//! Carries mails and SMS from the outbox to people, in their language.
//!
//! 1. A commit leaves a row in the outbox (`domain::message`); the outbox leases it and hands it to
//!    the courier of its topic.
//! 2. The courier finds the words in `locales/`: a mail is text and HTML, an SMS one sentence.
//! 3. It hands the message over by the transport that the operator configured, and under `dev` also
//!    keeps it in the mailbox.
//! 4. What no try can deliver is given up and recorded; everything else is tried again until the
//!    message has expired.

mod folder;
mod installation;
mod mail;
mod mailbox;
mod rendered_mail;
mod sms;
mod smtp;
mod undelivered;

pub use mailbox::{Mailbox, SentMessage};
pub use smtp::ConnectionSecurity;

use crate::{
    actors::{Courier, Couriers, DeliveryFailure},
    config::{self, Config, unreadable},
    domain::{
        Clock,
        message::{self, Mail, Sms},
    },
    outbound::DnsResolver,
};
use installation::Installation;
use mail::{CourierDependencies, MailCourier};
use sms::SmsCourier;
use std::sync::Arc;

/// What carries messages here; clones are the same.
#[derive(Clone, Default)]
pub struct Messages {
    mail: Option<Arc<MailCourier>>,
    sms: Option<Arc<SmsCourier>>,
    mailbox: Option<Arc<Mailbox>>,
    installation: Arc<Installation>,
}

impl Messages {
    /// Carries messages as an operator configured it; with a mailbox, everything is also kept there.
    ///
    /// Says everything that is wrong at once.
    pub fn configured(
        config: &Config,
        clock: Arc<dyn Clock>,
        mailbox: Option<Arc<Mailbox>>,
    ) -> Result<Self, Vec<String>> {
        let Config { mail, sms, outbound, dns, .. } = config;
        let extra_ca = outbound.extra_ca.as_ref().map(|path| {
            std::fs::read(path)
                .map_err(|error| vec![format!("outbound.extra_ca: {}", unreadable(path, &error))])
        });
        let extra_ca = extra_ca.transpose()?;
        let installation = Arc::new(Installation::default());
        let shared = CourierDependencies {
            mailbox: mailbox.clone(),
            installation: installation.clone(),
            clock,
            extra_ca: extra_ca.as_deref(),
            resolver: Arc::new(DnsResolver::asking(dns.servers.clone())),
        };
        let mail = MailCourier::new(mail, &shared);
        let sms = SmsCourier::new(sms, &shared, outbound.allow_private_networks);
        match (mail, sms) {
            (Ok(mail), Ok(sms)) => {
                let (mail, sms) = (mail.map(Arc::new), sms.map(Arc::new));
                Ok(Self { mail, sms, mailbox, installation })
            }
            (mail, sms) => Err(mail.err().into_iter().chain(sms.err()).collect()),
        }
    }

    /// Keeps everything in a mailbox and sends nothing.
    pub fn in_mailbox(clock: Arc<dyn Clock>) -> Self {
        let mailbox = Mailbox::new(clock.clone());
        let installation = Arc::new(Installation::default());
        let shared = CourierDependencies {
            mailbox: Some(mailbox.clone()),
            installation: installation.clone(),
            clock,
            extra_ca: None,
            resolver: Arc::new(DnsResolver::of_system()),
        };
        let mail = MailCourier::new(&config::Mail::default(), &shared).ok().flatten();
        let sms = SmsCourier::new(&config::Sms::default(), &shared, false).ok().flatten();
        let (mail, sms) = (mail.map(Arc::new), sms.map(Arc::new));
        Self { mail, sms, mailbox: Some(mailbox), installation }
    }

    /// Tells the couriers for whom they speak; before that they deliver nothing.
    pub fn speak_for(&self, issuer: &str) {
        self.installation.name(issuer);
    }

    /// Returns the couriers by topic, those that there are.
    pub fn couriers(&self) -> Couriers {
        let mut couriers = Couriers::new();
        if let Some(mail) = self.mail.clone() {
            couriers.insert(message::MAIL, mail as Arc<dyn Courier>);
        }
        if let Some(sms) = self.sms.clone() {
            couriers.insert(message::SMS, sms as Arc<dyn Courier>);
        }
        couriers
    }

    /// Whether mail can be sent.
    pub fn has_mail(&self) -> bool {
        self.mail.is_some()
    }

    /// Whether SMS can be sent.
    pub fn has_sms(&self) -> bool {
        self.sms.is_some()
    }

    /// Where everything sent can be read, under `dev`.
    pub fn mailbox(&self) -> Option<Arc<Mailbox>> {
        self.mailbox.clone()
    }

    /// Connects to the mail server without sending; `None` where there is none to connect to.
    pub async fn reach_mail_server(&self) -> Option<Result<ConnectionSecurity, String>> {
        self.mail.as_ref()?.reach().await
    }

    /// Sends a mail at once, beside the outbox; `None` where no mail can be sent.
    pub async fn send_mail(&self, id: &str, mail: &Mail) -> Option<Result<(), DeliveryFailure>> {
        Some(self.mail.as_ref()?.send(id, mail).await)
    }

    /// Sends an SMS at once, beside the outbox; `None` where none can be sent.
    pub async fn send_sms(&self, id: &str, sms: &Sms) -> Option<Result<(), DeliveryFailure>> {
        Some(self.sms.as_ref()?.send(id, sms).await)
    }
}
