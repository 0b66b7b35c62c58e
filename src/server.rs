//! The whole server: system, public listener, operator's listener; started, told, drained.

use crate::{
    actors::{Courier, Couriers, ReadFolder, StartError, TreeOptions, hashing::HashingOptions},
    backchannel::{LogoutCourier, Means, PingCourier, PingMeans},
    claims_hook::ClaimsHook,
    client_documents::Fetcher,
    clock::SystemClock,
    crypto::{
        PairwiseSubjects, StatementIssuers, SystemDice,
        passkeys::{AttestationPolicy, Passkeys},
    },
    domain::{
        Clock, Locale, QuietHours,
        backchannel_request::CIBA_PING,
        flow::{Goal, Rules},
        logout::BACKCHANNEL_LOGOUT,
        webhook::WEBHOOK,
    },
    http::{
        App, AppOptions, Channels, Hosts, Lifetimes, Limits, Links, PasswordOptions, SignUp,
        flows::steps::Steps,
        limits::pace::Rates,
        operator::{Leaving, Operator},
        router::{self, Extras},
    },
    messages::Messages,
    outbound::{Outbound, Policy, SystemResolver},
    store::{FaultInjection, NothingFails},
    system::{GivenUp, System, SystemError, SystemOptions},
    transport::{
        AddressRules, ConnectionLimits, DrainLimits, Drained, Server, ServerOptions, TlsIdentity,
        raise_limit,
    },
    webhooks::{self, WebhookCourier},
};
use ipnet::IpNet;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};
use tokio::net::TcpListener;

/// How long everything below HTTP may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How many connections operators may have: few, so that there is always one for them.
const OPERATORS: usize = 64;

/// What a server is built from; every check has passed.
pub struct Plan {
    pub issuer: Issuer,
    pub store: String,
    pub read_folder: ReadFolder,
    /// The first must be had; the others are the same by other names.
    pub listen: Vec<SocketAddr>,
    pub tls: Option<Arc<TlsIdentity>>,
    pub operator: OperatorAddress,
    pub lifetimes: Lifetimes,
    /// Whether people get pages of ours.
    pub screens: bool,
    /// Where people are sent.
    pub links: Links,
    /// The language of people who have not said theirs.
    pub locale: Locale,
    pub hosts: Hosts,
    /// Networks of proxies, behind which many callers share an address.
    pub proxies: Vec<IpNet>,
    /// Whether clients may register themselves.
    pub registration: bool,
    /// Whether people may make accounts for themselves, and how.
    pub sign_up: SignUp,
    /// The pace of addresses; without one neither they nor identifiers have one.
    pub rates: Option<Rates>,
    /// When people are not written to about approvals.
    pub quiet_hours: Option<QuietHours>,
    pub runtime_options: RuntimeOptions,
}

/// How the server goes about things; the defaults are for production.
pub struct RuntimeOptions {
    pub clock: Arc<dyn Clock>,
    pub tree: TreeOptions,
    pub hashing: HashingOptions,
    pub limits: Limits,
    pub connections: ConnectionLimits,
    pub drain: DrainLimits,
    pub flows: Flows,
    pub passwords: PasswordOptions,
    /// What fetches the documents of clients.
    pub client_documents: Fetcher,
    /// The operator's own server that adds claims, if there is one.
    pub claims_hook: Option<ClaimsHook>,
    /// Whose attestation of a passkey counts; without it none is asked for.
    pub attestation: Option<AttestationPolicy>,
    /// What carries mails and SMS.
    pub messages: Messages,
    /// Whose software statements count.
    pub statement_issuers: Option<Arc<StatementIssuers>>,
    /// What calls servers whose URLs clients have registered.
    pub outbound: Arc<Outbound>,
    pub fault_injection: Arc<dyn FaultInjection>,
}

/// What flows are made of.
#[derive(Default)]
pub struct Flows {
    pub steps: Steps,
    /// Kinds beside those of the product.
    pub goals: Vec<&'static dyn Goal>,
}

impl Flows {
    /// What is served of it, and the rules of every flow.
    fn served_by(self, channels: Channels, attesting: bool) -> (Steps, Arc<Rules>) {
        let steps = self.steps.served_by(channels);
        let rules = steps.rules().attesting(attesting);
        (steps, Arc::new(self.goals.into_iter().fold(rules, Rules::with_goal)))
    }
}

