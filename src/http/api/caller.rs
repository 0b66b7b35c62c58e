//! Who calls, for which organization, and what they hold there.

use super::call::Denied;
use crate::{
    actors::MultiCommit,
    domain::{
        Actor, Context,
        access_token::Claims,
        account::Account,
        assurance::Level,
        authority::{ADMINISTER, Permissions, Scopes},
        client::Client,
        membership::Membership,
        organization::{self, Organization},
    },
    http::{
        answer::error::{Code, OAuthError, Problem},
        app::App,
        extract::bearer::{Missing, bearer},
        facts::token_validity,
    },
};
use axum::http::{HeaderMap, StatusCode};

/// A caller whose token is good for our own API.
pub struct Caller {
    /// The slug of the one organization it speaks for.
    pub organization: String,
    pub holder: Holder,
    /// What the token may be used for.
    scopes: Scopes,
    /// What is left of what the person had proved.
    level: Option<Level>,
    /// Of the request; the caller acts.
    pub context: Context,
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
}

/// What a caller holds now, by rows that the commit requires to be unchanged.
pub struct Authority {
    pub home: organization::Known,
    pub held: Permissions,
}

const INVALID_TOKEN: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "invalid_token",
    "the access token is not good for this API, or no longer",
);

impl Caller {
    /// Reads who calls from the token that the request bears.
    pub async fn of(app: &App, context: Context, headers: &HeaderMap) -> Result<Self, Denied> {
        let token = bearer(headers).map_err(|missing| match missing {
            // RFC 6750 §3.1: a caller without a token is told only how to present one.
            Missing::None => Denied::challenged(INVALID_TOKEN, String::new()),
            Missing::Malformed => invalid_token(),
        })?;
        let claims = app.read_access_token(token).filter(|claims| app.is_own_api(&claims.aud));
        let claims = claims.ok_or_else(invalid_token)?;
        let good = token_validity::of_token(app, &claims, None).await.map_err(unavailable)?;
        let good = good.ok_or_else(invalid_token)?;
        let account = good.account.map(|account| account.id);
        Self::by_token(app, context, &claims, account).ok_or_else(invalid_token)
    }

    fn by_token(
        app: &App,
        context: Context,
        claims: &Claims<'_>,
        account: Option<String>,
    ) -> Option<Self> {
        // Nothing of this API is outside of organizations.
        let organization = claims.org.as_deref()?.to_owned();
        let membership = claims.membership.as_deref().map(str::to_owned);
        let scopes = Scopes::parse(&claims.scope).ok()?;
        let holder = match (account, membership) {
            (Some(account), Some(membership)) => Holder::Member { account, membership },
            // A token without a scope of the API names no membership, and is good for nothing here.
            (Some(_), None) if scopes.of_apis().next().is_none() => return None,
            (Some(account), None) => Holder::Administrator { account },
            (None, _) => Holder::Client { client_id: claims.client_id.as_ref().to_owned() },
        };
        let context = context.by(match &holder {
            Holder::Member { account, .. } | Holder::Administrator { account } => {
                Actor::Person(account.clone())
            }
            Holder::Client { client_id } => Actor::Client(client_id.clone()),
        });
        let level = claims.level(app.clock.now());
        Some(Self { organization, holder, scopes, level, context })
    }

    /// Tells whether the token may be used for this.
    pub fn may(&self, permission: &str) -> bool {
        self.scopes.contains(permission)
    }

    /// Tells whether the token reaches across organizations.
    pub fn administers(&self) -> bool {
        matches!(self.holder, Holder::Administrator { .. }) && self.may(ADMINISTER)
    }

    pub fn is_administrator(&self) -> bool {
        matches!(self.holder, Holder::Administrator { .. })
    }

    /// Refuses a person who has proved less than their organization requires (RFC 9470 §3).
    pub fn is_sure_enough(&self, home: &organization::Known) -> Result<(), Denied> {
        let required = home.required_acr;
        let is_person = !matches!(self.holder, Holder::Client { .. });
        let met = self.level.is_some_and(|level| level >= required.level());
        if !is_person || required.is_least() || met {
            return Ok(());
        }
        let challenge = format!(", error=\"{UNSURE}\", acr_values=\"{}\"", required.name());
        let problem = Problem::new(
            StatusCode::UNAUTHORIZED,
            UNSURE,
            "the organization requires more than the person has proved: ask for acr_values",
        );
        Err(Denied::challenged(problem, challenge))
    }

    /// Reads what the caller holds, so that the commit happens only while that is so.
    pub async fn authority(&self, commit: &mut MultiCommit) -> Result<Authority, Problem> {
        let home = commit.look::<Organization>(&self.organization).await?.known().cloned();
        let home = home.filter(|home| home.enabled).ok_or(SUSPENDED)?;
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
                administers.then(Permissions::of_administrator)
            }
            Holder::Client { client_id } => {
                let known = commit.look::<Client>(client_id).await?.known();
                let known = known.filter(|known| known.organization.as_ref() == Some(&home.slug));
                known.map(|known| home.confers(&known.roles))
            }
        };
        Ok(Authority { held: held.ok_or(INVALID_TOKEN)?, home })
    }
}

const UNSURE: &str = "insufficient_user_authentication";

pub const SUSPENDED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "organization_suspended",
    "the organization is suspended and accepts no change",
);

fn invalid_token() -> Denied {
    let challenge = format!(", error=\"{}\"", Code::InvalidToken.name());
    Denied::challenged(INVALID_TOKEN, challenge)
}

fn unavailable(error: OAuthError) -> Denied {
    Denied::from(Problem::from(error))
}
