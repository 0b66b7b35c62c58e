//! What goes wrong in a flow, in words.

use crate::{
    actors::{Failure, HydrateError},
    domain::{assurance::Acr, flow::Refusal},
    http::{
        answer::error::Problem,
        authorization::approval::{ALREADY_DECIDED, NOT_WAITING},
    },
    store::views::ReadError,
};
use axum::http::StatusCode;

pub const NOT_FOUND: Problem =
    Problem::new(StatusCode::NOT_FOUND, "flow_not_found", "there is no such flow");
pub const WRONG_CHANNEL: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "wrong_channel",
    "this flow belongs to the browser or program that began it",
);
pub const EXPIRED: Problem = Problem::new(StatusCode::GONE, "flow_expired", "begin a new flow");
pub const OVER: Problem = Problem::new(StatusCode::CONFLICT, "flow_over", "this flow is over");
pub const NOT_NOW: Problem = Problem::new(
    StatusCode::CONFLICT,
    "step_not_available",
    "the flow does not wait for this step: look at its steps",
);
pub const INVALID_CREDENTIALS: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "invalid_credentials",
    "the identifier or the credential is wrong",
);
pub const TOO_MANY_MESSAGES: Problem = Problem::new(
    StatusCode::TOO_MANY_REQUESTS,
    "too_many_requests",
    "this flow has sent as many messages as one may: begin a new one",
);
pub const UNAVAILABLE: Problem =
    Problem::new(StatusCode::SERVICE_UNAVAILABLE, "temporarily_unavailable", "please try again");
pub const CLIENT_CHANGED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "client_changed",
    "the application has changed since this flow began: begin again there",
);
pub const SESSION_OVER: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "session_over",
    "the session this flow began in is over: sign in again",
);

pub const ACCOUNT_NOT_HELD: Problem = Problem::new(
    StatusCode::CONFLICT,
    "account_not_held",
    "no such account is signed in here, or no longer: look at the accounts of the flow",
);

pub const SIGN_IN_FIRST: Problem = Problem::new(
    StatusCode::UNAUTHORIZED,
    "session_required",
    "a flow of this kind begins in a session: sign in first",
);
pub const PASSKEY_REFUSED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "passkey_refused",
    "this passkey is enrolled already, or the account has as many as it may",
);
pub const ACCOUNT_CHANGED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "account_changed",
    "the account has just changed: please try again",
);
/// The same code: the account has changed. This flow is over, and trying again is of no use.
pub const SUPERSEDED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "account_changed",
    "what was proved in this flow was changed since: begin a new flow",
);

pub const SIGN_UP_CLOSED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "sign_up_closed",
    "people cannot make accounts for themselves here",
);
pub const PROOF_OF_WORK: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "proof_of_work_required",
    "proof_of_work does not solve the challenge of this flow for this address",
);
pub const EMAIL_TAKEN: Problem = Problem::new(
    StatusCode::CONFLICT,
    "email_taken",
    "an account with this address was made meanwhile: sign in to it",
);
pub const CONNECTION_CHANGED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "connection_changed",
    "the connection to the other provider, or the membership, has changed since: begin a new flow",
);
pub const REQUEST_USED: Problem = Problem::new(
    StatusCode::CONFLICT,
    "request_used",
    "another flow has ended with this pushed request: go back to the application",
);
pub const INVITATION_NOT_GOOD: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "invitation_not_valid",
    "this invitation cannot be accepted: it may have been accepted before, or have expired",
);
pub const RECOVERY_NOT_GOOD: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "recovery_not_valid",
    "this link recovers nothing: it may have been used, replaced or stopped, or have expired",
);
pub const REPORT_NOT_GOOD: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "report_not_valid",
    "this link reports nothing: it may have been decided before, or be older than seven days",
);
/// The account has nothing that reaches what is wanted: no step of a flow could end it (contract §6).
const OUT_OF_REACH: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "assurance_out_of_reach",
    "this needs a second factor that the account does not have: add a passkey or an authenticator application",
);

/// Says what an account must enrol to reach this level.
pub fn out_of_reach(acr: Acr) -> Problem {
    OUT_OF_REACH.mended_by(match acr {
        // Without a password an application is one factor; with one it is the second.
        Acr::Aal1 | Acr::Aal2 => &["enroll_passkey", "enroll_totp"],
        Acr::Aal3 | Acr::Phr | Acr::Phrh => &["enroll_passkey"],
    })
}

pub const ORGANIZATION_SUSPENDED: Problem =
    Problem::new(StatusCode::FORBIDDEN, "organization_suspended", "the organization is suspended");

pub const USER_CODE_NOT_VALID: Problem = Problem::new(
    StatusCode::BAD_REQUEST,
    "user_code_not_valid",
    "no device waits with this code: it may have been used before, or have expired",
);

pub const fn invalid(detail: &'static str) -> Problem {
    Problem::new(StatusCode::BAD_REQUEST, "invalid_request", detail)
}

impl From<Refusal> for Problem {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::Expired => EXPIRED,
            Refusal::Over => OVER,
            Refusal::NotNow => NOT_NOW,
            Refusal::NotAChoice => invalid("there is no such organization to choose"),
            Refusal::Wrong | Refusal::Spent => INVALID_CREDENTIALS,
            Refusal::TooManyMessages => TOO_MANY_MESSAGES,
            Refusal::WrongUserCode => USER_CODE_NOT_VALID,
            Refusal::Superseded => SUPERSEDED,
            Refusal::AccountRefused => ACCOUNT_CHANGED,
            Refusal::PasskeyRefused => PASSKEY_REFUSED,
            Refusal::SessionOver => SESSION_OVER,
            Refusal::InvitationOver => INVITATION_NOT_GOOD,
            Refusal::Suspended => ORGANIZATION_SUSPENDED,
            Refusal::AlreadyDecided => ALREADY_DECIDED,
            Refusal::NotWaiting => NOT_WAITING,
            Refusal::ReportOver => REPORT_NOT_GOOD,
        }
    }
}

impl From<Failure<Refusal>> for Problem {
    fn from(failure: Failure<Refusal>) -> Self {
        match failure {
            Failure::Refused(refusal) => refusal.into(),
            other => {
                tracing::info!(why = %other, "a flow could not go on");
                UNAVAILABLE
            }
        }
    }
}

impl From<HydrateError> for Problem {
    fn from(error: HydrateError) -> Self {
        tracing::warn!(%error, "something could not be looked at");
        UNAVAILABLE
    }
}

impl From<ReadError> for Problem {
    fn from(error: ReadError) -> Self {
        tracing::warn!(%error, "the store could not be read");
        UNAVAILABLE
    }
}
