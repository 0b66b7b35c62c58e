//! A new set of recovery codes: the person sees it once, the account keeps hashes.

use crate::{
    actors::hashing::HashingError,
    crypto::{RecoveryCode, draw, draw_recovery_codes},
    domain::account::{Account, Command, RecoveryCodes},
    http::{answer::error::Problem, app::App},
};
use zeroize::Zeroizing;

pub struct NewRecoveryCodes {
    /// As they are shown, for this once.
    pub shown: Vec<Zeroizing<String>>,
    pub hashed: RecoveryCodes,
}

impl NewRecoveryCodes {
    pub async fn make(app: &App) -> Result<Self, Problem> {
        let codes = draw_recovery_codes(&*app.dice);
        let shown = codes.iter().map(RecoveryCode::shown).collect();
        let hashed = app.crypto.hashing.hash_recovery_codes(codes, draw(&*app.dice)).await;
        let hashed = hashed.map_err(|error| {
            if error != HashingError::Busy {
                tracing::error!(%error, "recovery codes could not be hashed");
            }
            Problem::UNAVAILABLE
        })?;
        Ok(Self { shown, hashed })
    }

    /// Makes those that come with an authenticator application or a passkey, and adds them to the
    /// `changes` of the account; an account that has unused ones keeps them, and there is nothing to
    /// show.
    pub async fn with_credential(
        app: &App,
        account: &Account,
        changes: &mut Vec<Command>,
    ) -> Result<Vec<Zeroizing<String>>, Problem> {
        if account.known().is_some_and(|known| known.credentials.has_recovery_codes()) {
            return Ok(Vec::new());
        }
        let Self { shown, hashed } = Self::make(app).await?;
        changes.push(Command::IssueRecoveryCodes(hashed));
        Ok(shown)
    }
}
