//! `/me/email` and `/me/phone`: another address, used once the person has proved that it is theirs.
//!
//! 1. `POST /me/email` or `/me/phone` needs a fresh proof and sends a code to the new address; the
//!    address that is used so far is told;
//! 2. `POST …/confirm` takes the code, and the new address is used instead of the former one.
//!
//! Whether another account has an e-mail address is not told here: its holder gets a mail without a
//! code. That no two accounts have one is decided in the commit.

use super::{
    caller::{Caller, SignedIn},
    change::{change, reach},
    step_up,
};
use crate::{
    crypto::draw_text,
    domain::{
        Fingerprint, Timestamp,
        account::{
            Channel, Command, EMAIL_ADDRESSES, Known, Proposed, Refusal, is_phone_number,
            normalise_email,
        },
        message::{Mail, MailContent, RequestOrigin, Sms, SmsContent},
    },
    http::{
        answer::{error::Problem, private_json},
        app::App,
        extract::{context::RequestContext, json::Json, origin::Origin},
        limits::{attempts::MessageSender, purpose::Purpose},
        people::{
            notice::telling,
            one_time_code::{draw_code, typed},
        },
        time::rfc3339,
    },
};
use axum::{
    extract::State,
    http::{Method, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde::Deserialize;
use serde_json::json;
use std::net::IpAddr;

/// What the keyed tags of codes are for.
const PURPOSE: &str = "address proof";

const NO_CHANNEL: Problem = Problem::new(
    StatusCode::CONFLICT,
    "channel_unavailable",
    "this installation cannot send a code there",
);

#[derive(Deserialize)]
pub struct NewEmail {
    email: String,
}

#[derive(Deserialize)]
pub struct NewPhone {
    phone_number: String,
}

#[derive(Deserialize)]
pub struct Code {
    code: String,
}

pub async fn propose_email(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    Json { headers, body: NewEmail { email }, .. }: Json<NewEmail>,
) -> Result<Response, Problem> {
    let mut caller = Caller::of(&app, context, &Method::POST, &headers).await?;
    let malformed = || Problem::wrong_member("#/email", Refusal::Email.to_string());
    let asked = normalise_email(&email).ok_or_else(malformed)?;
    if !app.channels().mail {
        return Err(NO_CHANNEL);
    }
    let known = caller.known(&app).await?;
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    charge(&app, &caller, address, &asked).await?;
    let holder = app.store.find(EMAIL_ADDRESSES, &asked).await?;
    let free = holder.is_none_or(|(_, id)| id == known.id);
    let code = draw_code(&*app.dice);
    // No code has the other one.
    let right = if free { code.clone() } else { draw_text(&*app.dice, 32) };
    let kept = fingerprint(&app, &known.id, Channel::Email, &right);
    let expires_at = app.clock.now() + app.settings.lifetimes.one_time_code;
    let to = email.trim().to_owned();
    let locale = known.locale().or(caller.source.locale).unwrap_or(app.settings.locale);
    let content =
        if free { MailContent::EmailChangeCode { code } } else { MailContent::EmailChangeKnown };
    let asked = RequestOrigin::by_request(&caller.context, app.clock.now());
    let mail = Mail::new(&*to, locale, content).asked(asked);
    let propose = Command::Propose {
        channel: Channel::Email,
        proposed: Box::new(Proposed::new(&*to, kept, expires_at)),
        message: mail.dispatch(expires_at),
    };
    let propose =
        telling(&app, &caller.context, &known, MailContent::EmailChangeRequested, propose);
    change(&app, &caller, propose).await?;
    Ok(accepted("email", &to, expires_at))
}

pub async fn propose_phone(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    Json { headers, body: NewPhone { phone_number }, .. }: Json<NewPhone>,
) -> Result<Response, Problem> {
    let mut caller = Caller::of(&app, context, &Method::POST, &headers).await?;
    if !is_phone_number(&phone_number) {
        let why = "must be + and at most 15 digits, country first and nothing between them (E.164)";
        return Err(Problem::wrong_member("#/phone_number", why));
    }
    if !app.channels().sms {
        return Err(NO_CHANNEL);
    }
    let known = caller.known(&app).await?;
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    charge(&app, &caller, address, &phone_number).await?;
    let code = draw_code(&*app.dice);
    let kept = fingerprint(&app, &known.id, Channel::Phone, &code);
    let expires_at = app.clock.now() + app.settings.lifetimes.one_time_code;
    let sms = Sms {
        to: phone_number.clone(),
        locale: known.locale().or(caller.source.locale).unwrap_or(app.settings.locale),
        content: SmsContent::VerifyPhoneCode { code },
    };
    let propose = Command::Propose {
        channel: Channel::Phone,
        proposed: Box::new(Proposed::new(&*phone_number, kept, expires_at)),
        message: sms.dispatch(expires_at),
    };
    change(&app, &caller, propose).await?;
    Ok(accepted("phone_number", &phone_number, expires_at))
}

pub async fn confirm_email(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    Json { headers, body, .. }: Json<Code>,
) -> Result<Response, Problem> {
    let caller = Caller::of(&app, context, &Method::POST, &headers).await?;
    // The address that was used until now is told.
    confirm(&app, caller, address, (Channel::Email, body, MailContent::EmailChanged)).await
}

pub async fn confirm_phone(
    State(app): State<App>,
    Origin(address): Origin,
    RequestContext(context): RequestContext,
    Json { headers, body, .. }: Json<Code>,
) -> Result<Response, Problem> {
    let caller = Caller::of(&app, context, &Method::POST, &headers).await?;
    confirm(&app, caller, address, (Channel::Phone, body, MailContent::PhoneChanged)).await
}

pub async fn remove_phone(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
) -> Result<Response, Problem> {
    let known = caller.known(&app).await?;
    if known.claim("phone_number").is_none() {
        return Err(Problem::NOT_FOUND);
    }
    if let Some(refused) = step_up::demand(&app, &mut caller, &known).await? {
        return Ok(refused);
    }
    let remove = Command::RemovePhone { reach: reach(&app, caller.account()).await? };
    change(
        &app,
        &caller,
        telling(&app, &caller.context, &known, MailContent::PhoneRemoved, remove),
    )
    .await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

async fn confirm(
    app: &App,
    mut caller: Caller,
    address: IpAddr,
    (channel, Code { code }, notice): (Channel, Code, MailContent),
) -> Result<Response, Problem> {
    app.limits.pace.take(Purpose::Credential, address, app.clock.now())?;
    if let Some(refused) = step_up::demand_own(app, &mut caller).await? {
        return Ok(refused);
    }
    let known: Known = caller.known(app).await?;
    let code = fingerprint(app, &known.id, channel, &typed(&code));
    let prove = telling(app, &caller.context, &known, notice, Command::Prove { channel, code });
    change(app, &caller, prove).await?;
    Ok(StatusCode::NO_CONTENT.into_response())
}

/// Charges what a message costs: to the caller, to the address it goes to, and to the account, so that
/// one person cannot have many others written to.
async fn charge(app: &App, caller: &Caller, from: IpAddr, to: &str) -> Result<(), Problem> {
    app.limits.pace.take(Purpose::Message, from, app.clock.now())?;
    let own = MessageSender::Account(caller.account());
    app.limits.attempts.charge_message(&caller.context, to, own).await?;
    // Whose address it is, is not proved yet.
    let stranger = MessageSender::Stranger(app.limits.pace.network(from));
    Ok(app.limits.attempts.charge_message(&caller.context, to, stranger).await?)
}

/// Returns what is kept of a code: bound to the account and the channel, and of no use without our key.
fn fingerprint(app: &App, account: &str, channel: Channel, text: &str) -> Fingerprint {
    let name = match channel {
        Channel::Email => "email",
        Channel::Phone => "phone",
    };
    let key = app.crypto.vault.now().mac_key(PURPOSE);
    Fingerprint::of(&key.tag(&[account.as_bytes(), name.as_bytes(), text.as_bytes()]))
}

fn accepted(name: &str, address: &str, expires_at: Timestamp) -> Response {
    let mut response = private_json(&json!({ name: address, "expires_at": rfc3339(expires_at) }));
    *response.status_mut() = StatusCode::ACCEPTED;
    response
}
