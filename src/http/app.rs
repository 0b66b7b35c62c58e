//! What handlers share: the doors of the system below, and what configuration says.
//!
//! | part | holds |
//! |---|---|
//! | `entities` | entities that are asked: their actors decide |
//! | `views` | the same, read as they were a second ago at most |
//! | `limiters` | rate limits and permits |
//! | `settings` | what configuration says |
//! | `crypto` | keys, sealing, hashing, passkeys |
//! | `documents` | what is fetched from clients |

mod crypto;
mod documents;
mod entities;
mod limiters;
mod settings;
mod tokens;
mod views;

use crate::{
    actors::{
        DomainHolders, DomainRecords, EntitySnapshot, HydrateError, MultiCommit, MultiCommits,
        OrganizationExport, ReadSet, StartError,
    },
    claims_hook::ClaimsHook,
    crypto::{
        Dice, PairwiseSubjects, VerifiedTokens,
        passkeys::{AttestationPolicy, Passkeys},
    },
    domain::{
        Clock, Context, Machine as _, access_token,
        client::{self, KEPT_AFTER_PERSON, KnownClient, USE_NOTED_EVERY, Usage, UsedBy},
        installation::{INSTALLATION_ID, Installation, SelfService, SignOuts},
        reserved_names::{NAMES, ReservedNames},
        resource::{self, Resource},
    },
    http::{
        brand_files::BrandFiles,
        cookies::CookieNames,
        limits::{attempts::Attempts, pace::Pace},
        new_password::{NewPasswords, PasswordDependencies},
        options::{AlertOptions, AppOptions, Channels},
        vitals::Vitals,
    },
    messages::Mailbox,
    store::views::FreshReads,
    system::System,
    upstream::Upstreams,
};
use axum::http::HeaderValue;
use bytes::Bytes;
use crypto::Crypto;
use documents::Documents;
use entities::Entities;
use limiters::{LimiterOptions, Limiters};
use settings::Settings;
use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
    time::Duration,
};
use url::Url;
use views::Views;

/// So long a change of several entities may take from its first read to its answer: less than the time that a request
/// has, after which the caller would be told that nothing was spent.
const LONGEST_CHANGE: Duration = Duration::from_secs(10);

/// What handlers share; clones are the same.
#[derive(Clone)]
pub struct App(Arc<Inner>);

pub struct Inner {
    pub(super) issuer: String,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) dice: Arc<dyn Dice>,
    pub(super) entities: Entities,
    pub(super) views: Views,
    /// What must not even be a second old.
    pub(super) store: FreshReads,
    /// What asks DNS for the records of domains.
    pub(super) domain_records: DomainRecords,
    domain_holders: DomainHolders,
    multi_commits: MultiCommits,
    pub(super) limits: Limiters,
    pub(super) settings: Settings,
    pub(super) crypto: Crypto,
    pub(super) documents: Documents,
    pub(super) upstreams: Upstreams,
    pub(super) claims_hook: Option<ClaimsHook>,
    pub(super) brands: BrandFiles,
    pub(super) alerts: AlertOptions,
    /// What tokens for `/api` are for.
    pub(super) own_api: Arc<EntitySnapshot<Resource>>,
    pub(super) mailbox: Option<Arc<Mailbox>>,
    pub(super) vitals: Arc<Vitals>,
    /// The installation as it was found: a store is restored while no server runs.
    pub(super) at_start: Installation,
    pub(super) fixed: FixedContent,
}

/// What is the same in every answer.
pub(super) struct FixedContent {
    /// Without and with registration, each made when it is first asked for.
    pub(super) metadata: [OnceLock<Bytes>; 2],
    /// Likewise.
    pub(super) openapi: OnceLock<Bytes>,
    pub(super) jwks_type: HeaderValue,
    pub(super) jwks_caching: HeaderValue,
}

/// The passkeys of the issuer and of pages that are ours, if its host is a name.
fn passkeys(
    issuer: &str,
    origins: &[HeaderValue],
    attestation: Option<AttestationPolicy>,
) -> Option<Passkeys> {
    let related = origins.iter().filter_map(|origin| origin.to_str().ok());
    Some(Passkeys::new(issuer, related)?.believing(attestation))
}

impl FixedContent {
    fn new(key_set_age: Duration) -> Self {
        let caching = format!("public, max-age={}", key_set_age.as_secs());
        Self {
            metadata: Default::default(),
            openapi: OnceLock::new(),
            jwks_type: HeaderValue::from_static("application/jwk-set+json"),
            jwks_caching: HeaderValue::try_from(caching).expect("a number is a header value"),
        }
    }
}

