//! Who calls, for which organization, and what they hold there.

use super::{
    admission::PERMISSION_REQUIRED,
    credential::Credential,
    denied::AccessDenial,
    presented::{PresentedCredential, invalid_token},
};
use crate::{
    actors::{MultiCommit, key_backing},
    domain::{
        Actor, Context, Machine as _, Timestamp,
        access_token::Claims,
        account::Account,
        api_key::{ApiKey, Key},
        assurance::{Acr, Level},
        authority::{ADMINISTER, Grantor, Permissions, Scopes},
        client::Client,
        invitation::Inviter,
        membership::{self, Membership},
        organization::{self, Organization},
        possession::Confirmation,
        reserved_names::{NAMES, ReservedNames},
    },
    http::{
        answer::error::{OAuthError, Problem},
        app::App,
        grants::{
            api_key::{self, KeyLookup},
            token_validity,
        },
        people::session::Present,
        reading::read_token::Good,
    },
};
use axum::http::StatusCode;
use std::sync::Arc;

/// A caller whose token, key or session is good for our own API.
#[derive(Clone)]
pub struct Caller {
    /// The slug of the one organization it speaks for.
    pub organization: String,
    pub holder: Holder,
    /// What the token, the key or the session may be used for.
    powers: Powers,
    /// What is left of what the person had proved.
    level: Option<Level>,
    /// The token that was presented, if it was one.
    pub token: Option<Box<Token>>,
    credential: Credential,
    /// Of the request; the caller acts.
    pub context: Context,
}

/// What a token says that is presented.
#[derive(Clone)]
pub struct Token {
    pub id: String,
    pub client_id: String,
    /// Its family and those above it.
    pub families: Vec<String>,
    /// The session that it ends with.
    pub session: Option<String>,
    /// It is held for another party (adr/0088).
    pub delegated: bool,
    /// The key that it is bound to, which the caller holds.
    pub bound: Option<Confirmation>,
}

impl Token {
    fn of(claims: &Claims<'_>) -> Self {
        Self {
            id: claims.jti.clone(),
            client_id: claims.client_id.as_ref().to_owned(),
            families: claims.families().map(str::to_owned).collect(),
            session: claims.sid.as_deref().map(str::to_owned),
            delegated: claims.act.is_some(),
            bound: claims.cnf,
        }
    }
}

/// What a call may do.
#[derive(Clone)]
enum Powers {
    /// Of a token, which has been narrowed.
    Scopes(Scopes),
    /// Of an API key, or of a member in a session.
    Permissions(Permissions),
}

/// On whose authority a caller acts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    Member {
        account: String,
        membership: String,
    },
    /// A holder of `organizations:administer`.
    Administrator {
        account: String,
    },
    Client {
        client_id: String,
    },
    Key {
        key: Box<Key>,
    },
}

impl Holder {
    /// Who acts, as the log says it.
    fn actor(&self) -> Actor {
        match self {
            Self::Member { account, .. } | Self::Administrator { account } => {
                Actor::Person(account.clone())
            }
            Self::Client { client_id } => Actor::Client(client_id.clone()),
            Self::Key { key } => Actor::ApiKey(key.id.clone()),
        }
    }
}

impl Holder {
    /// On whose authority it invites.
    pub fn inviter(&self) -> Inviter {
        match self {
            Self::Member { account, membership } => {
                let (account, membership) = (account.clone(), membership.clone());
                Inviter::Member { account, membership }
            }
            Self::Administrator { account } => Inviter::Administrator { account: account.clone() },
            Self::Client { client_id } => Inviter::Client { client_id: client_id.clone() },
            Self::Key { key } => Inviter::ApiKey { id: key.id.clone() },
        }
    }
}

/// What a caller holds now, by rows that the commit requires to be unchanged.
pub struct Authority {
    pub home: organization::Known,
    pub grantor: Grantor,
}

pub const INVALID_TOKEN: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "invalid_token",
    "the access token is not good for this API, or no longer",
);

impl Caller {
    /// Reads who calls from what the request presents.
    pub async fn of(
        app: &App,
        context: Context,
        presented: &PresentedCredential<'_>,
    ) -> Result<Self, AccessDenial> {
        let claims = match presented {
            PresentedCredential::Key(text) => return Self::by_key(app, context, text).await,
            PresentedCredential::Token(claims) => claims,
        };
        let good = token_validity::of_token(app, claims, None).await.map_err(unavailable)?;
        let good = good.ok_or_else(invalid_token)?;
        Self::by_token(app, context, claims, &good).ok_or_else(invalid_token)
    }

    async fn by_key(app: &App, context: Context, text: &str) -> Result<Self, AccessDenial> {
        let found = api_key::find(app, text, &[]).await.map_err(Problem::from)?;
        let live = match found.0 {
            KeyLookup::Good(live) => live,
            KeyLookup::Suspended => return Err(SUSPENDED.into()),
            KeyLookup::Nothing => return Err(invalid_token()),
        };
        let holder = Holder::Key { key: Box::new(live.key.clone()) };
        Ok(Self {
            organization: live.key.organization.clone(),
            context: context.by(holder.actor()),
            holder,
            powers: Powers::Permissions(live.permissions.clone()),
            level: None,
            token: None,
            credential: Credential::Key(Arc::from(live)),
        })
    }

