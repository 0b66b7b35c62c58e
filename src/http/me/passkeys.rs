//! `/me/passkeys`: the passkeys of a person; each can be named and removed.

use super::{
    EntryId, Items,
    caller::{Caller, SignedIn},
    change::{change, reach},
    step_up,
};
use crate::{
    crypto::passkeys::AccountSignal,
    domain::{
        Timestamp,
        account::{Command, Known, LONGEST_PASSKEY_NAME, Passkey as Held},
        is_hidden,
        message::MailContent,
    },
    http::{
        answer::{error::Problem, private_json},
        app::App,
        extract::{context::RequestContext, json::Json},
        people::{notice::telling, passkey_signal::account_signal},
        time::rfc3339,
    },
};
use axum::{
    extract::State,
    http::{Method, StatusCode},
    response::{IntoResponse as _, Response},
};
use serde::{Deserialize, Serialize};

/// A credential id has at most 1023 bytes (WebAuthn §5.8.3), and so many characters in base64url.
const LONGEST_ID: usize = 1364;

#[derive(Serialize)]
pub struct Passkey {
    pub id: String,
    pub name: String,
    pub created_at: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_used_at: Option<String>,
    /// It was copied to other devices, when it was last used.
    pub backed_up: bool,
    /// It cannot be copied: it is lost with its device.
    pub device_bound: bool,
}

impl Passkey {
    fn of(held: &Held, added_at: Timestamp) -> Self {
        Self {
            id: held.id.clone(),
            name: held.name.clone(),
            created_at: rfc3339(added_at),
            last_used_at: held.last_used_at.map(rfc3339),
            backed_up: held.backed_up,
            device_bound: !held.backup_eligible,
        }
    }
}

/// The list, and what a page tells the password manager of its browser.
#[derive(Serialize)]
pub struct Passkeys {
    #[serde(flatten)]
    list: Items<Passkey>,
    /// Goes into `PublicKeyCredential.signalAllAcceptedCredentials` and `signalCurrentUserDetails` as it is; absent where
    /// the issuer has no passkeys.
    #[serde(skip_serializing_if = "Option::is_none")]
    signal: Option<AccountSignal>,
}

pub async fn list(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Response, Problem> {
    let known = caller.known(&app).await?;
    let list = Items::whole(of_account(&known));
    Ok(private_json(&Passkeys { list, signal: account_signal(&app, &known) }))
}

/// Lists the passkeys of an account.
pub fn of_account(known: &Known) -> Vec<Passkey> {
    let held = known.credentials.passkeys();
    held.map(|(held, added_at)| Passkey::of(held, added_at)).collect()
}

#[derive(Deserialize)]
pub struct Rename {
    name: Name,
}

/// What a person calls a passkey; shown to them as they wrote it.
#[derive(Deserialize)]
#[serde(try_from = "String")]
struct Name(String);

impl TryFrom<String> for Name {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || text.chars().count() > LONGEST_PASSKEY_NAME {
            return Err(format!("has 1 to {LONGEST_PASSKEY_NAME} characters"));
        }
        if text.chars().any(|one| one.is_control() || is_hidden(one)) {
            return Err("contains a character that is not seen".to_owned());
        }
        Ok(Self(text.to_owned()))
    }
}

pub async fn patch(
    State(app): State<App>,
    RequestContext(context): RequestContext,
    id: EntryId,
    Json { headers, body: Rename { name: Name(name) }, .. }: Json<Rename>,
) -> Result<Response, Problem> {
    let mut caller = Caller::of(&app, context, &Method::PATCH, &headers).await?;
    let id = id.read(LONGEST_ID)?;
    let command = Command::RenamePasskey { id: id.clone(), name };
    if let Some(refused) = change_one(&app, &mut caller, &id, command).await? {
        return Ok(refused);
    }
    let known = caller.known(&app).await?;
    let renamed = known.credentials.passkeys().find(|(held, _)| held.id == id);
    let (held, added_at) = renamed.ok_or(Problem::NOT_FOUND)?;
    Ok(private_json(&Passkey::of(held, added_at)))
}

pub async fn delete(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
    id: EntryId,
) -> Result<Response, Problem> {
    let id = id.read(LONGEST_ID)?;
    let reach = reach(&app, caller.account()).await?;
    let command = Command::RemovePasskey { id: id.clone(), reach };
    let refused = change_one(&app, &mut caller, &id, command).await?;
    Ok(refused.unwrap_or_else(|| StatusCode::NO_CONTENT.into_response()))
}

/// Changes a passkey of the caller's own; answers with a step-up where the proof is not fresh.
async fn change_one(
    app: &App,
    caller: &mut Caller,
    id: &str,
    command: Command,
) -> Result<Option<Response>, Problem> {
    let known: Known = caller.known(app).await?;
    let name = known.credentials.passkey(id).ok_or(Problem::NOT_FOUND)?.name.clone();
    if let Some(refused) = step_up::demand(app, caller, &known).await? {
        return Ok(Some(refused));
    }
    // A person who did not do it learns of it at once.
    let command = match command {
        Command::RemovePasskey { .. } => {
            let content = MailContent::PasskeyRemoved { name };
            telling(app, &caller.context, &known, content, command)
        }
        other => other,
    };
    change(app, caller, command).await?;
    Ok(None)
}
