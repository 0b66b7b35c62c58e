//! How the provider of a test is started.

use crate::nodes::leave_out;
use ipnet::IpNet;
use porteiro::{
    actors::{JanitorOptions, TreeOptions},
    claims_hook::ClaimsHook,
    client_documents::Fetcher,
    crypto::{StatementIssuers, passkeys::AttestationPolicy},
    geo::GeoDatabase,
    http::{
        Hosts, Lifetimes, Limits, Links, PasswordOptions, SecurityTxt, SignUp, limits::pace::Rates,
    },
    outbound::{DnsResolver, Resolver, TxtResolver},
    server::{Flows, Issuer, MtlsPlan},
    store::FaultInjection,
    transport::{ConnectionLimits, DrainLimits, TlsIdentity},
};
use std::{net::SocketAddr, sync::Arc, time::Duration};

/// The contract's.
pub const LIFETIMES: Lifetimes = Lifetimes {
    authorization_code: Duration::from_mins(1),
    access_token: Duration::from_mins(5),
    id_token: Duration::from_mins(5),
    refresh_idle: Duration::from_hours(14 * 24),
    refresh_ceiling: Duration::from_hours(30 * 24),
    session_idle: Duration::from_hours(7 * 24),
    session_ceiling: Duration::from_hours(30 * 24),
    par: Duration::from_mins(1),
    device_code: Duration::from_mins(10),
    ciba: Duration::from_mins(5),
    flow: Duration::from_mins(15),
    remember_device: None,
    one_time_code: Duration::from_mins(10),
    magic_link: Duration::from_mins(15),
};

/// What a test may want to be otherwise.
#[expect(clippy::struct_excessive_bools, reason = "each is a setting of its own")]
pub struct TestOptions {
    pub limits: Limits,
    pub hosts: Hosts,
    pub drain: DrainLimits,
    /// Whether people get pages of ours: as `PORTEIRO_TEST_SCREENS` says, so that the whole suite runs
    /// in both settings.
    pub screens: bool,
    pub links: Links,
    /// Where a weakness is reported.
    pub security_txt: Option<SecurityTxt>,
    pub lifetimes: Lifetimes,
    /// Whether proofs need a nonce.
    pub dpop_nonce: bool,
    /// What is shown where no certificates are asked for; without it there is no TLS.
    pub tls: Option<Arc<TlsIdentity>>,
    /// How clients come with certificates.
    pub mtls: Option<MtlsPlan>,
    pub registration: bool,
    pub sign_up: SignUp,
    pub issuer: Issuer,
    /// Networks of proxies that are trusted.
    pub proxies: Vec<IpNet>,
    pub rates: Option<Rates>,
    pub connections: ConnectionLimits,
    /// How often keys are looked after, which is read and so counted.
    pub keys_every: Duration,
    pub janitor: JanitorOptions,
    /// How often those are looked for who are still to be invited.
    pub inviter_every: Duration,
    pub flows: Flows,
    pub passwords: PasswordOptions,
    /// What fetches the documents of clients.
    pub client_documents: Option<Fetcher>,
    pub attestation: Option<AttestationPolicy>,
    /// What adds claims.
    pub claims_hook: Option<ClaimsHook>,
    /// Whether mails and SMS can be sent, and read at `/mailbox`.
    pub mailbox: bool,
    /// The port of an SMTP server on this machine that takes mails instead.
    pub smtp: Option<u16>,
    /// Whether people are alerted of sign-ins from another device or place.
    pub alerts: bool,
    /// Where addresses are.
    pub geo: Arc<GeoDatabase>,
    /// Whose software statements count.
    pub statement_issuers: Option<Arc<StatementIssuers>>,
    /// Whether clients on this machine may be called.
    pub private_networks: bool,
    /// How long one call of another provider may take.
    pub upstream_limit: Option<Duration>,
    /// Who is asked for the names of what couriers call.
    pub resolver: Arc<dyn Resolver>,
    /// Who is asked for the records of domains.
    pub txt_resolver: Arc<dyn TxtResolver>,
    /// How often verified domains are looked for whose check is due.
    pub domains_every: Duration,
    /// Where operators find it.
    pub operator: SocketAddr,
    pub fault_injection: Option<Arc<dyn FaultInjection>>,
    /// How long an entity may take to answer.
    pub ask_timeout: Duration,
}

