//! The whole server: system, public listener, operator's listener; started, told, drained.

mod plan;
mod sockets;

pub use plan::{Flows, Issuer, MtlsPlan, OperatorAddress, Plan, RuntimeOptions};
pub use sockets::beside_issuer;

use crate::{
    actors::{Courier, Couriers, HydrateError, StartError, hydrate},
    backchannel::{LogoutCourier, LogoutDependencies, PingCourier, PingMeans},
    crypto::{ClientAuthorities, PairwiseSubjects, SystemDice, passkeys::Passkeys},
    domain::{
        Context, Timestamp,
        backchannel_request::CIBA_PING,
        installation::{Command, INSTALLATION_ID, Installation},
        logout::BACKCHANNEL_LOGOUT,
        webhook::WEBHOOK,
    },
    geo::GeoDatabase,
    http::{
        AlertOptions, App, AppOptions, Channels, alert_digests,
        operator::{LeavingFlag, Operator},
        router, scim,
    },
    messages::Messages,
    store::CommitError,
    system::{System, SystemError, SystemFailure, SystemOptions},
    transport::{
        AddressRules, ConnectionLimits, DrainLimits, DrainOutcome, Listener, Server, ServerOptions,
        TlsIdentity, raise_limit,
    },
    webhooks::{self, WebhookCourier},
};
use sockets::Sockets;
use std::{io, net::SocketAddr, sync::Arc, time::Duration};

/// How long everything below HTTP may take to end.
const STOP_TIMEOUT: Duration = Duration::from_secs(10);

/// How many connections operators may have: few, so that there is always one for them.
const OPERATORS: usize = 64;

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
    #[error("the state of the installation cannot be read")]
    Installation(#[source] HydrateError),
}

/// A server that runs.
pub struct RunningServer {
    pub issuer: String,
    pub address: SocketAddr,
    /// Where clients are asked for certificates.
    pub mtls: Option<SocketAddr>,
    pub operator: Option<SocketAddr>,
    system: Arc<System>,
    public: Server,
    private: Option<Server>,
    leaving: LeavingFlag,
    files: ReloadedFiles,
    drain: DrainLimits,
}

impl RunningServer {
    /// Starts the system, then binds: nothing listens before everything behind it stands. Where it
    /// refuses, nothing of what was started is left.
    pub async fn start(plan: Plan) -> Result<Self, ServerError> {
        let mut started = None;
        // Boxed: everything that is started is built in it.
        let running = Box::pin(Self::start_noting(plan, &mut started)).await;
        if let (Err(_), Some(system)) = (&running, started) {
            system.stop(STOP_TIMEOUT).await;
        }
        running
    }

