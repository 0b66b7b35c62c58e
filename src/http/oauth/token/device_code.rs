//! A device code for tokens: RFC 8628 §3.4, §3.5.
//!
//! While no person has decided, nothing is committed, and a device that asks too often is told to slow
//! down. What was decided is answered at any pace. The token family of an approved grant says the rest.

use super::{
    Grant, Issued,
    issue::{self, INVALID_GRANT, Presented},
};
use crate::{
    actors::Failure,
    crypto::OpaqueKind,
    domain::{
        authorization::Denial,
        client::{GrantType, KnownClient},
        device_grant::{Command, Refusal, Reply},
        token_family::{self, Narrowing, Redeem},
    },
    http::{
        answer::{
            authorization_error::refusal_of,
            error::{Code, OAuthError},
        },
        app::App,
        extract::{client_auth::Caller, form::Form},
        facts::{limits, reading::Reading},
    },
};

pub const GRANT: Grant = Grant {
    kind: GrantType::DeviceCode,
    serve: |app, caller, form| Box::pin(poll(app, caller, form)),
};

const PENDING: OAuthError =
    OAuthError::new(Code::AuthorizationPending, "no person has decided yet: ask again");
const SLOW_DOWN: OAuthError =
    OAuthError::new(Code::SlowDown, "ask less often: the interval is five seconds longer now");
const EXPIRED: OAuthError =
    OAuthError::new(Code::ExpiredToken, "the device code has expired: begin again");

async fn poll(app: &App, caller: &Caller, form: &Form) -> Result<Issued, OAuthError> {
    let client = caller.client();
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter device_code is missing");
    let code = form.get("device_code").ok_or(missing)?;
    let code = OpaqueKind::DeviceCode.read(code, &app.vault.now());
    let Some(code) = code else { return Err(INVALID_GRANT.because("no device code of ours")) };
    let client_id = client.client_id.clone();
    let poll = Command::Poll { client_id, code: code.fingerprint };
    let polled = app.device_grants.ask(&caller.context, &code.id, poll).await;
    let in_time = match polled.map(|replied| replied.reply) {
        Ok(Reply::StillPending) => {
            let early = app.polls.is_early(&code.id, app.clock.now());
            return Err(if early { SLOW_DOWN } else { PENDING });
        }
        Ok(Reply::Redeemable { in_time }) => in_time,
        // Its family may live still: a code that comes again then ends it.
        Err(Failure::Refused(Refusal::Expired)) => false,
        Err(Failure::Refused(Refusal::Denied(why))) => return Err(refusal_of(&why).into()),
        Err(Failure::Refused(why)) => return Err(INVALID_GRANT.because(why.to_string())),
        Ok(_) => return Err(OAuthError::unavailable()),
        Err(failure) => return Err(OAuthError::unavailable().because(failure.to_string())),
    };
    app.polls.forget(&code.id);
    check_membership(app, client, &code.id).await?;
    let refreshable = client.may_use(GrantType::RefreshToken);
    // The scopes were said when the device asked.
    let narrowing = Narrowing { scopes: None, ..issue::narrowing(app, form) };
    let presented =
        Presented { context: &caller.context, client, family: &code.id, refreshable, narrowing };
    let issued = issue::issue(app, presented, |issuing| {
        token_family::Command::Redeem(Box::new(Redeem {
            code: code.fingerprint,
            redirect_uri: None,
            verifier: Some(code.fingerprint),
            refreshable,
            issuing,
        }))
    })
    .await;
    issued.map_err(|error| match error.code {
        Code::InvalidGrant if !in_time => EXPIRED,
        _ => error,
    })
}

/// Refuses a person who no longer speaks for the organization that they chose (contract §5).
pub(super) async fn check_membership(
    app: &App,
    client: &KnownClient,
    id: &str,
) -> Result<(), OAuthError> {
    let family = app.family_views.peek(id).await?;
    let Some(grant) = family.machine.grant().filter(|grant| grant.membership.is_some()) else {
        return Ok(());
    };
    let limited = limits::gather(app, client, grant, Reading::Anew).await?;
    match limited.limits.held {
        Some(_) => Ok(()),
        None => Err(refusal_of(&Denial::NotAMember).into()),
    }
}