impl Default for RuntimeOptions {
    fn default() -> Self {
        Self {
            clock: Arc::new(SystemClock),
            tree: TreeOptions::default(),
            hashing: HashingOptions::default(),
            limits: Limits::default(),
            connections: ConnectionLimits::default(),
            drain: DrainLimits::default(),
            flows: Flows::default(),
            passwords: PasswordOptions::default(),
            client_documents: Fetcher::default(),
            claims_hook: None,
            attestation: None,
            messages: Messages::default(),
            statement_issuers: None,
            outbound: Arc::new(
                Outbound::new(Policy::default(), Arc::new(SystemResolver))
                    .expect("only additional authorities can be unusable"),
            ),
            fault_injection: Arc::new(NothingFails),
        }
    }
}

/// What the server calls itself.
pub enum Issuer {
    Named(String),
    /// `http://localhost` with the port that was bound.
    Localhost,
}

impl Issuer {
    /// Its name, of a server on this port.
    fn at(self, port: u16) -> String {
        match self {
            Self::Named(issuer) => issuer,
            Self::Localhost => format!("http://localhost:{port}"),
        }
    }
}

/// Where operators find it.
pub enum OperatorAddress {
    /// There, or the server does not start.
    At(SocketAddr),
    /// There if it is free: the operator did not ask for it.
    Perhaps(SocketAddr),
}

