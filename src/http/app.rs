//! What handlers share: the doors of the system below, and what configuration says.

mod tokens;

use crate::{
    actors::{
        Entities, Hydrated, KeySnapshot, MultiCommit, MultiCommits, NameView, StartError, View,
        hashing::HashingPool,
    },
    claims_hook::ClaimsHook,
    client_documents::{Fetcher, KeySets, Logos, MetadataDocuments, RequestObjects},
    crypto::{
        Dice, PairwiseSubjects, SharedVault, StatementIssuers, VerifiedTokens,
        passkeys::{AttestationPolicy, Passkeys},
    },
    domain::{
        Clock, Context, Locale, QuietHours,
        access_token::{self, AccessToken},
        account::Account,
        agent_allowance::AgentAllowance,
        api_key::ApiKey,
        approval_block::ApprovalBlock,
        backchannel_request::BackchannelRequest,
        brand::logo::Logo,
        client::{self, Client, KEPT_AFTER_PERSON, KnownClient, USE_NOTED_EVERY, Usage, UsedBy},
        client_assertion::ClientAssertion,
        consent::Consent,
        device_grant::DeviceGrant,
        flow::{Flow, Rules},
        invitation::Invitation,
        membership::Membership,
        organization::Organization,
        pushed_request::PushedRequest,
        resource::{self, DETAIL_OWNERS, Resource, SCOPE_OWNERS},
        session::Session,
        token_family::TokenFamily,
        trail::Trail,
        webhook::Webhook,
    },
    http::{
        brand_files::BrandFiles,
        cookies::CookieNames,
        hosts::Hosts,
        limits::{
            attempts::Attempts, client_failures::ClientFailures, pace::Pace, polls::Polls,
            refusals::Refusals, registrations::Registrations, request_permits::RequestPermits,
            user_code_guesses::UserCodeGuesses,
        },
        new_password::{Means, NewPasswords},
        options::{AppOptions, Channels, Lifetimes, Links, SignUp},
        reading::read_token::ReadToken,
        vitals::Vitals,
    },
    messages::Mailbox,
    store::views::FreshReads,
    system::System,
};
use axum::http::HeaderValue;
use bytes::Bytes;
use std::{
    ops::Deref,
    sync::{Arc, OnceLock},
    time::Duration,
};
use tokio::sync::watch;
use url::Url;

/// What handlers share; clones are the same.
#[derive(Clone)]
pub struct App(Arc<Inner>);

pub struct Inner {
    pub(super) issuer: String,
    pub(super) lifetimes: Lifetimes,
    pub(super) clock: Arc<dyn Clock>,
    pub(super) dice: Arc<dyn Dice>,
    pub(super) store: FreshReads,
    pub(super) keys: watch::Receiver<KeySnapshot>,
    verified_tokens: VerifiedTokens<ReadToken>,
    pub(super) clients: View<Client>,
    pub(super) registry: Entities<Client>,
    pub(super) client_assertions: Entities<ClientAssertion>,
    /// The keys of clients that have a `jwks_uri`.
    pub(super) key_sets: KeySets,
    /// At the addresses by which some clients are known.
    pub(super) metadata_documents: MetadataDocuments,
    /// At the `request_uris` of clients.
    pub(super) request_objects: RequestObjects,
    /// At the `logo_uri`s of clients.
    pub(super) client_logos: Logos,
    pub(super) organizations: View<Organization>,
    /// What is written into the trail of an organization and changes nothing else.
    pub(super) trails: Entities<Trail>,
    pub(super) webhooks: View<Webhook>,
    pub(super) brands: BrandFiles,
    pub(super) brand_logos: View<Logo>,
    pub(super) resources: View<Resource>,
    /// What tokens for `/api` are for.
    pub(super) own_api: Arc<Hydrated<Resource>>,
    pub(super) scope_owners: NameView,
    pub(super) detail_owners: NameView,
    pub(super) access_tokens: Entities<AccessToken>,
    pub(super) accounts: View<Account>,
    pub(super) api_keys: Entities<ApiKey>,
    pub(super) api_key_views: View<ApiKey>,
    pub(super) account_entities: Entities<Account>,
    pub(super) memberships: View<Membership>,
    pub(super) invitations: View<Invitation>,
    pub(super) sessions: Entities<Session>,
    pub(super) session_views: View<Session>,
    pub(super) consent_views: View<Consent>,
    pub(super) flows: Entities<Flow>,
    pub(super) flow_views: View<Flow>,
    pub(super) families: Entities<TokenFamily>,
    pub(super) flow_rules: Arc<Rules>,
    pub(super) family_views: View<TokenFamily>,
    pub(super) pushed_requests: View<PushedRequest>,
    pub(super) device_grants: Entities<DeviceGrant>,
    pub(super) device_views: View<DeviceGrant>,
    pub(super) backchannel_requests: Entities<BackchannelRequest>,
    pub(super) backchannel_views: View<BackchannelRequest>,
    pub(super) approval_blocks: View<ApprovalBlock>,
    pub(super) blocks: Entities<ApprovalBlock>,
    pub(super) consents: Entities<Consent>,
    pub(super) agent_allowances: Entities<AgentAllowance>,
    multi_commits: MultiCommits,
    pub(super) hashing: Arc<HashingPool>,
    pub(super) new_passwords: NewPasswords,
    pub(super) vault: SharedVault,
    pairwise: PairwiseSubjects,
    /// Calls what clients have registered, and nothing inside our network.
    pub(super) client_documents: Arc<Fetcher>,
    pub(super) claims_hook: Option<ClaimsHook>,
    /// `None` where the issuer's host is an IP address.
    pub(super) passkeys: Option<Passkeys>,
    pub(super) cookies: CookieNames,
    /// Whether people get pages of ours.
    pub(super) screens: bool,
    pub(super) links: Links,
    pub(super) locale: Locale,
    /// When people are not written to about approvals.
    pub(super) quiet_hours: Option<QuietHours>,
    /// Where pages of ours come from beside the issuer.
    pub(super) origins: Arc<[HeaderValue]>,
    pub(super) registration: bool,
    /// Whose software statements count.
    pub(super) statement_issuers: Option<Arc<StatementIssuers>>,
    pub(super) sign_up: SignUp,
    channels: Channels,
    pub(super) mailbox: Option<Arc<Mailbox>>,
    pub(super) vitals: Arc<Vitals>,
    pub(super) fixed: Fixed,
    pub(super) request_permits: RequestPermits,
    pub(super) pace: Pace,
    pub(super) attempts: Attempts,
    pub(super) client_failures: ClientFailures,
    pub(super) registrations: Registrations,
    pub(super) refusals: Refusals,
    pub(super) polls: Polls,
    pub(super) user_code_guesses: UserCodeGuesses,
    /// Whose requests are answered.
    pub(super) hosts: Hosts,
    /// How long a request may take once its head is here.
    pub(super) deadline: Duration,
}