    /// Notes that a key was used. It moves the row of the key on, so that it comes after the change that
    /// the key has made.
    pub fn note_use(&self, app: &App) {
        if let Credential::Key(live) = &self.credential {
            api_key::note_use(app, &self.context, live);
        }
    }

    fn by_token(app: &App, context: Context, claims: &Claims<'_>, good: &Good) -> Option<Self> {
        let account = good.account().map(|account| account.id.clone());
        let judged_by = good.dependencies()?;
        // Nothing of this API is outside of organizations.
        let organization = claims.org.as_deref()?.to_owned();
        let membership = claims.membership.as_deref().map(str::to_owned);
        let scopes = Scopes::parse(&claims.scope).ok()?;
        let holder = match (account, membership) {
            (Some(account), Some(membership)) => Holder::Member { account, membership },
            // A token without a scope of the API names no membership, and is good for nothing here.
            (Some(_), None) if scopes.of_apis().next().is_none() => return None,
            (Some(account), None) => Holder::Administrator { account },
            // The client that it speaks for, be it held by another.
            (None, _) => Holder::Client { client_id: claims.sub.as_ref().to_owned() },
        };
        let mut context = context.by(holder.actor());
        if let Some(act) = &claims.act {
            context = context.acted_by(act.parties().collect::<Vec<_>>().join(" "));
        }
        let level = claims.level(app.clock.now());
        let powers = Powers::Scopes(scopes);
        let token = Some(Box::new(Token::of(claims)));
        let credential = Credential::Token { judged_by, expires_at: claims.expires_at() };
        Some(Self { organization, holder, powers, level, token, credential, context })
    }

    /// Makes a caller of a person in a live session, by what their membership confers now, and with what
    /// they have proved in the session. A membership that was ended makes none.
    pub fn by_session(
        context: Context,
        (present, now): (&Present, Timestamp),
        member: &membership::Known,
        home: &organization::Known,
    ) -> Result<Self, Problem> {
        if !member.enabled || member.organization != home.slug {
            return Err(Problem::NOT_FOUND);
        }
        if !home.enabled {
            return Err(SUSPENDED);
        }
        let proved = &present.person.evidence;
        // What was proved for another organization counts there.
        proved.at(Some(&home.slug), now).level(now).ok_or(OWN_PROOF_REQUIRED)?;
        // What was proved before a sign-out counts elsewhere.
        let evidence = &proved.clone().since_sign_out(&home.slug, home.signed_out);
        let level = evidence.at(Some(&home.slug), now).level(now).ok_or(SIGNED_OUT)?;
        let permissions = home.confers(&member.roles);
        if !home.required_connections.is_empty() {
            let by = evidence.sign_on_at(&home.slug).map(|sign_on| &sign_on.connection);
            let as_required = by.is_some_and(|by| home.required_connections.contains(by));
            // Who looks after the connections must be able to mend one that is broken.
            let mends =
                evidence.level(now) >= Some(Level::Aal2) && permissions.covers("connections:write");
            if !as_required && !mends {
                return Err(SIGN_ON_REQUIRED);
            }
        }
        let (account, membership) = (member.account.clone(), member.id.clone());
        let holder = Holder::Member { account, membership };
        Ok(Self {
            organization: home.slug.clone(),
            context: context.by(holder.actor()),
            holder,
            powers: Powers::Permissions(permissions),
            level: Some(level),
            token: None,
            credential: Credential::Session {
                id: present.id.clone(),
                account: member.account.clone(),
                epoch: present.person.epoch,
                signed_out: home.signed_out,
            },
        })
    }

    /// Tells whether the token, the key or the session may be used for this.
    pub fn may(&self, permission: &str) -> bool {
        match &self.powers {
            Powers::Scopes(scopes) => scopes.contains(permission),
            Powers::Permissions(permissions) => permissions.covers(permission),
        }
    }

    /// Tells whether the token reaches across organizations.
    pub fn administers(&self) -> bool {
        self.is_administrator() && self.may(ADMINISTER)
    }

    pub fn is_administrator(&self) -> bool {
        matches!(self.holder, Holder::Administrator { .. })
    }

    /// Returns the session in which a person acts, if there is one.
    pub fn session(&self) -> Option<&str> {
        match &self.credential {
            Credential::Session { id, .. } => Some(id),
            Credential::Token { .. } => self.token.as_ref()?.session.as_deref(),
            Credential::Key(_) => None,
        }
    }

    /// Tells whether a person acts, or a program on their behalf.
    pub fn is_person(&self) -> bool {
        !matches!(self.holder, Holder::Client { .. } | Holder::Key { .. })
    }

    /// Tells whether it acts with a token that is held for another party.
    pub fn is_delegate(&self) -> bool {
        self.token.as_ref().is_some_and(|token| token.delegated)
    }

