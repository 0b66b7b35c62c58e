//! An account and the sign-outs of the installation as they are now: together they say in which epoch a person acts.

use crate::{
    actors::{EntitySnapshot, HydrateError},
    domain::{
        Machine as _, Timestamp,
        account::{Account, Known},
        installation::{INSTALLATION_ID, Installation, SignOuts},
    },
    http::{
        app::App,
        reading::{LivenessReading, Reading},
    },
};
use std::sync::Arc;

pub struct AccountReading {
    pub account: Arc<EntitySnapshot<Account>>,
    pub sign_outs: SignOuts,
}

impl AccountReading {
    /// Reads both in one query, however lately another node or a command has changed them.
    pub async fn of(app: &App, id: &str) -> Result<Self, HydrateError> {
        let asked = [(Account::KIND, id), (Installation::KIND, INSTALLATION_ID)];
        let found = app.store.liveness(&asked).await?;
        let standing = LivenessReading { asked: &asked, found: &found };
        Self::at(app, id, Reading::At(&standing)).await
    }

    /// Reads both as of what was just read where `reading` says so, else as they are now.
    pub async fn seen(app: &App, id: &str, reading: Reading<'_>) -> Result<Self, HydrateError> {
        match reading {
            Reading::At(_) => Self::at(app, id, reading).await,
            Reading::Recent | Reading::Anew => Self::of(app, id).await,
        }
    }

    async fn at(app: &App, id: &str, reading: Reading<'_>) -> Result<Self, HydrateError> {
        let account = reading.see(&app.views.accounts, id).await?;
        let installation = reading.see(&app.views.installation, INSTALLATION_ID).await?;
        Ok(Self { account, sign_outs: installation.machine.sign_outs() })
    }

    /// Returns the account, if what was proved or granted in this epoch is worth anything now.
    pub fn honouring(&self, epoch: u64, now: Timestamp) -> Option<&Known> {
        self.account.machine.known().filter(|known| known.honours(epoch, self.sign_outs, now))
    }

    /// Returns the epoch in which the person acts; none where the account is gone.
    pub fn epoch(&self) -> Option<u64> {
        self.account.machine.known().map(|known| known.person_epoch(self.sign_outs))
    }
}
