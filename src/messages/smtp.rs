//! A mail server, over connections that are kept and bounded.
//!
//! lettre speaks the protocol; the connections are ours. Its own pool gives a connection back whose
//! sender was cut off in the middle, and the answer to that mail would then be taken for the answer to
//! the next one. Here a connection is kept only after its last command was answered.

use super::undelivered::{Stage, causes, undelivered};
use crate::{
    actors::DeliveryFailure,
    clock::Stopwatch,
    config::{Credentials, Smtp},
    domain::DeliveryClass,
    outbound::Resolver,
};
use lettre::{
    Address,
    transport::smtp::{
        Error,
        authentication::{self, DEFAULT_MECHANISMS},
        client::{AsyncSmtpConnection, Certificate, CertificateStore, TlsParameters},
        commands::{Data, Mail, Rcpt, Rset},
        extension::{ClientId, Extension, MailParameter},
    },
};
use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
    time::Duration,
};
use tokio::{sync::Semaphore, time::timeout};

/// How many connections are open at once; mail services count those of one sender. Codes have connections that no other mail
/// takes, and the others a few of their own.
const CONNECTIONS_FOR_CODES: usize = 8;
const CONNECTIONS_FOR_OTHERS: usize = 4;

/// How long one mail may take, waiting for a connection included; less than the outbox allows.
const SEND_TIMEOUT: Duration = Duration::from_secs(20);

/// How long a new connection may take until mail can be sent over it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// How long one address of the server may take to accept a connection.
const ACCEPT_TIMEOUT: Duration = Duration::from_secs(4);

/// How long a connection is kept without a mail; servers close theirs after some minutes.
const IDLE: Duration = Duration::from_secs(30);

/// How many mails go over one connection: a server behind a balancer should not have them all.
const MOST_MAILS: u32 = 100;

/// Sends mails through one server.
pub(super) struct SmtpSender {
    server: Smtp,
    resolver: Arc<dyn Resolver>,
    tls: TlsParameters,
    hello: ClientId,
    for_codes: Semaphore,
    for_others: Semaphore,
    idle: Mutex<Vec<IdleConnection>>,
    /// Whether the last new connection came to nothing.
    is_away: AtomicBool,
    /// For the one mail that tries whether the server is back.
    probe: Semaphore,
}

/// A connection that waits for the next mail.
struct IdleConnection {
    connection: AsyncSmtpConnection,
    since: Stopwatch,
    mails: u32,
}

/// A mail as the server takes it.
pub(super) struct Envelope<'a> {
    pub(super) from: &'a Address,
    pub(super) to: &'a Address,
    pub(super) content: &'a [u8],
    pub(super) class: DeliveryClass,
}

/// How a server was reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ConnectionSecurity {
    pub encrypted: bool,
    pub authenticated: bool,
}

/// Why there is no connection.
enum ConnectFault {
    /// The server's name has no address.
    Unresolved(io::Error),
    Refused(Error),
}

impl From<Error> for ConnectFault {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl SmtpSender {
    /// Trusts the public authorities, and those in `extra_ca` (PEM).
    pub(super) fn new(
        server: Smtp,
        extra_ca: Option<&[u8]>,
        resolver: Arc<dyn Resolver>,
    ) -> Result<Self, String> {
        let unusable = |error: Error| format!("mail.transport: {}", causes(&error));
        let tls = TlsParameters::builder(bare(&server.host).to_owned())
            .certificate_store(CertificateStore::WebpkiRoots);
        let tls = match extra_ca {
            Some(pem) => {
                let added = Certificate::from_pem(pem);
                tls.add_root_certificate(added.map_err(|_| "outbound.extra_ca is not PEM")?)
            }
            None => tls,
        };
        let (tls, hello) = (tls.build().map_err(unusable)?, ClientId::default());
        Ok(Self {
            server,
            resolver,
            tls,
            hello,
            for_codes: Semaphore::new(CONNECTIONS_FOR_CODES),
            for_others: Semaphore::new(CONNECTIONS_FOR_OTHERS),
            idle: Mutex::default(),
            is_away: AtomicBool::new(false),
            probe: Semaphore::new(1),
        })
    }

    /// Returns once the server has taken the mail.
    pub(super) async fn send(&self, mail: &Envelope<'_>) -> Result<(), DeliveryFailure> {
        let late = || Err(DeliveryFailure::Later("the mail server took too long".to_owned()));
        // What is cut off here is dropped with its connection.
        timeout(SEND_TIMEOUT, self.send_over_any(mail)).await.unwrap_or_else(|_elapsed| late())
    }

    async fn send_over_any(&self, mail: &Envelope<'_>) -> Result<(), DeliveryFailure> {
        let permits = match mail.class {
            DeliveryClass::Code => &self.for_codes,
            DeliveryClass::Request | DeliveryClass::Notice | DeliveryClass::Endpoint => {
                &self.for_others
            }
        };
        let _permit = permits.acquire().await;
        while let Some(mut kept) = self.take() {
            match transact(&mut kept.connection, mail).await {
                // The server has closed it meanwhile; nothing of this mail was taken.
                Err((Stage::Sender, error)) if !is_answer(&error) => {}
                outcome => return self.finish(kept, outcome).await,
            }
        }
        let connection = self.connect_unless_away().await?;
        let mut kept = IdleConnection { connection, since: Stopwatch::start(), mails: 0 };
        let outcome = transact(&mut kept.connection, mail).await;
        self.finish(kept, outcome).await
    }