/// Why a server did not start.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    #[error("cannot listen on {address}")]
    Listen {
        address: SocketAddr,
        #[source]
        source: io::Error,
    },
    #[error(transparent)]
    System(#[from] SystemError),
    #[error("the endpoints cannot be opened")]
    Endpoints(#[from] StartError),
}

/// A server that runs.
pub struct Running {
    pub issuer: String,
    pub address: SocketAddr,
    pub operator: Option<SocketAddr>,
    system: Arc<System>,
    public: Server,
    private: Option<Server>,
    leaving: Leaving,
    tls: Option<Arc<TlsIdentity>>,
    drain: DrainLimits,
}

impl Running {
    /// Starts the system, then binds: nothing listens before everything behind it stands.
    pub async fn start(plan: Plan) -> Result<Self, ServerError> {
        let RuntimeOptions {
            clock,
            mut tree,
            hashing,
            limits,
            connections,
            drain,
            flows,
            passwords,
            client_documents,
            claims_hook,
            attestation,
            messages,
            statement_issuers,
            outbound,
            fault_injection,
        } = plan.runtime_options;
        raise_limit();
        if let Issuer::Named(issuer) = &plan.issuer {
            messages.speak_for(issuer);
        }
        tree.keys.longest_token = plan.lifetimes.longest_signed();
        let logouts = Arc::new(LogoutCourier::new(outbound.clone()));
        let pings = Arc::new(PingCourier::new(outbound.clone()));
        let hooks = Arc::new(WebhookCourier::new(outbound));
        let system = System::start(SystemOptions {
            store: plan.store,
            read_folder: plan.read_folder,
            clock,
            dice: Arc::new(SystemDice),
            tree,
            hashing,
            couriers: couriers(&messages, &logouts, &hooks, &pings),
            fault_injection,
        });
        let system = Arc::new(system.await?);
        let listeners = listen(&plan.listen).await?;
        let bound = |source| ServerError::Listen { address: plan.listen[0], source };
        let address = listeners[0].local_addr().map_err(bound)?;
        let issuer = plan.issuer.at(address.port());
        messages.speak_for(&issuer);
        logouts.start(means_of_logout(&system, &issuer));
        pings.start(PingMeans { clients: system.view(), vault: system.vault() });
        hooks.start(means_of_webhooks(&system).await?);
        let addresses = Arc::new(AddressRules::new(&issuer, plan.proxies));
        let channels = channels(&messages, &issuer);
        let (steps, flow_rules) = flows.served_by(channels, attestation.is_some());
        let options = AppOptions {
            issuer: issuer.clone(),
            lifetimes: plan.lifetimes,
            hosts: plan.hosts,
            key_set_age: tree.keys.published_for,
            limits,
            addresses: addresses.clone(),
            screens: plan.screens,
            links: plan.links,
            registration: plan.registration,
            statement_issuers,
            sign_up: plan.sign_up,
            flow_rules,
            rates: plan.rates,
            quiet_hours: plan.quiet_hours,
            passwords,
            client_documents,
            claims_hook,
            attestation,
            channels,
            locale: plan.locale,
            mailbox: messages.mailbox(),
        };
        let extras = Extras { screens: options.screens, mailbox: options.mailbox.is_some() };
        // Boxed: everything that requests are served with is built in it.
        let app = Box::pin(App::new(&system, options, Arc::new(router::vitals(extras)))).await?;
        let (tls, dice) = (plan.tls, system.dice());
        let serve = |listeners, tls, router, limits| {
            let (addresses, dice) = (addresses.clone(), dice.clone());
            Server::start(ServerOptions { listeners, tls, router, limits, addresses, dice })
        };
        let public =
            serve(listeners, tls.clone(), router::public(&app, &steps), connections.clone());
        let leaving = Leaving::default();
        let private = operators_listener(plan.operator).await?;
        let operator_address = private.as_ref().and_then(|listener| listener.local_addr().ok());
        let operator = Operator {
            system: system.clone(),
            vitals: app.vitals(),
            meter: public.meter(),
            leaving: leaving.clone(),
            hosts: hosts_of_operators(operator_address),
        };
        let few = ConnectionLimits { max_connections: OPERATORS, ..connections };
        let private = private.map(|listener| serve(vec![listener], None, operator.router(), few));
        let operator = operator_address;
        Ok(Self { issuer, address, operator, system, public, private, leaving, tls, drain })
    }

    /// What stands behind the listeners.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Waits until the process must end, and says why.
    pub async fn given_up(&self) -> GivenUp {
        self.system.given_up().await
    }

    /// Reads keys and certificates again; what cannot be read changes nothing.
    pub fn reload(&self) {
        self.system.reload_keys();
        match self.tls.as_ref().map(|identity| identity.reload()) {
            None => {}
            Some(Ok(())) => tracing::info!("the certificate was read again"),
            Some(Err(fault)) => tracing::error!(%fault, "the former certificate stays in use"),
        }
    }

    /// Accepts no more connections, finishes what is under way, and takes everything down.
    ///
    /// Returns false where something had to be cut off.
    pub async fn stop(self) -> bool {
        self.leaving.begin();
        let drained = self.public.drain(self.drain).await;
        // Operators may look until the end.
        drop(self.private);
        let orderly = self.system.stop(STOP_TIMEOUT).await;
        if let Drained::CutOff(connections) = drained {
            tracing::warn!(connections, "timeout ran out: connections were cut off");
        }
        orderly && drained == Drained::InOrder
    }
}

/// Everything that carries messages from the outbox.
fn couriers(
    messages: &Messages,
    logouts: &Arc<LogoutCourier>,
    hooks: &Arc<WebhookCourier>,
    pings: &Arc<PingCourier>,
) -> Couriers {
    let mut couriers = messages.couriers();
    couriers.insert(WEBHOOK, hooks.clone() as Arc<dyn Courier>);
    couriers.insert(BACKCHANNEL_LOGOUT, logouts.clone() as Arc<dyn Courier>);
    couriers.insert(CIBA_PING, pings.clone() as Arc<dyn Courier>);
    couriers
}

fn means_of_logout(system: &System, issuer: &str) -> Means {
    let (keys, clients, clock) = (system.keys(), system.view(), system.clock());
    let pairwise = PairwiseSubjects::new(system.vault());
    Means { issuer: issuer.to_owned(), keys, clients, clock, pairwise }
}

async fn means_of_webhooks(system: &System) -> Result<webhooks::Means, StartError> {
    Ok(webhooks::Means {
        webhooks: system.host().await?,
        views: system.view(),
        organizations: system.view(),
        vault: system.vault(),
        clock: system.clock(),
    })
}

async fn listen(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, ServerError> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    for address in addresses {
        let mut address = *address;
        // By another name it must be the same port.
        if let Some(Ok(first)) = listeners.first().map(TcpListener::local_addr) {
            address.set_port(first.port());
        }
        match TcpListener::bind(address).await {
            Ok(listener) => listeners.push(listener),
            Err(source) if listeners.is_empty() => {
                return Err(ServerError::Listen { address, source });
            }
            Err(error) => tracing::debug!(%address, %error, "not listening there as well"),
        }
    }
    Ok(listeners)
}

/// By what people can be written to, and whether they can use passkeys.
fn channels(messages: &Messages, issuer: &str) -> Channels {
    Channels {
        mail: messages.has_mail(),
        sms: messages.has_sms(),
        passkeys: Passkeys::new(issuer, []).is_some(),
    }
}

/// On loopback no name but loopback's leads there by right.
fn hosts_of_operators(address: Option<SocketAddr>) -> Hosts {
    let near = address.is_some_and(|address| address.ip().is_loopback());
    if near { Hosts::Loopback } else { Hosts::Any }
}

async fn operators_listener(wanted: OperatorAddress) -> Result<Option<TcpListener>, ServerError> {
    let (OperatorAddress::At(address) | OperatorAddress::Perhaps(address)) = wanted;
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(source) if matches!(wanted, OperatorAddress::At(_)) => {
            Err(ServerError::Listen { address, source })
        }
        Err(error) => {
            let what = "no metrics: the usual address is taken, set operator.listen";
            tracing::warn!(%address, %error, "{what}");
            Ok(None)
        }
    }
}
