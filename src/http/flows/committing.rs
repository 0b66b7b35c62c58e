//! Has a flow decide on a step, and commits what changes with it: the session, the account, the consent.

use super::{
    answering::{Acting, Drawn, ended_by},
    approval, invited,
    opened::Opened,
    problems::{ACCOUNT_CHANGED, EMAIL_TAKEN, PASSKEY_REFUSED, REQUEST_USED, UNAVAILABLE},
    sign_out, user_code,
};
use crate::{
    actors::{CommitError, Failure, HydrateError, MultiCommit},
    domain::{
        Machine as _,
        account::{self, Account, EMAIL_ADDRESSES},
        client::KnownClient,
        consent::{self, Consent, Parties},
        flow::{
            APPROVAL, AccountChange, Command, DEVICE, Finished, FinishedSession, Flow, Refusal,
            Reply, SessionChange, Step,
        },
        grant::Grant,
        membership::MEMBERSHIP_PAIRS,
        pushed_request::PushedRequest,
        session::{self, Session},
    },
    http::{answer::error::Problem, app::App, clients},
};

/// Why a step was not taken.
pub(super) enum NotTaken {
    /// Something that it rests on has changed.
    Unmet {
        kind: &'static str,
    },
    Problem(Problem),
}

impl From<Problem> for NotTaken {
    fn from(problem: Problem) -> Self {
        Self::Problem(problem)
    }
}

/// Takes the step and returns the flow after it.
pub(super) async fn take(
    app: &App,
    acting: &Acting<'_>,
    (step, deleting): (Step, bool),
    drawn: &Drawn,
) -> Result<Flow, NotTaken> {
    let Acting { opened, context } = acting;
    // A session that goes on, a consent and an account that is kept are changed in the commit of the
    // flow.
    let together = drawn.fresh.present.is_some()
        || deleting
        || opened.seed.signed_in.is_some()
        || opened.seed.invited.is_some()
        || opened.seed.selects
        || [DEVICE, APPROVAL].contains(&&*opened.seed.kind)
        || matches!(step, Step::Decide { .. } | Step::Enrol { .. });
    if together {
        return Box::pin(take_with_others(app, acting, step, drawn)).await;
    }
    match opened.ask(app, context, step).await {
        Ok(replied) => Ok(replied.reply.flow),
        Err(Failure::Unmet { kind }) => Err(NotTaken::Unmet { kind }),
        Err(Failure::Taken { space: PushedRequest::KIND }) => Err(NotTaken::Problem(REQUEST_USED)),
        Err(failure) if failure.may_have_happened() => ours(app, opened, drawn).await,
        Err(failure) => Err(NotTaken::Problem(failure.into())),
    }
}

/// Decides on the flow and on what changes with it, and commits all of it at once.
async fn take_with_others(
    app: &App,
    acting: &Acting<'_>,
    step: Step,
    drawn: &Drawn,
) -> Result<Flow, NotTaken> {
    let Acting { opened, context } = acting;
    let consents = matches!(step, Step::Decide { step: "consent", allow: true, .. });
    let mut commit = app.multi_commit(context);
    let command =
        Command { rules: app.settings.flow_rules.clone(), seed: opened.seed.clone(), step };
    let decided = commit.decide::<Flow>(&opened.name, &command).await.map_err(unreadable)?;
    let reply = match decided {
        Ok(reply) => reply,
        // What was seen is kept: a wrong code counts.
        Err(refusal) => return Err(refuse_and_keep(commit, refusal).await),
    };
    let Reply { flow, granted, changes, signs_out, accepts, signs_into, device, approval } = reply;
    for AccountChange { account, command } in &changes {
        let decided = commit.decide::<Account>(account, command).await.map_err(unreadable)?;
        decided.map_err(refused_change)?;
    }
    if let Some(account) = &signs_out {
        sign_out::within(app, &mut commit, account).await?;
    }
    if let Some(acceptance) = &accepts {
        invited::accept(app, &mut commit, acceptance).await?;
    }
    if let Some(change) = &device {
        user_code::decide(&mut commit, change).await?;
    }
    if let Some(change) = &approval {
        approval::decide(&mut commit, change).await?;
    }
    if let Flow::Over(over) = &flow
        && let Some(Finished { session: Some(FinishedSession { id, change }), .. }) = &over.finished
    {
        let token = drawn.session.fingerprint;
        let command = match (change, &over.person) {
            (SessionChange::Renewed, Some(person)) => {
                Some(session::Command::Renew { person: person.clone(), token })
            }
            (SessionChange::Ended, _) => Some(session::Command::End),
            _ => None,
        };
        let (session, own) = (id.clone(), signs_into);
        let note = own.map(|client_id| session::Command::SignInto { session, client_id });
        for command in command.into_iter().chain(note) {
            let decided = commit.decide::<Session>(id, &command).await.map_err(unreadable)?;
            decided.map_err(|_| NotTaken::Unmet { kind: Session::KIND })?;
        }
    }
    let mut consent = None;
    if let Some(grant) = granted.filter(|_| consents)
        && let Some(redirects) = remembers(app, opened).await?
        && let Some((id, command)) = consent_to(&grant, redirects)
    {
        let decided = commit.decide::<Consent>(&id, &command).await.map_err(unreadable)?;
        match decided {
            Ok(()) => {}
            Err(refusal) => match refusal {},
        }
        consent = Some(id);
    }
    let committed = commit.commit().await;
    if let Some(id) = consent {
        // The person is not asked twice within the second that a view may be old.
        app.views.consents.forget(&id);
    }
    match committed {
        Ok(()) => Ok(flow),
        Err(CommitError::Unmet { kind }) => Err(NotTaken::Unmet { kind }),
        Err(CommitError::Taken { space: PushedRequest::KIND }) => {
            Err(NotTaken::Problem(REQUEST_USED))
        }
        // Another account has the address by now.
        Err(CommitError::Taken { space: EMAIL_ADDRESSES }) => Err(NotTaken::Problem(EMAIL_TAKEN)),
        // Another request made the person a member: look again.
        Err(CommitError::Taken { space: MEMBERSHIP_PAIRS }) => {
            Err(NotTaken::Unmet { kind: Flow::KIND })
        }
        Err(CommitError::Taken { .. }) if !changes.is_empty() => {
            Err(NotTaken::Problem(ACCOUNT_CHANGED))
        }
        // Another request has moved the flow, the session or the consent on: look again.
        Err(CommitError::Conflict | CommitError::Taken { .. }) => {
            Err(NotTaken::Unmet { kind: Flow::KIND })
        }
        Err(CommitError::Unknown) => ours(app, opened, drawn).await,
        Err(CommitError::Unavailable) => Err(NotTaken::Problem(UNAVAILABLE)),
    }
}