/// What new passwords are judged and hashed with.
fn means_of_passwords(system: &System, vitals: &Arc<Vitals>) -> PasswordDependencies {
    let (hashing, dice) = (system.hashing().clone(), system.dice());
    PasswordDependencies { hashing, dice, vitals: vitals.clone() }
}

/// Our own API as any other is read; it is no row (adr/0079).
fn own_api(issuer: &str) -> Arc<EntitySnapshot<Resource>> {
    let machine = Resource::Known(resource::Known::own_api(issuer));
    Arc::new(EntitySnapshot { machine, version: 0 })
}

impl Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

impl App {
    /// Opens the doors of a running system.
    pub async fn new(
        system: &System,
        options: AppOptions,
        vitals: Arc<Vitals>,
    ) -> Result<Self, StartError> {
        let (fixed, extras) = (FixedContent::new(options.key_set_age), options.extras());
        let origins: Arc<[HeaderValue]> = options.links.origins();
        let means = means_of_passwords(system, &vitals);
        let configured = LimiterOptions {
            limits: &options.limits,
            rates: options.rates,
            addresses: options.addresses,
        };
        let limits = Limiters::new(system, configured, &vitals).await?;
        let crypto = Crypto {
            hashing: system.hashing().clone(),
            keys: system.keys(),
            new_passwords: NewPasswords::new(&options.issuer, options.passwords, means),
            pairwise: PairwiseSubjects::new(system.vault()),
            passkeys: passkeys(&options.issuer, &origins, options.attestation),
            statement_issuers: options.statement_issuers,
            vault: system.vault(),
            verified_tokens: VerifiedTokens::of_type(access_token::TYPE),
        };
        let alias = options.mutual_tls.as_ref().and_then(|mutual_tls| mutual_tls.url.clone());
        let client_origins = [options.issuer.clone()].into_iter().chain(alias).collect();
        let settings = Settings {
            channels: options.channels,
            client_origins,
            cookies: CookieNames::new(&options.issuer),
            deadline: options.limits.deadline,
            extras,
            flow_rules: options.flow_rules,
            hosts: options.hosts,
            lifetimes: options.lifetimes,
            links: options.links,
            locale: options.locale,
            mutual_tls: options.mutual_tls,
            origins,
            quiet_hours: options.quiet_hours,
            dpop_nonce: options.dpop_nonce,
            registration: options.registration,
            screens: options.screens,
            security_txt: options.security_txt,
            sign_up: options.sign_up,
        };
        Ok(Self(Arc::new(Inner {
            clock: system.clock(),
            dice: system.dice(),
            entities: Entities::host(system).await?,
            views: Views::of(system),
            store: system.fresh_reads(),
            domain_records: system.domain_records(),
            domain_holders: system.domain_holders(),
            multi_commits: system.multi_commits().within(LONGEST_CHANGE),
            limits,
            settings,
            crypto,
            documents: Documents::new(system, options.client_documents),
            upstreams: options.upstreams,
            claims_hook: options.claims_hook,
            brands: BrandFiles::new(system.vault()),
            alerts: options.alerts,
            own_api: own_api(&options.issuer),
            mailbox: options.mailbox,
            vitals,
            at_start: options.at_start,
            fixed,
            issuer: options.issuer,
        })))
    }

    /// Returns a page for people with these parameters: our own, or the one of `[links]` where there
    /// are no pages of ours.
    pub(super) fn page(&self, link: Option<&Url>, path: &str, query: &[(&str, &str)]) -> String {
        let own = || Url::parse(&format!("{}{path}", self.issuer));
        let link = link.filter(|_| !self.settings.screens);
        let mut page = link.cloned().map_or_else(own, Ok).expect("an issuer is an origin");
        page.query_pairs_mut().extend_pairs(query);
        page.into()
    }

    /// Returns the audience of tokens for our own API.
    pub(super) fn own_api_identifier(&self) -> &str {
        self.own_api.machine.known().map_or("", |own| &own.identifier)
    }

    /// Tells whether an audience is our own API.
    pub(super) fn is_own_api(&self, audience: &str) -> bool {
        self.own_api_identifier() == audience
    }

    /// Tells whether an audience is served by us and is no row: our own API, or the SCIM of an organization.
    pub(super) fn is_built_in(&self, audience: &str) -> bool {
        self.is_own_api(audience) || self.scim_organization(audience).is_some()
    }

