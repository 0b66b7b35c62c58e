//! A client polls until a person has decided elsewhere: RFC 8628 §3.5, CIBA Core §11.
//!
//! While no person has decided, nothing is committed, and a client that asks too often is told to slow
//! down. What was decided is answered at any pace; the token family of what was approved says the rest.

use super::{
    TokenResponse,
    issue::{self, INVALID_GRANT, TokenRequest},
};
use crate::{
    actors::{Entities, Failure, View},
    crypto::{GenuineToken, OpaqueKind},
    domain::{
        authorization::Denial,
        awaited::{Awaited, Poll, PollRefusal, Polled},
        client::{GrantType, KnownClient},
        token_family::{self, Narrowing, Redeem},
    },
    http::{
        answer::{
            authorization_error::refusal_of,
            error::{Code, OAuthError},
        },
        app::App,
        extract::{client_auth::Caller, form::Form},
        grants::limits,
        reading::Reading,
    },
};

const SLOW_DOWN: OAuthError =
    OAuthError::new(Code::SlowDown, "ask less often: the interval is five seconds longer now");

/// What is presented, and how its answers are worded.
pub struct PolledParameter {
    pub kind: OpaqueKind,
    /// The parameter.
    pub name: &'static str,
    pub missing: OAuthError,
    pub pending: OAuthError,
    pub expired: OAuthError,
}

/// Asks whether it was decided, and issues what was granted.
pub async fn redeem<M: Awaited>(
    app: &App,
    (caller, client): (&Caller, &KnownClient),
    form: &Form,
    (awaited, view, presenting): (&Entities<M>, &View<M>, PolledParameter),
) -> Result<TokenResponse, OAuthError> {
    let PolledParameter { kind, name, missing, pending, expired } = presenting;
    let code = kind.read(form.get(name).ok_or(missing)?, &app.crypto.vault.now());
    let Some(code) = code else { return Err(INVALID_GRANT.because(format!("no {name} of ours"))) };
    let poll = Poll { client_id: client.client_id.clone(), code: code.fingerprint };
    let poll = M::command(poll);
    let wait = || {
        let early = app.limits.polls.is_early(&code.id, app.clock.now());
        Err(if early { SLOW_DOWN } else { pending.clone() })
    };
    // Most polls find nothing decided. That is read from the row: no actor is started to say so.
    let seen = view.peek(&code.id).await?.machine.decide(&poll, app.clock.now());
    if let Some(Polled::StillPending) = seen.outcome.ok().and_then(M::polled) {
        return wait();
    }
    let polled = awaited.ask(&caller.context, &code.id, poll).await;
    let in_time = match polled.map(|replied| M::polled(replied.reply)) {
        Ok(Some(Polled::StillPending)) => return wait(),
        Ok(Some(Polled::Redeemable { in_time })) => in_time,
        Ok(None) => return Err(OAuthError::unavailable()),
        Err(Failure::Refused(why)) => match M::refused(&why) {
            // Its family may live still: a code that comes again then ends it.
            Some(PollRefusal::Expired) => false,
            Some(PollRefusal::Denied(why)) => return Err(refusal_of(why).into()),
            _ => return Err(INVALID_GRANT.because(why.to_string())),
        },
        Err(failure) => return Err(OAuthError::unavailable().because(failure.to_string())),
    };
    app.limits.polls.forget(&code.id);
    check_membership(app, client, &code.id).await?;
    let issued = issue(app, (caller, client), form, &code).await;
    issued.map_err(|error| match error.code {
        Code::InvalidGrant if !in_time => expired,
        _ => error,
    })
}

/// Issues what the family grants; its code is its own verifier.
async fn issue(
    app: &App,
    (caller, client): (&Caller, &KnownClient),
    form: &Form,
    code: &GenuineToken,
) -> Result<TokenResponse, OAuthError> {
    let refreshable = client.may_use(GrantType::RefreshToken);
    // The scopes were said when the client asked.
    let narrowing = Narrowing { scopes: None, ..issue::narrowing(app, form) };
    let presented = TokenRequest { caller, family: &code.id, refreshable, narrowing };
    issue::issue(app, presented, |issuing| {
        token_family::Command::Redeem(Box::new(Redeem {
            code: code.fingerprint,
            redirect_uri: None,
            verifier: Some(code.fingerprint),
            refreshable,
            longest: None,
            issuing,
        }))
    })
    .await
}

/// Refuses a person who no longer speaks for the organization that they chose (contract §5).
async fn check_membership(app: &App, client: &KnownClient, id: &str) -> Result<(), OAuthError> {
    let family = app.views.families.peek(id).await?;
    let Some(grant) = family.machine.grant().filter(|grant| grant.membership.is_some()) else {
        return Ok(());
    };
    let limited = limits::gather(app, client, grant, Reading::Anew).await?;
    match limited.limits.held {
        Some(_) => Ok(()),
        None => Err(refusal_of(&Denial::NotAMember).into()),
    }
}
