//! `GET /me`: the account of the person who is signed in, and what their session is worth now.

use super::caller::{Caller, SignedIn};
use crate::{
    domain::{
        Timestamp,
        account::{Channel, Known},
        assurance::{Level, amr},
    },
    http::{
        answer::{error::Problem, private_json},
        app::App,
        time::rfc3339,
    },
};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};
use serde::Serialize;
use serde_json::{Map, Value};

#[derive(Serialize)]
pub struct Overview {
    sub: String,
    pub email: String,
    pub email_verified: bool,
    /// The standard claims that are held, by their names (OIDC Core §5.1).
    #[serde(flatten)]
    pub claims: Map<String, Value>,
    created_at: String,
    /// Addresses that are not proved yet.
    #[serde(skip_serializing_if = "Option::is_none")]
    proposed_email: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    proposed_phone_number: Option<String>,
    assurance: Assurance,
    pub credentials: Credentials,
}

#[derive(Serialize)]
struct Assurance {
    /// What is reached now; it lapses.
    #[serde(skip_serializing_if = "Option::is_none")]
    reached: Option<&'static str>,
    methods: Vec<&'static str>,
    /// In seconds, as tokens say it.
    #[serde(skip_serializing_if = "Option::is_none")]
    auth_time: Option<i64>,
}

/// Which credentials there are, and nothing of what they are.
#[derive(Serialize)]
pub struct Credentials {
    pub password: bool,
    pub totp: bool,
    pub passkeys: usize,
    /// How many are left.
    pub recovery_codes: usize,
}

impl IntoResponse for Overview {
    fn into_response(self) -> Response {
        private_json(&self)
    }
}

pub async fn get(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Overview, Problem> {
    let known = caller.known(&app).await?;
    Ok(Overview::of(&app, &caller, known))
}

impl Overview {
    /// Tells a person of their account.
    pub fn of(app: &App, caller: &Caller, known: Known) -> Self {
        let (evidence, now) = (&caller.present.person.evidence, app.clock.now());
        let credentials = Credentials::of(&known);
        let proposed = |channel| {
            let open = known.proposed(channel).filter(|one| now < one.expires_at());
            open.map(|one| one.address().to_owned())
        };
        let (proposed_email, proposed_phone_number) =
            (proposed(Channel::Email), proposed(Channel::Phone));
        let Known { id, email, email_verified, profile, created_at, .. } = known;
        let claims = profile.claims().map(|(name, value)| (name.to_owned(), value.clone()));
        Self {
            sub: id,
            email,
            email_verified,
            claims: claims.collect(),
            created_at: rfc3339(created_at),
            proposed_email,
            proposed_phone_number,
            assurance: Assurance {
                reached: evidence.shown_level(now).map(Level::name),
                methods: amr(&evidence.methods()),
                auth_time: evidence.last_anywhere().map(Timestamp::seconds),
            },
            credentials,
        }
    }
}

impl Credentials {
    fn of(account: &Known) -> Self {
        let held = &account.credentials;
        Self {
            password: held.password().is_some(),
            totp: held.totp().is_some(),
            passkeys: held.passkeys().count(),
            recovery_codes: held.recovery_codes().map_or(0, |(_, left)| left),
        }
    }
}