/// What is the same in every answer.
pub(super) struct Fixed {
    /// Made when it is first asked for.
    pub(super) metadata: OnceLock<Bytes>,
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

impl Fixed {
    fn new(key_set_age: Duration) -> Self {
        let caching = format!("public, max-age={}", key_set_age.as_secs());
        Self {
            metadata: OnceLock::new(),
            openapi: OnceLock::new(),
            jwks_type: HeaderValue::from_static("application/jwk-set+json"),
            jwks_caching: HeaderValue::try_from(caching).expect("a number is a header value"),
        }
    }
}

/// What new passwords are judged and hashed with.
fn means_of_passwords(system: &System, vitals: &Arc<Vitals>) -> Means {
    let (hashing, dice) = (system.hashing().clone(), system.dice());
    Means { hashing, dice, vitals: vitals.clone() }
}

/// Our own API as any other is read; it is no row (adr/0079).
fn own_api(issuer: &str) -> Arc<Hydrated<Resource>> {
    let machine = Resource::Known(resource::Known::own_api(issuer));
    Arc::new(Hydrated { machine, version: 0 })
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
        let fixed = Fixed::new(options.key_set_age);
        let cookies = CookieNames::new(&options.issuer);
        let own_api = own_api(&options.issuer);
        let origins: Arc<[HeaderValue]> = options.links.origins();
        let passkeys = passkeys(&options.issuer, &origins, options.attestation);
        let means = means_of_passwords(system, &vitals);
        let fetcher = Arc::new(options.client_documents);
        let key_sets = KeySets::new(&fetcher, &system.clock());
        let metadata_documents =
            MetadataDocuments::new(fetcher.clone(), system.clock(), system.dice());
        let new_passwords = NewPasswords::new(&options.issuer, options.passwords, means);
        Ok(Self(Arc::new(Inner {
            issuer: options.issuer,
            lifetimes: options.lifetimes,
            clock: system.clock(),
            dice: system.dice(),
            store: system.fresh_reads(),
            keys: system.keys(),
            verified_tokens: VerifiedTokens::of_type(access_token::TYPE),
            clients: system.view(),
            registry: system.host().await?,
            client_assertions: system.host().await?,
            key_sets,
            metadata_documents,
            request_objects: RequestObjects::new(fetcher.clone(), system.clock()),
            client_logos: Logos::new(fetcher.clone(), system.clock()),
            organizations: system.view(),
            trails: system.host().await?,
            webhooks: system.view(),
            brands: BrandFiles::new(system.vault()),
            brand_logos: system.view(),
            resources: system.view(),
            own_api,
            scope_owners: system.names(SCOPE_OWNERS),
            detail_owners: system.names(DETAIL_OWNERS),
            access_tokens: system.host().await?,
            accounts: system.view(),
            api_keys: system.host().await?,
            api_key_views: system.view(),
            account_entities: system.host().await?,
            memberships: system.view(),
            invitations: system.view(),
            sessions: system.host().await?,
            session_views: system.view(),
            consent_views: system.view(),
            flows: system.host().await?,
            flow_views: system.view(),
            families: system.host().await?,
            agent_allowances: system.host().await?,
            blocks: system.host().await?,
            consents: system.host().await?,
            flow_rules: options.flow_rules,
            family_views: system.view(),
            pushed_requests: system.view(),
            device_grants: system.host().await?,
            device_views: system.view(),
            backchannel_requests: system.host().await?,
            backchannel_views: system.view(),
            approval_blocks: system.view(),
            multi_commits: system.multi_commits(),
            hashing: system.hashing().clone(),
            new_passwords,
            vault: system.vault(),
            pairwise: PairwiseSubjects::new(system.vault()),
            client_documents: fetcher,
            claims_hook: options.claims_hook,
            passkeys,
            cookies,
            screens: options.screens,
            links: options.links,
            locale: options.locale,
            quiet_hours: options.quiet_hours,
            origins: origins.clone(),
            registration: options.registration,
            statement_issuers: options.statement_issuers,
            sign_up: options.sign_up,
            channels: options.channels,
            mailbox: options.mailbox,
            request_permits: RequestPermits::new(&options.limits, options.addresses.clone()),
            pace: Pace::new(options.rates, options.addresses, vitals.clone()),
            attempts: Attempts::new(system, vitals.clone(), options.rates.is_some())
                .await?
                .limiting(options.rates),
            client_failures: ClientFailures::new(options.rates.is_some(), vitals.clone()),
            registrations: Registrations::new(
                options.rates.is_some(),
                options.limits.unused_clients,
            ),
            refusals: Refusals::default(),
            polls: Polls::default(),
            user_code_guesses: UserCodeGuesses::new(options.rates.is_some()),
            vitals,
            fixed,
            hosts: options.hosts,
            deadline: options.limits.deadline,
        })))
    }