/// Commits what a refused step has left, such as the count of wrong codes.
async fn refuse_and_keep(commit: MultiCommit, refusal: Refusal) -> NotTaken {
    match commit.commit().await {
        Ok(()) => NotTaken::Problem(refusal.into()),
        Err(CommitError::Conflict) => NotTaken::Unmet { kind: Flow::KIND },
        Err(_) => NotTaken::Problem(UNAVAILABLE),
    }
}

fn refused_change(refusal: account::Refusal) -> Problem {
    match refusal {
        account::Refusal::PasskeyRefused => PASSKEY_REFUSED,
        other => {
            tracing::info!(why = %other, "an account could not be changed by a flow");
            ACCOUNT_CHANGED
        }
    }
}

#[expect(clippy::needless_pass_by_value, reason = "it is what map_err hands over")]
pub(super) fn unreadable(error: HydrateError) -> NotTaken {
    tracing::warn!(%error, "a flow could not go on");
    NotTaken::Problem(UNAVAILABLE)
}

/// Returns the flow, if it was this very request that ended it.
async fn ours(app: &App, opened: &Opened, drawn: &Drawn) -> Result<Flow, NotTaken> {
    let seen = app.views.flows.peek(&opened.name).await.map_err(Problem::from)?;
    match &seen.machine {
        Flow::Over(over) if ended_by(over, drawn) => Ok(seen.machine.clone()),
        Flow::Over(_) => Err(Problem::from(Refusal::Over).into()),
        // It did not happen, or only moved on: the caller looks at the flow and goes on.
        Flow::Open(_) | Flow::Unborn => Err(NotTaken::Problem(UNAVAILABLE)),
    }
}

/// Returns how often the redirect URIs of the client have changed, if a consent to it is remembered at all.
async fn remembers(app: &App, opened: &Opened) -> Result<Option<u64>, Problem> {
    let Some(request) = &opened.seed.request else { return Ok(None) };
    let seen = clients::find_in_flow(app, &request.wanted.client_id, false).await?;
    let posed = |client: &KnownClient| client.can_be_posed_as(&request.reply_to.redirect_uri);
    let client = seen.machine.known().filter(|client| !posed(client));
    Ok(client.map(|client| client.redirects_epoch))
}

fn consent_to(grant: &Grant, redirects: u64) -> Option<(String, consent::Command)> {
    let parties = Parties {
        account: grant.account.clone()?,
        client_id: grant.client_id.clone(),
        organization: grant.organization().map(str::to_owned),
    };
    let given = consent::Given {
        scopes: grant.scopes.clone(),
        audience: grant.audience.clone(),
        claims: grant.claims.beyond(&grant.scopes),
    };
    Some((parties.id(), consent::Command::Give { parties, given, redirects }))
}