    fn take(&self) -> Option<IdleConnection> {
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.retain(|kept| kept.since.elapsed() < IDLE);
        idle.pop()
    }

    /// Keeps the connection where the server has answered and may be asked again.
    async fn finish(
        &self,
        mut kept: IdleConnection,
        outcome: Result<(), (Stage, Error)>,
    ) -> Result<(), DeliveryFailure> {
        kept.mails += 1;
        let usable = match &outcome {
            Ok(()) => true,
            // The transaction that was refused must be given up before another one begins.
            Err((_, error)) => is_answer(error) && kept.connection.command(Rset).await.is_ok(),
        };
        if usable && kept.mails < MOST_MAILS {
            kept.since = Stopwatch::start();
            self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(kept);
        }
        outcome.map_err(|(stage, error)| undelivered(stage, &error))
    }

    /// Connects. While the server is away one mail at a time finds out whether it is back; the others
    /// fail at once, so that they take no delivery's place in the outbox for long.
    async fn connect_unless_away(&self) -> Result<AsyncSmtpConnection, DeliveryFailure> {
        let away = |why: &str| DeliveryFailure::TopicRests(format!("the mail server {why}"));
        let _probe = if self.is_away.load(Relaxed) {
            Some(self.probe.try_acquire().map_err(|_| away("is away"))?)
        } else {
            None
        };
        let connected = match timeout(CONNECT_TIMEOUT, self.connect()).await {
            Ok(connected) => connected.map_err(|fault| match fault {
                ConnectFault::Unresolved(error) => away(&format!("has no address: {error}")),
                ConnectFault::Refused(error) => undelivered(Stage::Connection, &error),
            }),
            Err(_elapsed) => Err(away("did not answer in time")),
        };
        self.is_away.store(connected.is_err(), Relaxed);
        connected
    }

    async fn connect(&self) -> Result<AsyncSmtpConnection, ConnectFault> {
        let Smtp { implicit_tls, credentials, .. } = &self.server;
        let at_once = implicit_tls.then(|| self.tls.clone());
        let addresses = self.addresses().await.map_err(ConnectFault::Unresolved)?;
        let mut connection = AsyncSmtpConnection::connect_tokio1(
            addresses.as_slice(),
            Some(ACCEPT_TIMEOUT),
            &self.hello,
            at_once,
            None,
        )
        .await?;
        // A password is never sent in clear: without STARTTLS this fails.
        if !implicit_tls && (connection.can_starttls() || credentials.is_some()) {
            connection.starttls(self.tls.clone(), &self.hello).await?;
        }
        if let Some(Credentials { user, password }) = credentials {
            let password = String::from_utf8_lossy(password.expose()).into_owned();
            let credentials = authentication::Credentials::new(user.clone(), password);
            connection.auth(DEFAULT_MECHANISMS, &credentials).await?;
        }
        Ok(connection)
    }

    async fn addresses(&self) -> io::Result<Vec<SocketAddr>> {
        let Smtp { host, port, .. } = &self.server;
        let found = match bare(host).parse::<IpAddr>() {
            Ok(address) => vec![address],
            Err(_) => self.resolver.addresses_of(host).await?,
        };
        Ok(found.into_iter().map(|address| SocketAddr::from((address, *port))).collect())
    }

    /// Connects and authenticates as for a mail, and sends none.
    pub(super) async fn reach(&self) -> Result<ConnectionSecurity, String> {
        let reached = timeout(CONNECT_TIMEOUT, self.connect()).await;
        let reached = reached.map_err(|_elapsed| "no answer in time".to_owned())?;
        let mut connection = reached.map_err(|fault| match fault {
            ConnectFault::Unresolved(error) => causes(&error),
            ConnectFault::Refused(error) => causes(&error),
        })?;
        let encrypted = self.server.implicit_tls || connection.is_encrypted();
        let _ = timeout(ACCEPT_TIMEOUT, connection.quit()).await;
        Ok(ConnectionSecurity { encrypted, authenticated: self.server.credentials.is_some() })
    }
}

/// Hands one mail over.
async fn transact(
    connection: &mut AsyncSmtpConnection,
    mail: &Envelope<'_>,
) -> Result<(), (Stage, Error)> {
    let at = |stage| move |error| (stage, error);
    let mut parameters = Vec::new();
    // RFC 6531 §3.2; a server without it refuses such a recipient, and that is then its answer.
    let takes_utf8 = connection.server_info().supports_feature(Extension::SmtpUtfEight);
    if takes_utf8 && !AsRef::<str>::as_ref(mail.to).is_ascii() {
        parameters.push(MailParameter::SmtpUtfEight);
    }
    let sender = Mail::new(Some(mail.from.clone()), parameters);
    connection.command(sender).await.map_err(at(Stage::Sender))?;
    let recipient = Rcpt::new(mail.to.clone(), Vec::new());
    connection.command(recipient).await.map_err(at(Stage::Recipient))?;
    connection.command(Data).await.map_err(at(Stage::Content))?;
    connection.message(mail.content).await.map_err(at(Stage::Content))?;
    Ok(())
}

/// Whether the server said no, and the connection still stands.
fn is_answer(error: &Error) -> bool {
    // RFC 5321 §3.8: the server closes the connection after 421.
    error.status().is_some_and(|code| u16::from(code) != 421)
}

/// An IPv6 address without the brackets of a URL.
fn bare(host: &str) -> &str {
    host.trim_start_matches('[').trim_end_matches(']')
}

#[cfg(test)]
mod tests;
