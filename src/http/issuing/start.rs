//! Begins the family of a grant that one party holds for another, and issues its one token (adr/0088).

use super::{Issued, Signing, Under, lifetimes, sign};
use crate::{
    actors::{Answer, CommitError, Failure, Replied},
    crypto::{OpaqueKind, draw_id_at},
    domain::{
        Context, Machine as _, Requirement,
        access_token::AccessToken,
        account::Account,
        agent_allowance::{self, AgentAllowance, Taking},
        api_key::ApiKey,
        authorization_details::Fixed,
        client::{Client, KnownClient, Leash},
        grant::Grant,
        session::Session,
        token_family::{Command, Issue, Issuing, Narrowing, Refusal, Reply, Start, TokenFamily},
    },
    http::{
        answer::error::OAuthError,
        app::App,
        facts::{
            limits::{self, Limited},
            read_token::ReadToken,
            reading::Reading,
            token_validity,
            tries::{Stopped, Tries},
        },
    },
};
use serde_json::Map;
use std::sync::Arc;

/// Why no token was issued.
pub enum NotStarted {
    /// The agent has no more of what it asks for today, or it cannot be measured.
    Exhausted(String),
    /// Something that the grant rests on is over.
    Over {
        kind: &'static str,
    },
    Stopped(Stopped<Refusal>),
    Failed(OAuthError),
}

impl From<Stopped<Refusal>> for NotStarted {
    fn from(stopped: Stopped<Refusal>) -> Self {
        Self::Stopped(stopped)
    }
}

/// A grant that one party is to hold for another.
pub struct Starting<'a> {
    pub grant: Grant,
    pub narrowing: Narrowing,
    /// What it is given for, if that is a token.
    pub token: Option<&'a SubjectToken>,
}

/// A token that seems good; the commit that issues under it decides.
pub struct SubjectToken {
    pub claims: Arc<ReadToken>,
    /// What the person's authority followed from when it seemed so.
    pub seen: Vec<Requirement>,
}

/// Begins the family of the grant and issues its one token.
pub async fn start(
    app: &App,
    (context, client): (&Context, &KnownClient),
    starting: Starting<'_>,
) -> Result<Issued, NotStarted> {
    let Starting { grant, narrowing, token } = starting;
    // Drawn once for all tries: by them the family knows a command that it has carried out.
    let family = draw_id_at(&*app.dice, app.clock.now());
    let next = OpaqueKind::RefreshToken.mint(&family, &app.vault.now(), &*app.dice).fingerprint;
    let mut tries = Tries::new();
    let (Issue { grant, granted }, roles) = loop {
        let reading = Reading::anew_if(tries.anew());
        let limited = limits::gather(app, client, &grant, reading).await;
        let Limited { limits, roles, mut requirements } = tries.read(limited)?;
        match token {
            // Something has changed meanwhile.
            Some(SubjectToken { claims, .. }) if tries.anew() => {
                let good = token_validity::of_token(app, claims, None).await;
                let good = good.map_err(NotStarted::Failed)?;
                good.ok_or(NotStarted::Over { kind: AccessToken::KIND })?;
            }
            Some(SubjectToken { seen, .. }) => requirements.extend_from_slice(seen),
            None => {}
        }
        let issuing = Issuing {
            client_id: client.client_id.clone(),
            narrowing: narrowing.clone(),
            next,
            limits,
            requirements,
            lifetimes: lifetimes(app),
        };
        let start = Start { grant: grant.clone(), refreshable: false, issuing };
        let command = Command::Start(Box::new(start));
        let limited = client.leash.as_ref().filter(|leash| !leash.limits.is_empty());
        let answer = match limited {
            Some(leash) => {
                start_and_take(app, context, (&family, command), (client, leash)).await?
            }
            None if tries.anew() => app.families.ask(context, &family, command).await,
            None => app.families.ask_new(context, &family, command).await,
        };
        match answer {
            Ok(Replied { reply: Reply::Issue(issue), .. }) => break (*issue, roles),
            Ok(_) => return Err(NotStarted::Failed(OAuthError::unavailable())),
            Err(Failure::Unmet {
                kind:
                    kind @ (Session::KIND
                    | Account::KIND
                    | TokenFamily::KIND
                    | Client::KIND
                    | ApiKey::KIND),
            }) => return Err(NotStarted::Over { kind }),
            Err(failure) => tries.after(failure).await?,
        }
    };
    let nothing = Map::new();
    let under = Under { grant: &grant, family: &family, nonce: None, profile: &nothing };
    let (epoch, roles) = (grant.epochs(), &*roles);
    let signing = Signing { client, granted: &granted, roles, epoch, under: Some(under) };
    sign(app, signing, None).map_err(NotStarted::Failed)
}

/// Begins the family, and takes what it grants of the limits of an agent in the same commit.
async fn start_and_take(
    app: &App,
    context: &Context,
    (family, command): (&str, Command),
    (client, leash): (&KnownClient, &Leash),
) -> Result<Answer<TokenFamily>, NotStarted> {
    let mut commit = app.multi_commit(context);
    let begun = match commit.decide::<TokenFamily>(family, &command).await {
        Ok(Ok(reply)) => reply,
        Ok(Err(refusal)) => return Ok(Err(Failure::Refused(refusal))),
        Err(_) => return Ok(Err(Failure::Unavailable)),
    };
    if let Reply::Issue(issue) = &begun {
        let taken = leash.measure(issue.granted.details());
        let taken = taken.map_err(|why| NotStarted::Exhausted(why.to_string()))?;
        let taking = |(place, amount): (usize, Fixed)| Taking {
            limit: leash.limits[place].name(),
            amount,
            per_day: leash.limits[place].per_day,
        };
        let takings: Vec<Taking> = taken.into_iter().map(taking).collect();
        if !takings.is_empty() {
            let take = agent_allowance::Command::Take(takings);
            match commit.decide::<AgentAllowance>(&client.client_id, &take).await {
                Ok(Ok(())) => {}
                Ok(Err(why)) => return Err(NotStarted::Exhausted(why.to_string())),
                Err(_) => return Ok(Err(Failure::Unavailable)),
            }
        }
    }
    Ok(match commit.commit().await {
        Ok(()) => Ok(Replied { reply: begun, version: 0 }),
        // Another request of the agent has taken something: it is added up anew.
        Err(CommitError::Conflict) => Err(Failure::Unmet { kind: AgentAllowance::KIND }),
        Err(CommitError::Unmet { kind }) => Err(Failure::Unmet { kind }),
        Err(CommitError::Taken { space }) => Err(Failure::Taken { space }),
        Err(CommitError::Unavailable) => Err(Failure::Unavailable),
        Err(CommitError::Unknown) => Err(Failure::Unknown),
    })
}
