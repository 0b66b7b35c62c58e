//! Changes of the caller's own account, and how their refusals are answered.

use super::{
    caller::{Caller, SESSION_REQUIRED},
    identities,
};
use crate::{
    actors::Failure,
    domain::account::{ClaimFault, Command, EMAIL_ADDRESSES, Reach, Refusal},
    http::{answer::error::Problem, app::App},
};
use axum::http::StatusCode;
use url::form_urlencoded::byte_serialize;

/// How many characters of a name are repeated.
const LONGEST_NAME: usize = 64;

pub const LAST_WAY_IN: Problem = Problem::new(
    StatusCode::CONFLICT,
    "last_way_in",
    "no way to sign in would be left: add another one first",
);

const WRONG_CODE: Problem = Problem::new(
    StatusCode::UNPROCESSABLE_ENTITY,
    "wrong_code",
    "the code is wrong, has expired, or was used: ask for another one",
);

const EMAIL_TAKEN: Problem =
    Problem::new(StatusCode::CONFLICT, "email_taken", "another account has this address by now");

/// By what this installation lets people sign in beside their credentials.
pub async fn reach(app: &App, account: &str) -> Result<Reach, Problem> {
    reach_without(app, account, None).await
}

/// The same, without the identity that is about to be unlinked.
pub async fn reach_without(
    app: &App,
    account: &str,
    identity: Option<&str>,
) -> Result<Reach, Problem> {
    let channels = app.channels();
    // Where mail is sent there is a way in.
    let identity =
        if channels.mail { None } else { identities::way_in(app, account, identity).await? };
    Ok(Reach { mail: channels.mail, sms: channels.sms, identity })
}

/// Has the account of the caller changed.
pub async fn change(app: &App, caller: &Caller, command: Command) -> Result<(), Problem> {
    let account = caller.account();
    let command = acting(app, caller, command).await?;
    let asked = app.entities.accounts.ask(&caller.context, account, command).await;
    app.views.accounts.forget(account);
    match asked {
        Ok(_) => Ok(()),
        Err(Failure::Refused(refusal)) => Err(refused(refusal)),
        Err(Failure::Taken { space: EMAIL_ADDRESSES }) => Err(EMAIL_TAKEN),
        Err(failure) if failure.may_have_happened() => Err(Problem::OUTCOME_UNKNOWN),
        Err(failure) => {
            tracing::info!(why = %failure, "an account could not be changed");
            Err(Problem::UNAVAILABLE)
        }
    }
}

/// Returns the command as one of a person in the session that they came with, which may end before it is decided.
pub async fn acting(app: &App, caller: &Caller, command: Command) -> Result<Command, Problem> {
    let everyone = app.sign_outs().await?.everyone;
    Ok(Command::Acting { epoch: caller.present.person.epoch, everyone, command: Box::new(command) })
}

pub fn refused(refusal: Refusal) -> Problem {
    match refusal {
        Refusal::OtherEpoch => SESSION_REQUIRED,
        Refusal::NoTotp | Refusal::NoPassword | Refusal::NoPhone | Refusal::NoSuchPasskey => {
            Problem::NOT_FOUND
        }
        Refusal::LastWayIn => LAST_WAY_IN,
        Refusal::WrongCode => WRONG_CODE,
        Refusal::Claims(faults) => match faults.into_iter().next() {
            Some(ClaimFault { claim, problem }) => {
                Problem::wrong_member(format!("#/{}", pointer(&claim)), problem.to_string())
            }
            None => Problem::UNAVAILABLE,
        },
        other => {
            tracing::info!(why = %other, "an account could not be changed");
            Problem::UNAVAILABLE
        }
    }
}

/// Writes the name of a member as part of a JSON pointer in a URI fragment (RFC 6901 §6), no more of it
/// than a name of ours could have.
fn pointer(member: &str) -> String {
    let name: String = member.chars().take(LONGEST_NAME).collect();
    let escaped = name.replace('~', "~0").replace('/', "~1");
    let encoded: String = byte_serialize(escaped.as_bytes()).collect();
    encoded.replace('+', "%20")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hostile_name_is_a_pointer_all_the_same() {
        assert_eq!(pointer("given_name"), "given_name");
        assert_eq!(pointer("name#pt"), "name%23pt");
        assert_eq!(pointer("a/b~c d"), "a%7E1b%7E0c%20d");
        assert_eq!(pointer(&"a".repeat(10_000)).len(), LONGEST_NAME);
    }
}
