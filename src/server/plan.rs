//! What a server is built from.

use crate::{
    actors::{ReadFolder, TreeOptions, hashing::HashingOptions},
    claims_hook::ClaimsHook,
    client_documents::Fetcher,
    clock::SystemClock,
    crypto::{ClientAuthorities, StatementIssuers, passkeys::AttestationPolicy},
    domain::{
        Clock, Locale, QuietHours,
        flow::{Goal, Rules},
    },
    geo::GeoDatabase,
    http::{
        Channels, Hosts, Lifetimes, Limits, Links, PasswordOptions, SecurityTxt, SignUp,
        flows::steps::Steps, limits::pace::Rates,
    },
    messages::Messages,
    outbound::{DnsResolver, OutboundClient, Policy, TxtResolver},
    store::{FaultInjection, NothingFails},
    transport::{ConnectionLimits, DrainLimits, TlsIdentity},
    upstream::Upstreams,
};
use ipnet::IpNet;
use std::{net::SocketAddr, sync::Arc};

/// What a server is built from; every check has passed.
pub struct Plan {
    pub issuer: Issuer,
    pub store: String,
    pub read_folder: ReadFolder,
    /// The first must be had; the others are the same by other names.
    pub listen: Vec<SocketAddr>,
    pub tls: Option<Arc<TlsIdentity>>,
    /// How clients come with certificates, if they can.
    pub mtls: Option<MtlsPlan>,
    pub operator: OperatorAddress,
    pub lifetimes: Lifetimes,
    /// Whether people get pages of ours.
    pub screens: bool,
    /// Where people are sent.
    pub links: Links,
    /// Where a weakness is reported, if anything is said of it.
    pub security_txt: Option<SecurityTxt>,
    /// The language of people who have not said theirs.
    pub locale: Locale,
    pub hosts: Hosts,
    /// Networks of proxies, behind which many callers share an address.
    pub proxies: Vec<IpNet>,
    /// Whether every proof of a client needs a nonce of ours (RFC 9449 §8).
    pub dpop_nonce: bool,
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

/// How clients come with certificates of their own (RFC 8705).
pub struct MtlsPlan {
    /// Where they are asked for them, and what we show there; none where a proxy asks.
    pub listen: Option<(SocketAddr, Arc<TlsIdentity>)>,
    /// Where clients find that; by default the issuer's host at that port.
    pub url: Option<String>,
    /// Whose certificates name clients.
    pub authorities: Option<Arc<ClientAuthorities>>,
    /// Whether a trusted proxy tells of certificates (RFC 9440).
    pub forwarded: bool,
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
    /// Whether people are alerted of sign-ins from another device or place.
    pub alerts: bool,
    /// Where addresses are.
    pub geo: Arc<GeoDatabase>,
    /// Whose software statements count.
    pub statement_issuers: Option<Arc<StatementIssuers>>,
    /// What calls servers whose URLs clients have registered.
    pub outbound: Arc<OutboundClient>,
    /// What speaks to other providers.
    pub upstreams: Upstreams,
    /// Who is asked for the records of domains.
    pub txt_resolver: Arc<dyn TxtResolver>,
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
    pub(super) fn served_by(self, channels: Channels, attesting: bool) -> (Steps, Arc<Rules>) {
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
            alerts: true,
            geo: Arc::new(GeoDatabase::none()),
            statement_issuers: None,
            outbound: Arc::new(
                OutboundClient::new(Policy::default(), Arc::new(DnsResolver::of_system()))
                    .expect("only additional authorities can be unusable"),
            ),
            upstreams: Upstreams::usual(),
            txt_resolver: Arc::new(DnsResolver::of_system()),
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
    pub(super) fn at(self, port: u16) -> String {
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