    /// Returns a page for people with these parameters: our own, or the one of `[links]` where there
    /// are no pages of ours.
    pub(super) fn page(&self, link: Option<&Url>, path: &str, query: &[(&str, &str)]) -> String {
        let own = || Url::parse(&format!("{}{path}", self.issuer));
        let link = link.filter(|_| !self.screens);
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

    pub fn vitals(&self) -> Arc<Vitals> {
        self.vitals.clone()
    }

    /// By what people can be written to.
    pub fn channels(&self) -> Channels {
        self.channels
    }

    /// How often one address may ask.
    pub fn pace(&self) -> &Pace {
        &self.pace
    }

    /// How often a person may try to prove who they are.
    pub fn attempts(&self) -> &Attempts {
        &self.attempts
    }

    /// The way to every new password.
    pub fn new_passwords(&self) -> &NewPasswords {
        &self.new_passwords
    }

    /// Notes that a person has used a client, so that one which registered itself is not forgotten.
    pub(super) fn note_use_of(&self, context: &Context, client: &KnownClient) {
        // Not before its refresh tokens, the last use of which may be noted a day late.
        let kept_for = KEPT_AFTER_PERSON.max(self.lifetimes.refresh_idle + USE_NOTED_EVERY);
        self.note(context, client, Usage { by: UsedBy::Person, kept_for });
    }

    /// Notes that a client has acted in its own name, which anyone can have it do.
    pub(super) fn note_own_use_of(&self, context: &Context, client: &KnownClient) {
        let kept_for = self.registrations.kept_unused();
        self.note(context, client, Usage { by: UsedBy::Itself, kept_for });
    }

    fn note(&self, context: &Context, client: &KnownClient, used: Usage) {
        if client.use_is_due(used.by, self.clock.now()) {
            // The caller does not wait for it: if it fails, the next use is noted.
            self.registry.tell(context, &client.client_id, client::Command::Use(used));
        }
    }

    /// Notes the use of a client that is known by its id.
    pub(super) async fn note_use(&self, context: &Context, client_id: &str) {
        let seen = self.clients.look(client_id).await.ok();
        if let Some(client) = seen.as_ref().and_then(|seen| seen.machine.known()) {
            self.note_use_of(context, client);
        }
    }

    /// Begins decisions over several entities that are committed together.
    pub(super) fn multi_commit(&self, context: &Context) -> MultiCommit {
        self.multi_commits.begin(context)
    }
}
