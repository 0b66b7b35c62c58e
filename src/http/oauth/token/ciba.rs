//! An `auth_req_id` for tokens: CIBA Core §10.1, §11.
//!
//! While the person has not decided, nothing is committed, and a client that asks too often is told to
//! slow down. What was decided is answered at any pace. The token family of an approved request says the
//! rest. No claim of the ID token names the request: CIBA Core §10.3.1 has that for push alone.

use super::{
    Grant, Issued, device_code,
    issue::{self, INVALID_GRANT, Presented},
};
use crate::{
    actors::Failure,
    crypto::OpaqueKind,
    domain::{
        backchannel_request::{Command, Refusal, Reply},
        client::GrantType,
        token_family::{self, Narrowing, Redeem},
    },
    http::{
        answer::{
            authorization_error::refusal_of,
            error::{Code, OAuthError},
        },
        app::App,
        extract::{client_auth::Caller, form::Form},
    },
};

pub const GRANT: Grant =
    Grant { kind: GrantType::Ciba, serve: |app, caller, form| Box::pin(poll(app, caller, form)) };

const PENDING: OAuthError =
    OAuthError::new(Code::AuthorizationPending, "the person has not decided yet: ask again");
const SLOW_DOWN: OAuthError =
    OAuthError::new(Code::SlowDown, "ask less often: the interval is five seconds longer now");
const EXPIRED: OAuthError =
    OAuthError::new(Code::ExpiredToken, "the auth_req_id has expired: begin again");

async fn poll(app: &App, caller: &Caller, form: &Form) -> Result<Issued, OAuthError> {
    let client = caller.confidential()?;
    let missing = OAuthError::new(Code::InvalidRequest, "the parameter auth_req_id is missing");
    let code = form.get("auth_req_id").ok_or(missing)?;
    let code = OpaqueKind::BackchannelRequest.read(code, &app.vault.now());
    let Some(code) = code else { return Err(INVALID_GRANT.because("no auth_req_id of ours")) };
    let client_id = client.client_id.clone();
    let poll = Command::Poll { client_id, code: code.fingerprint };
    let polled = app.backchannel_requests.ask(&caller.context, &code.id, poll).await;
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
    device_code::check_membership(app, client, &code.id).await?;
    let refreshable = client.may_use(GrantType::RefreshToken);
    // The scopes were said when the client asked.
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
