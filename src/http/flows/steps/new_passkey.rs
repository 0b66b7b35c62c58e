//! `passkey/create_options` and `passkey/create`: a person adds a passkey to their account, or to the
//! one that they are about to make.

use super::{Step, StepRequest, Taking, ceremony};
use crate::{
    crypto::passkeys::{PasskeyError, Registrant},
    domain::{
        Timestamp,
        account::{Account, Command, MOST_PASSKEYS, Passkey},
        assurance::Level,
        flow::{Open, SIGN_IN},
        message::MailContent,
    },
    http::{
        flows::{
            ending::{AnsweredStep, Enrolment, StepAnswer},
            problems::{ACCOUNT_CHANGED, NOT_NOW, PASSKEY_REFUSED},
        },
        limits::purpose::Purpose,
        people::{new_recovery_codes::NewRecoveryCodes, notice::telling},
    },
};
use serde::Deserialize;
use serde_json::{Map, Value};

pub struct PasskeyCreateOptions;

pub struct PasskeyCreate;

#[derive(Deserialize)]
struct Wish {
    /// How the browser is asked; by the person, unless it is said.
    #[serde(default)]
    mediation: Option<Mediation>,
}

/// How a browser is asked for a passkey (WebAuthn Level 3 §5.1.3).
#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Mediation {
    /// Its password manager may make one by itself.
    Conditional,
}

#[derive(Deserialize)]
struct Body {
    /// What the browser answered, in the JSON of WebAuthn §5.1.
    credential: Map<String, Value>,
    /// What the person calls it; else it is called after its device.
    #[serde(default)]
    name: Option<String>,
}

/// The person as their authenticator will show them.
struct PasskeyLabel {
    email: String,
    name: String,
}

impl Step for PasskeyCreateOptions {
    fn path(&self) -> &'static str {
        "passkey/create_options"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Wish { mediation } = request.body()?;
            request.charge(Purpose::Credential)?;
            let open = request.offered(self).await?;
            // Only beside a sign-in, where the person has just proved a password: elsewhere they are asked.
            if mediation.is_some() && open.seed.kind != SIGN_IN {
                return Err(NOT_NOW);
            }
            let account = &open.person.as_ref().ok_or(NOT_NOW)?.account;
            let seen = request.app.views.accounts.look_anew(account).await?;
            let PasskeyLabel { email, name } = shown(&open, &seen.machine).ok_or(NOT_NOW)?;
            let held = passkeys_of(kept(&open, &seen.machine));
            if held.len() >= MOST_PASSKEYS {
                return Err(PASSKEY_REFUSED);
            }
            let registrant = Registrant { account, email: &email, display_name: &name };
            let passkeys = ceremony::passkeys(request.app)?;
            let begun = match mediation {
                None => passkeys.begin_registration(registrant, held),
                Some(Mediation::Conditional) => {
                    passkeys.begin_conditional_registration(registrant, held)
                }
            };
            request.hold_ceremony(self, &PasskeyCreate, begun).await
        })
    }
}

impl Step for PasskeyCreate {
    fn path(&self) -> &'static str {
        "passkey/create"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let app = request.app;
            let Body { credential, name } = request.body()?;
            request.charge(Purpose::Credential)?;
            let open = request.offered(self).await?;
            let account = open.person.as_ref().ok_or(NOT_NOW)?.account.clone();
            let name = name.unwrap_or_else(|| device_name(&request));
            let passkeys = ceremony::passkeys(app)?;
            let credential = Value::Object(credential);
            let made = match ceremony::held(&open, self, app.clock.now()) {
                None => Err(PasskeyError::NoCeremony),
                Some((state, spends)) => passkeys
                    .finish_registration(state, &credential, &name)
                    .map(|made| (made, spends)),
            };
            let (made, spends) = match made {
                Ok(made) => made,
                Err(why) => {
                    tracing::info!(%why, "a new passkey was refused");
                    return request.disprove_of(self, Some(account), None).await;
                }
            };
            let seen = app.views.accounts.look_anew(&account).await?;
            if !may_still_add(&open, &seen.machine, app.clock.now()) {
                return Err(ACCOUNT_CHANGED);
            }
            let content = MailContent::PasskeyAdded { name: made.name.clone() };
            let add = Command::AddPasskey(Box::new(made));
            let context = &request.opened.context;
            // A person who makes an account knows what they do.
            let mut changes = vec![match seen.machine.known() {
                Some(known) => telling(app, context, known, content, add),
                None => add,
            }];
            let recovery_codes =
                NewRecoveryCodes::with_credential(app, kept(&open, &seen.machine), &mut changes)
                    .await?;
            let (step, spends) = (self.path(), Some(spends));
            let answer = StepAnswer::Enrolled(Enrolment { step, spends, changes, recovery_codes });
            request.proceed(AnsweredStep { account: &account, chosen: None, answer }).await
        })
    }
}

/// Tells whether a person who is signed in, or about to be, has proved as much as their account can, which may have got
/// its first passkey or authenticator application since the flow began.
fn may_still_add(open: &Open, account: &Account, now: Timestamp) -> bool {
    let reaches_aal2 = account.known().is_some_and(|known| known.credentials.reach_aal2());
    let level = open.person.as_ref().and_then(|person| person.evidence.level(now));
    let is_known = open.seed.signed_in.is_some() || open.seed.kind == SIGN_IN;
    !is_known || !reaches_aal2 || level >= Some(Level::Aal2)
}

/// Returns what is left of an account when its new passkey is there: of one that is recovered by the link
/// of an operator, no credential.
fn kept<'a>(open: &Open, account: &'a Account) -> &'a Account {
    if open.seed.operator_link.is_some() { &Account::Unborn } else { account }
}

/// Says how an authenticator will show the person: as their account does, or as they have just said.
fn shown(open: &Open, account: &Account) -> Option<PasskeyLabel> {
    match (account.known(), &open.applicant) {
        (Some(known), _) => {
            Some(PasskeyLabel { email: known.email.clone(), name: known.profile.full_name() })
        }
        (None, Some(applicant)) => {
            let names = [&applicant.given_name, &applicant.family_name];
            let names: Vec<&str> = names.into_iter().flatten().map(String::as_str).collect();
            Some(PasskeyLabel { email: applicant.email.clone(), name: names.join(" ") })
        }
        (None, None) => None,
    }
}

fn passkeys_of(account: &Account) -> Vec<&Passkey> {
    let Some(known) = account.known() else { return Vec::new() };
    known.credentials.passkeys().map(|(passkey, _)| passkey).collect()
}

/// Names a passkey after the device that asks for it, as far as its browser says which it is.
fn device_name(request: &StepRequest<'_>) -> String {
    /// Parts of what browsers say of themselves; the first that is there counts.
    const DEVICES: [(&str, &str); 7] = [
        ("iPhone", "iPhone"),
        ("iPad", "iPad"),
        ("Android", "Android"),
        ("CrOS", "Chromebook"),
        ("Windows", "Windows"),
        ("Macintosh", "Mac"),
        ("Linux", "Linux"),
    ];
    let agent = request.opened.context.user_agent().unwrap_or_default();
    let device = DEVICES.iter().find(|(part, _)| agent.contains(part));
    device.map(|(_, name)| (*name).to_owned()).unwrap_or_default()
}