    /// Says what the caller may give to others of what it holds (adr/0111).
    fn grantor(&self, held: Permissions, names: &ReservedNames) -> Grantor {
        match &self.powers {
            Powers::Scopes(_) if self.is_delegate() => Grantor::by_delegate(held),
            Powers::Scopes(scopes) => Grantor::by_token(held, scopes, names),
            Powers::Permissions(_) => Grantor::of_all(held),
        }
    }

    /// Tells whether the person has proved two factors.
    pub fn is_at_aal2(&self) -> bool {
        self.level.is_some_and(|level| level >= Level::Aal2)
    }

    /// Refuses a person who has proved less than their organization requires (RFC 9470 §3).
    pub fn is_sure_enough(&self, home: &organization::Known) -> Result<(), AccessDenial> {
        let required = home.required_acr;
        let met = self.level.is_some_and(|level| level >= required.level());
        if !self.is_person() || required.is_least() || met {
            return Ok(());
        }
        Err(unsure(required))
    }

    /// Reads what the caller holds, so that the commit happens only while that is so.
    pub async fn authority(&self, commit: &mut MultiCommit) -> Result<Authority, Problem> {
        self.credential.require(commit).await?;
        let home = commit.look::<Organization>(&self.organization).await?.known().cloned();
        let home = home.filter(|home| home.enabled).ok_or(SUSPENDED)?;
        if self.credential.precedes_sign_out(&home) {
            return Err(INVALID_TOKEN);
        }
        let names = commit.look::<ReservedNames>(NAMES).await?.clone();
        let held = match &self.holder {
            Holder::Member { account, membership } => {
                let member = commit.look::<Membership>(membership).await?.known();
                let member = member.filter(|one| {
                    one.enabled && one.organization == home.slug && one.account == *account
                });
                member.map(|member| home.confers(&member.roles))
            }
            Holder::Administrator { account } => {
                let known = commit.look::<Account>(account).await?.known();
                let administers = known.is_some_and(|known| known.administers);
                administers.then(|| Permissions::of_administrator(&names))
            }
            Holder::Client { client_id } => {
                let known = commit.look::<Client>(client_id).await?.known();
                let known = known.filter(|known| known.organization.as_ref() == Some(&home.slug));
                known.map(|known| home.confers(&known.roles))
            }
            Holder::Key { key } => {
                let backing = key_backing(commit.reads(), &key.issuer).await?;
                let machine = commit.look::<ApiKey>(&key.id).await?;
                let active = machine.known().filter(|_| machine.revoked_at().is_none());
                let live = active.zip(backing.as_ref());
                live.and_then(|(key, backing)| key.confers(&home, backing).ok())
            }
        };
        let held = held.ok_or(INVALID_TOKEN)?;
        Ok(Authority { grantor: self.grantor(held, &names), home })
    }
}

impl Caller {
    /// Refuses a caller who has lost this permission since they were let in, or whose account or
    /// organization confers nothing any more. That their token has expired meanwhile does not matter.
    pub async fn still_holds(&self, app: &App, permission: &str) -> Result<(), Problem> {
        let mut commit = app.multi_commit(&self.context);
        let held = self.authority(&mut commit).await?.grantor.held;
        let rests_on: Vec<(&str, &str)> = match &self.holder {
            Holder::Member { account, .. } | Holder::Administrator { account } => {
                vec![(Account::KIND, account)]
            }
            Holder::Key { key } => {
                key.parents.iter().map(|parent| (ApiKey::KIND, parent.as_str())).collect()
            }
            Holder::Client { .. } => Vec::new(),
        };
        let (found, now) = (app.store.liveness(&rests_on).await?, app.clock.now());
        if !found.iter().all(|one| one.is_some_and(|one| one.is_live(now))) {
            return Err(INVALID_TOKEN);
        }
        if held.covers(permission) { Ok(()) } else { Err(PERMISSION_REQUIRED) }
    }
}

const UNSURE: &str = "insufficient_user_authentication";

/// Asks for more proof (RFC 9470 §3).
pub fn unsure(required: Acr) -> AccessDenial {
    let challenge = format!(", error=\"{UNSURE}\", acr_values=\"{}\"", required.name());
    let problem = Problem::new(
        StatusCode::UNAUTHORIZED,
        UNSURE,
        "this requires more than the person has proved: ask for acr_values",
    );
    AccessDenial::challenged(problem, challenge)
}

const OWN_PROOF_REQUIRED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "step_up_required",
    "what was proved for another organization does not count here: prove that the account is yours",
);

/// The page is a sign-in then.
const SIGNED_OUT: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "session_required",
    "the people of this organization were signed out of it: sign in again",
);

const SIGN_ON_REQUIRED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "sso_required",
    "the organization requires its own single sign-on",
);

pub const SUSPENDED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "organization_suspended",
    "the organization is suspended and accepts no change",
);

fn unavailable(error: OAuthError) -> AccessDenial {
    AccessDenial::from(Problem::from(error))
}
