//! An account and the sign-outs of the installation as they are now: together they say in which epoch a person acts.

use crate::{
    actors::{EntitySnapshot, HydrateError},
    domain::{
        Machine as _, Requirement, Timestamp,
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
    installation: i64,
}

impl AccountReading {
    /// Reads both in one query, however lately another node or a command has changed them.
    pub async fn of(app: &App, id: &str) -> Result<Self, HydrateError> {
        let asked = [(Account::KIND, id), (Installation::KIND, INSTALLATION_ID)];
        let found = app.store.liveness(&asked).await?;
        let standing = LivenessReading { asked: &asked, found: &found };
        Self::at(app, id, Reading::At(&standing)).await
    }

    /// Reads both as `reading` says. A commit that rests on what is not new [requires](Self::requirements) it.
    pub async fn seen(app: &App, id: &str, reading: Reading<'_>) -> Result<Self, HydrateError> {
        let seen = match reading {
            Reading::At(_) => return Self::at(app, id, reading).await,
            Reading::Recent => Self::at(app, id, reading).await?,
            Reading::Anew => return Self::of(app, id).await,
        };
        // A row that is not there cannot be required to stay away.
        if seen.installation == 0 { Self::of(app, id).await } else { Ok(seen) }
    }

    /// What was read must be unchanged when a commit that rests on it is carried out.
    pub fn requirements(&self, id: &str) -> impl Iterator<Item = Requirement> {
        let account = Requirement::unchanged::<Account>(id, self.account.version);
        let installation = (self.installation > 0)
            .then(|| Requirement::unchanged::<Installation>(INSTALLATION_ID, self.installation));
        [account].into_iter().chain(installation)
    }

    async fn at(app: &App, id: &str, reading: Reading<'_>) -> Result<Self, HydrateError> {
        let account = reading.see(&app.views.accounts, id).await?;
        let installation = reading.see(&app.views.installation, INSTALLATION_ID).await?;
        let sign_outs = installation.machine.sign_outs();
        Ok(Self { account, sign_outs, installation: installation.version })
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