    /// Returns the organization whose SCIM an audience is.
    pub(super) fn scim_organization<'a>(&self, audience: &'a str) -> Option<&'a str> {
        resource::scim_organization(&self.issuer, audience)
    }

    /// Returns a resource that is served by us and is no row.
    pub(super) fn built_in(&self, audience: &str) -> Option<Arc<EntitySnapshot<Resource>>> {
        if self.is_own_api(audience) {
            return Some(self.own_api.clone());
        }
        let slug = self.scim_organization(audience)?;
        let machine = Resource::Known(resource::Known::scim(&self.issuer, slug));
        Some(Arc::new(EntitySnapshot { machine, version: 0 }))
    }

    /// Says which names are our own here, as it was a second ago at most.
    pub(super) async fn reserved_names(
        &self,
    ) -> Result<Arc<EntitySnapshot<ReservedNames>>, HydrateError> {
        self.views.reserved_names.look(NAMES).await
    }

    /// Tells whether strangers may do this by themselves: where the configuration opens it, and no operator has closed it
    /// more than a second ago.
    pub(super) async fn is_open(&self, service: SelfService) -> Result<bool, HydrateError> {
        let installation = self.views.installation.look(INSTALLATION_ID).await?;
        Ok(self.opens(service, &installation.machine))
    }

    /// The same by what was read of the installation.
    pub(super) fn opens(&self, service: SelfService, installation: &Installation) -> bool {
        let configured = match service {
            SelfService::Registration => self.settings.registration,
            SelfService::SignUp => self.settings.sign_up.open,
        };
        configured && !installation.is_closed(service)
    }

    /// Reads the installation as it is now: the sign-outs that there have been, and what is closed.
    pub(super) async fn installation(
        &self,
    ) -> Result<Arc<EntitySnapshot<Installation>>, HydrateError> {
        let found = self.store.liveness(&[(Installation::KIND, INSTALLATION_ID)]).await?;
        let version = found[0].map_or(0, |found| found.version);
        self.views.installation.at_version(INSTALLATION_ID, version).await
    }

    /// Returns the sign-outs that there have been by now.
    pub(super) async fn sign_outs(&self) -> Result<SignOuts, HydrateError> {
        Ok(self.installation().await?.machine.sign_outs())
    }

    /// Which organization vouches for addresses at a domain.
    pub fn domain_holders(&self) -> &DomainHolders {
        &self.domain_holders
    }

    pub fn vitals(&self) -> Arc<Vitals> {
        self.vitals.clone()
    }

    /// By what people can be written to.
    pub fn channels(&self) -> Channels {
        self.settings.channels
    }

    /// How often one address may ask.
    pub fn pace(&self) -> &Pace {
        &self.limits.pace
    }

    /// How often a person may try to prove who they are.
    pub fn attempts(&self) -> &Attempts {
        &self.limits.attempts
    }

    /// The way to every new password.
    pub fn new_passwords(&self) -> &NewPasswords {
        &self.crypto.new_passwords
    }

    /// Notes that a person has used a client, so that one which registered itself is not forgotten.
    pub(super) fn note_use_of(&self, context: &Context, client: &KnownClient) {
        // Not before its refresh tokens, the last use of which may be noted a day late.
        let kept_for =
            KEPT_AFTER_PERSON.max(self.settings.lifetimes.refresh_idle + USE_NOTED_EVERY);
        self.note(context, client, Usage { by: UsedBy::Person, kept_for });
    }

    /// Notes that a client has acted in its own name, which anyone can have it do.
    pub(super) fn note_own_use_of(&self, context: &Context, client: &KnownClient) {
        let kept_for = self.limits.registrations.kept_unused();
        self.note(context, client, Usage { by: UsedBy::Itself, kept_for });
    }

    fn note(&self, context: &Context, client: &KnownClient, used: Usage) {
        if client.use_is_due(used.by, self.clock.now()) {
            // The caller does not wait for it: if it fails, the next use is noted.
            self.entities.clients.tell(context, &client.client_id, client::Command::Use(used));
        }
    }

    /// Notes the use of a client that is known by its id.
    pub(super) async fn note_use(&self, context: &Context, client_id: &str) {
        let seen = self.views.clients.look(client_id).await.ok();
        if let Some(client) = seen.as_ref().and_then(|seen| seen.machine.known()) {
            self.note_use_of(context, client);
        }
    }

    /// Begins to read what a decision rests on.
    pub(super) fn read_set(&self) -> ReadSet {
        self.multi_commits.read_set()
    }

    /// Begins to read an organization as a provisioning file.
    pub(super) fn organization_export(&self, slug: &str) -> OrganizationExport {
        self.read_set().organization_export(slug)
    }

    /// Begins decisions over several entities that are committed together.
    pub(super) fn multi_commit(&self, context: &Context) -> MultiCommit {
        self.multi_commits.begin(context)
    }
}
