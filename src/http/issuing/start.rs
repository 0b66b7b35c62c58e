//! Begins the family of a grant that one party holds for another, and issues its one token (adr/0088).

use super::{FamilySigner, Issued, lifetimes};
use crate::{
    actors::{Answer, CommitError, Failure, Hydrated, Replied},
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
        token_family::{Command, Issuing, Narrowing, Refusal, Reply, Start, TokenFamily},
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
    (context, seen): (&Context, &Arc<Hydrated<Client>>),
    starting: Starting<'_>,
) -> Result<Issued, NotStarted> {
    let Starting { grant, narrowing, token } = starting;
    let Some(client) = seen.machine.known() else {
        return Err(NotStarted::Over { kind: Client::KIND });
    };
    // Drawn once for all tries: by them the family knows a command that it has carried out.
    let family = draw_id_at(&*app.dice, app.clock.now());
    let next = OpaqueKind::RefreshToken.mint(&family, &app.vault.now(), &*app.dice).fingerprint;
    let mut tries = Tries::new();
    loop {
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
        let signer = FamilySigner {
            app: app.clone(),
            client: seen.clone(),
            family: family.clone(),
            nonce: None,
            profile: Arc::default(),
            roles,
        };
        let limited = client.leash.as_ref().filter(|leash| !leash.limits.is_empty());
        let signed = if let Some(leash) = limited {
            let begun = start_and_take(app, context, (&family, command), (client, leash)).await?;
            begun.map(|begun| signer.sign(&begun.reply))
        } else {
            let asked = (context, &*family, !tries.anew());
            let work = move |reply: &Reply| signer.sign(reply);
            app.families.ask_and_work(asked, command, work).await.map(|(_, signed)| signed)
        };
        match signed {
            Ok(Some(issued)) => return issued.map_err(NotStarted::Failed),
            Ok(None) => return Err(NotStarted::Failed(OAuthError::unavailable())),
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
    }
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