impl Default for TestOptions {
    fn default() -> Self {
        let moment = Duration::from_millis(200);
        let drain =
            DrainLimits { lame_duck: moment, idle_grace: moment, timeout: Duration::from_secs(5) };
        let (limits, links) = (Limits::default(), Links::default());
        let keys_every = Duration::from_millis(200);
        Self {
            limits,
            hosts: Hosts::Any,
            drain,
            screens: screens_by_default(),
            links,
            security_txt: None,
            lifetimes: LIFETIMES,
            dpop_nonce: false,
            tls: None,
            mtls: None,
            registration: true,
            sign_up: SignUp { open: true, proof_of_work_bits: 0 },
            issuer: Issuer::Localhost,
            proxies: Vec::new(),
            rates: Some(Rates::default()),
            connections: ConnectionLimits::default(),
            keys_every,
            janitor: TreeOptions::default().janitor,
            inviter_every: TreeOptions::default().inviter_every,
            flows: Flows::default(),
            passwords: PasswordOptions::default(),
            client_documents: None,
            attestation: None,
            claims_hook: None,
            mailbox: false,
            smtp: None,
            alerts: true,
            geo: Arc::new(GeoDatabase::none()),
            statement_issuers: None,
            private_networks: false,
            upstream_limit: None,
            resolver: Arc::new(DnsResolver::of_system()),
            txt_resolver: Arc::new(DnsResolver::of_system()),
            domains_every: TreeOptions::default().domains_every,
            operator: loopback(),
            fault_injection: None,
            ask_timeout: TreeOptions::default().timeout,
        }
    }
}

impl TestOptions {
    /// The same for another node of the installation, where all of it can be had twice.
    pub fn for_another_node(&self) -> Self {
        if self.tls.is_some() || self.mtls.is_some() {
            leave_out("the node ends TLS by itself");
        }
        if self.claims_hook.is_some() || self.attestation.is_some() {
            leave_out("the node has a claims hook or an attestation policy of its own");
        }
        if !self.flows.goals.is_empty() || self.operator != loopback() {
            leave_out("the node has flows or an operator's address of its own");
        }
        if self.client_documents.is_some() {
            leave_out("the node fetches what a server of the test serves, and keeps it");
        }
        if self.fault_injection.is_some() {
            leave_out("faults are planted in the node");
        }
        let issuer = match &self.issuer {
            Issuer::Named(name) => Issuer::Named(name.clone()),
            Issuer::Localhost => Issuer::Localhost,
        };
        Self {
            limits: self.limits,
            hosts: self.hosts,
            drain: self.drain.clone(),
            screens: self.screens,
            links: self.links.clone(),
            security_txt: self.security_txt.clone(),
            lifetimes: self.lifetimes,
            dpop_nonce: self.dpop_nonce,
            registration: self.registration,
            sign_up: self.sign_up,
            issuer,
            proxies: self.proxies.clone(),
            rates: self.rates,
            connections: self.connections.clone(),
            keys_every: self.keys_every,
            janitor: self.janitor,
            inviter_every: self.inviter_every,
            mailbox: self.mailbox,
            smtp: self.smtp,
            alerts: self.alerts,
            geo: self.geo.clone(),
            statement_issuers: self.statement_issuers.clone(),
            private_networks: self.private_networks,
            upstream_limit: self.upstream_limit,
            resolver: self.resolver.clone(),
            txt_resolver: self.txt_resolver.clone(),
            domains_every: self.domains_every,
            ask_timeout: self.ask_timeout,
            ..Self::default()
        }
    }
}

/// Tells whether the suite runs with pages of ours: `PORTEIRO_TEST_SCREENS=on`.
pub fn screens_by_default() -> bool {
    std::env::var("PORTEIRO_TEST_SCREENS").is_ok_and(|value| value == "on")
}

pub fn loopback() -> SocketAddr {
    "127.0.0.1:0".parse().unwrap()
}