    /// Does it, and notes the system as soon as there is one.
    async fn start_noting(
        plan: Plan,
        started: &mut Option<Arc<System>>,
    ) -> Result<Self, ServerError> {
        let run = plan.runtime_options;
        let (mut tree, flows, messages) = (run.tree, run.flows, run.messages);
        let (outbound, attestation) = (run.outbound, run.attestation);
        let (connections, drain) = (run.connections, run.drain);
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
            clock: run.clock,
            dice: Arc::new(SystemDice),
            tree,
            hashing: run.hashing,
            couriers: couriers(&messages, &logouts, &hooks, &pings),
            txt_resolver: run.txt_resolver,
            fault_injection: run.fault_injection,
        });
        let system = Arc::new(system.await?);
        *started = Some(system.clone());
        let sockets = Sockets::bind(&plan.listen, plan.mtls.as_ref(), plan.operator).await?;
        let address = sockets.address(plan.listen[0])?;
        let (mtls, operator) = (sockets.asking_address(), sockets.operator_address());
        let issuer = plan.issuer.at(address.port());
        let mutual_tls = plan.mtls.map(|plan| sockets::mutual_tls(plan, &issuer, mtls));
        let authorities = mutual_tls.as_ref().and_then(|mutual_tls| mutual_tls.authorities.clone());
        messages.speak_for(&issuer);
        logouts.start(means_of_logout(&system, &issuer));
        pings.start(PingMeans { clients: system.view(), vault: system.vault() });
        hooks.start(means_of_webhooks(&system).await?);
        let installation = hydrate::<Installation>(system.store(), INSTALLATION_ID).await;
        let installation = installation.map_err(ServerError::Installation)?;
        if installation.version == 0 {
            begin_installation(&system).await;
        }
        let addresses = Arc::new(AddressRules::new(&issuer, plan.proxies));
        let channels = channels(&messages, &issuer);
        let (steps, flow_rules) = flows.served_by(channels, attestation.is_some());
        let options = AppOptions {
            issuer: issuer.clone(),
            lifetimes: plan.lifetimes,
            alerts: AlertOptions { enabled: run.alerts, geo: run.geo.clone() },
            hosts: plan.hosts,
            key_set_age: tree.keys.published_for,
            limits: run.limits,
            addresses: addresses.clone(),
            screens: plan.screens,
            links: plan.links,
            security_txt: plan.security_txt,
            dpop_nonce: plan.dpop_nonce,
            mutual_tls,
            registration: plan.registration,
            statement_issuers: run.statement_issuers,
            sign_up: plan.sign_up,
            flow_rules,
            rates: plan.rates,
            quiet_hours: plan.quiet_hours,
            passwords: run.passwords,
            client_documents: run.client_documents,
            upstreams: run.upstreams,
            claims_hook: run.claims_hook,
            attestation,
            channels,
            locale: plan.locale,
            mailbox: messages.mailbox(),
            at_start: installation.machine,
        };
        let extras = options.extras();
        // Boxed: everything that requests are served with is built in it.
        let app = Box::pin(App::new(&system, options, Arc::new(router::vitals(extras)))).await?;
        let inviting = scim::inviting(app.clone(), tree.inviter_every);
        Box::pin(system.start_repeated(inviting)).await?;
        let digests = alert_digests::sending(app.clone(), tree.inviter_every);
        Box::pin(system.start_repeated(digests)).await?;
        let (files, dice) =
            (ReloadedFiles { tls: plan.tls, authorities, geo: run.geo }, system.dice());
        let serve = |listeners, limits| {
            let (addresses, dice) = (addresses.clone(), dice.clone());
            Server::start(ServerOptions { listeners, limits, addresses, dice })
        };
        let (listeners, private) = sockets.listeners((&app, &steps), files.tls.as_ref());
        let public = serve(listeners, connections.clone());
        let leaving = LeavingFlag::default();
        let operators = Operator {
            system: system.clone(),
            vitals: app.vitals(),
            meter: public.meter(),
            leaving: leaving.clone(),
            hosts: sockets::hosts_of_operators(operator),
        };
        let few = ConnectionLimits { max_connections: OPERATORS, ..connections };
        let listener = |socket| Listener { socket, tls: None, router: operators.router() };
        let private = private.map(|socket| serve(vec![listener(socket)], few));
        Ok(Self { issuer, address, mtls, operator, system, public, private, leaving, files, drain })
    }

    /// What stands behind the listeners.
    pub fn system(&self) -> &System {
        &self.system
    }

    /// Waits until the process must end, and says why.
    pub async fn given_up(&self) -> SystemFailure {
        self.system.given_up().await
    }

    /// Reads keys, certificates and the database of places again; what cannot be read changes nothing.
    pub fn reload(&self) {
        self.system.reload_keys();
        self.files.reload(self.system.clock().now());
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
        if let DrainOutcome::CutOff(connections) = drained {
            tracing::warn!(connections, "timeout ran out: connections were cut off");
        }
        orderly && drained == DrainOutcome::InOrder
    }
}

/// Writes the row of the installation, which commits require to be unchanged instead of reading it before. Without it, it is
/// read before.
async fn begin_installation(system: &System) {
    let mut commit = system.multi_commit(&Context::node());
    let decided = commit.decide::<Installation>(INSTALLATION_ID, &Command::Begin).await;
    if let Err(error) = decided {
        tracing::warn!(%error, "the installation cannot be read");
        return;
    }
    match commit.commit().await {
        // Or another node was first.
        Ok(()) | Err(CommitError::Conflict | CommitError::Taken { .. }) => {}
        Err(error) => tracing::warn!(%error, "the installation has no row yet"),
    }
}

/// What TLS and the places of addresses go by, read from files.
struct ReloadedFiles {
    tls: Option<Arc<TlsIdentity>>,
    /// Whose certificates name clients.
    authorities: Option<Arc<ClientAuthorities>>,
    geo: Arc<GeoDatabase>,
}

impl ReloadedFiles {
    /// Reads all of it again; what cannot be read changes nothing.
    fn reload(&self, now: Timestamp) {
        self.geo.reload(now);
        match self.tls.as_ref().map(|identity| identity.reload()) {
            None => {}
            Some(Ok(())) => tracing::info!("the certificate was read again"),
            Some(Err(fault)) => tracing::error!(%fault, "the former certificate stays in use"),
        }
        match self.authorities.as_ref().map(|authorities| authorities.reload()) {
            None => {}
            Some(Ok(())) => tracing::info!("the authorities of clients were read again"),
            Some(Err(fault)) => tracing::error!(%fault, "the former authorities stay in use"),
        }
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

fn means_of_logout(system: &System, issuer: &str) -> LogoutDependencies {
    let (keys, clients, clock) = (system.keys(), system.view(), system.clock());
    let pairwise = PairwiseSubjects::new(system.vault());
    LogoutDependencies { issuer: issuer.to_owned(), keys, clients, clock, pairwise }
}

async fn means_of_webhooks(system: &System) -> Result<webhooks::WebhookDependencies, StartError> {
    Ok(webhooks::WebhookDependencies {
        webhooks: system.host().await?,
        views: system.view(),
        organizations: system.view(),
        vault: system.vault(),
        clock: system.clock(),
    })
}

/// By what people can be written to, and whether they can use passkeys.
fn channels(messages: &Messages, issuer: &str) -> Channels {
    Channels {
        mail: messages.has_mail(),
        sms: messages.has_sms(),
        passkeys: Passkeys::new(issuer, []).is_some(),
    }
}
