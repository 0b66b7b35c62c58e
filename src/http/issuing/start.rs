//! Begins the family of a grant that one party holds for another, with idempotent retries, and issues its one
//! token (adr/0088).

use super::{FamilySigner, TokenResponse, lifetimes};
use crate::{
    actors::{EntitySnapshot, Failure},
    crypto::{OpaqueKind, draw_id_at},
    domain::{
        Context, Machine as _, Requirement,
        access_token::AccessToken,
        agent_allowance::{self, AllowedGrant},
        api_key::ApiKey,
        client::{Client, KnownClient, Taking},
        grant::Grant,
        possession::Possession,
        session::Session,
        signing_keys::SigningAlgorithm,
        token_family::{Command, Issuing, Narrowing, Refusal, Reply, Start, TokenFamily},
    },
    http::{
        answer::error::OAuthError,
        app::App,
        grants::{
            limits::{self, GrantLimits},
            token_validity,
        },
        reading::{
            Reading,
            read_token::ReadToken,
            retries::{FinalFailure, Retries},
        },
    },
};
use std::sync::Arc;

/// Why no token was issued.
pub enum IssuanceFailure {
    /// The agent has no more of what it asks for today, or it cannot be measured.
    Exhausted(String),
    /// Something that the grant rests on is over.
    Over {
        kind: &'static str,
    },
    Stopped(FinalFailure<Refusal>),
    Failed(OAuthError),
}

impl From<FinalFailure<Refusal>> for IssuanceFailure {
    fn from(stopped: FinalFailure<Refusal>) -> Self {
        Self::Stopped(stopped)
    }
}

/// A grant that one party is to hold for another.
pub struct DelegatedGrant<'a> {
    pub grant: Grant,
    pub narrowing: Narrowing,
    /// What it is given for, if that is a token.
    pub token: Option<&'a SubjectToken>,
    /// What the party that is to hold it has proved; its proof is used up before.
    pub possession: Possession,
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
    (context, seen): (&Context, &Arc<EntitySnapshot<Client>>),
    starting: DelegatedGrant<'_>,
) -> Result<TokenResponse, IssuanceFailure> {
    let DelegatedGrant { grant, narrowing, token, possession } = starting;
    let Some(client) = seen.machine.known() else {
        return Err(IssuanceFailure::Over { kind: Client::KIND });
    };
    // Before anything is spent: what cannot be signed is not asked for.
    if !app.crypto.keys.borrow().can_sign(SigningAlgorithm::Es256) {
        return Err(IssuanceFailure::Failed(OAuthError::unavailable()));
    }
    // Drawn once for all tries: by them the family knows a command that it has carried out.
    let family = draw_id_at(&*app.dice, app.clock.now());
    let next =
        OpaqueKind::RefreshToken.mint(&family, &app.crypto.vault.now(), &*app.dice).fingerprint;
    let mut tries = Retries::new();
    loop {
        let reading = Reading::anew_if(tries.anew());
        let limited = limits::gather(app, client, &grant, reading).await;
        let GrantLimits { limits, roles, mut requirements } = tries.read(limited)?;
        match token {
            // Something has changed meanwhile.
            Some(SubjectToken { claims, .. }) if tries.anew() => {
                let good = token_validity::of_token(app, claims, None).await;
                let good = good.map_err(IssuanceFailure::Failed)?;
                good.ok_or(IssuanceFailure::Over { kind: AccessToken::KIND })?;
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
            possession: possession.clone(),
        };
        let start = Start { grant: grant.clone(), refreshable: false, issuing };
        let signer = FamilySigner {
            app: app.clone(),
            client: seen.clone(),
            family: family.clone(),
            nonce: None,
            profile: Arc::default(),
            roles,
            bound: possession.bound,
        };
        let takings = takings(client, &start)?;
        let signed = if takings.is_empty() {
            let command = Command::Start(Box::new(start));
            let asked = (context, &*family, !tries.anew());
            let work = move |reply: &Reply| signer.sign(reply);
            app.entities.families.ask_and_work(asked, command, work).await.map(|(_, signed)| signed)
        } else {
            let allowed = AllowedGrant { takings, family: family.clone(), start };
            start_allowed(app, (context, client), allowed, signer).await?
        };
        match signed {
            Ok(Some(issued)) => return issued.map_err(IssuanceFailure::Failed),
            Ok(None) => return Err(IssuanceFailure::Failed(OAuthError::unavailable())),
            Err(Failure::Unmet {
                kind: kind @ (Session::KIND | TokenFamily::KIND | Client::KIND | ApiKey::KIND),
            }) => return Err(IssuanceFailure::Over { kind }),
            Err(failure) => tries.after(failure).await?,
        }
    }
}

/// What the grant takes of the limits of an agent; nothing where it has none.
fn takings(client: &KnownClient, start: &Start) -> Result<Vec<Taking>, IssuanceFailure> {
    let limits = client.leash.as_ref().filter(|one| !one.limits.is_empty());
    // What is refused is refused by the family, and takes nothing.
    let (Some(agent_limits), Ok(granted)) = (limits, start.granted()) else {
        return Ok(Vec::new());
    };
    let takings = agent_limits.measure(granted.details());
    takings.map_err(|why| IssuanceFailure::Exhausted(why.to_string()))
}

type SigningOutcome = Result<Option<Result<TokenResponse, OAuthError>>, Failure<Refusal>>;

/// Has the allowance of an agent pay for the grant and start its family, in one commit.
async fn start_allowed(
    app: &App,
    (context, client): (&Context, &KnownClient),
    allowed: AllowedGrant,
    signer: FamilySigner,
) -> Result<SigningOutcome, IssuanceFailure> {
    let command = agent_allowance::Command::Grant(Box::new(allowed));
    let work = move |reply: &Option<Reply>| reply.as_ref().and_then(|reply| signer.sign(reply));
    let asked = (context, &*client.client_id, false);
    let refusal = match app.entities.agent_allowances.ask_and_work(asked, command, work).await {
        Ok((_, signed)) => return Ok(Ok(signed)),
        Err(failure) => failure.map_refusal(|refusal| match refusal {
            agent_allowance::Refusal::Family(refusal) => Ok(refusal),
            exhausted @ agent_allowance::Refusal::Exhausted(_) => Err(exhausted.to_string()),
        }),
    };
    match refusal {
        Ok(failure) => Ok(Err(failure)),
        Err(exhausted) => Err(IssuanceFailure::Exhausted(exhausted)),
    }
}
