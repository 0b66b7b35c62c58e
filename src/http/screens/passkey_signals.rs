//! What a page tells the password manager of its browser of passkeys: which are good, and which one is not (WebAuthn
//! Level 3 §5.1.10, adr/0143). The script hands it over.
//!
//! A passkey that is said to be unknown may vanish from the person's devices. So only the browser that has presented it is
//! told, and by a word of ours: it travels in the address of the page, sealed to the flow, and no link that another person
//! made says anything.

use crate::{
    crypto::passkeys::{AccountSignal, UnknownCredentialSignal},
    domain::account::Known,
    http::{
        app::App,
        extract::form::Form,
        flows::{Document, steps::unknown_passkey},
        people::passkey_signal::account_signal,
    },
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde::Serialize;

const PURPOSE: &str = "unknown-passkey";

/// More than an id has, and what seals it.
const LONGEST: usize = 2_000;

#[derive(Serialize)]
struct PasskeySignals {
    #[serde(skip_serializing_if = "Option::is_none")]
    unknown: Option<UnknownCredentialSignal>,
    #[serde(skip_serializing_if = "Option::is_none")]
    account: Option<AccountSignal>,
}

/// Returns what the page of an account tells.
pub fn of_account(app: &App, known: &Known) -> Option<String> {
    written(None, Some(account_signal(app, known)?))
}

/// Returns what the page of a flow tells: that the passkey which was presented last is unknown, or, after a recovery,
/// which ones are left.
pub async fn of_flow(app: &App, document: &Document, query: &Form) -> Option<String> {
    if let Some(sealed) = query.get("unknown") {
        let id = open(app, &document.id, sealed)?;
        return written(Some(app.crypto.passkeys.as_ref()?.unknown_credential_signal(id)), None);
    }
    let account = document.recovered.as_ref()?;
    let seen = app.views.accounts.look_anew(account).await.ok()?;
    of_account(app, seen.machine.known()?)
}

fn written(
    unknown: Option<UnknownCredentialSignal>,
    account: Option<AccountSignal>,
) -> Option<String> {
    serde_json::to_string(&PasskeySignals { unknown, account }).ok()
}

/// Seals the id of a passkey that a form has presented, for the page of its flow, if no account has it.
pub async fn seal_unknown(app: &App, form: &Form) -> Option<String> {
    let (flow, credential) = (form.get("flow")?, form.get("credential")?);
    let id = unknown_passkey(app, &serde_json::from_str(credential).ok()?).await?;
    let sealed = app.crypto.vault.now().seal(PURPOSE, flow.as_bytes(), id.as_bytes(), &*app.dice);
    Some(URL_SAFE_NO_PAD.encode(sealed))
}

/// Opens what was sealed for this flow; nothing, where it is anything else.
fn open(app: &App, flow: &str, sealed: &str) -> Option<String> {
    let sealed = URL_SAFE_NO_PAD.decode(sealed).ok().filter(|all| all.len() <= LONGEST)?;
    let id = app.crypto.vault.now().open(PURPOSE, flow.as_bytes(), &sealed).ok()?;
    String::from_utf8(id.expose().to_vec()).ok()
}
