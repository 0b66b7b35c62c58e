//! The account that a person's identifier names, for a first proof: known and unknown identifiers cost
//! the same.

use super::{Step, StepRequest};
use crate::{
    actors::EntitySnapshot,
    domain::{
        account::{Account, EMAIL_ADDRESSES, Known, normalise_email},
        flow::AccountProof,
    },
    http::{
        answer::error::Problem,
        app::App,
        flows::{
            known_browser,
            problems::{NOT_NOW, UNAVAILABLE},
        },
        limits::attempts::{Attempt, AttemptRefusal},
    },
};
use std::sync::Arc;

/// No account has this id, and reading it costs what reading one does.
pub(super) const DECOY: &str = "00000000-0000-0000-0000-000000000000";

/// The account that was named, if there is one, and the attempt that is charged to its name.
pub struct NamedAccount {
    seen: Arc<EntitySnapshot<Account>>,
    pub attempt: Attempt,
}

impl NamedAccount {
    pub fn account(&self) -> Option<&Known> {
        self.seen.machine.known()
    }

    /// Returns a proof of this account, judged on what was read of it.
    pub fn proved(&self, step: &dyn Step) -> Option<AccountProof> {
        self.account().map(|known| AccountProof::of(step.path(), known, self.seen.version))
    }
}

impl StepRequest<'_> {
    /// Charges an attempt to the identifier, whether or not an account has it, and looks it up.
    pub async fn named(&self, step: &dyn Step) -> Result<NamedAccount, Problem> {
        let open = self.offered(step).await?;
        if let Some(person) = &open.person {
            // They are signed in: nothing can be learnt from an answer.
            let seen = self.app.views.accounts.peek(&person.account).await?;
            let email = seen.machine.known().ok_or(NOT_NOW)?.normalised_email();
            let attempt = self.charge_attempt(step.path(), &email).await?;
            return Ok(NamedAccount { seen, attempt });
        }
        let identifier = open.identifier.ok_or(NOT_NOW)?;
        // What is not an address belongs to no account, and costs the same.
        let email = normalise_email(&identifier).unwrap_or_else(|| identifier.to_lowercase());
        let attempt = self.charge_attempt(step.path(), &email).await?;
        Ok(NamedAccount { seen: find(self.app, &email).await?, attempt })
    }

    /// A browser in which the person signed in before has an allowance of its own when that of the
    /// identifier is used up.
    pub(super) async fn charge_attempt(
        &self,
        step: &'static str,
        email: &str,
    ) -> Result<Attempt, Problem> {
        let (app, source) = (self.app, &self.opened.source);
        let context = &self.opened.context;
        let refused = match app.limits.attempts.charge(context, step, email).await {
            Ok(attempt) => return Ok(attempt),
            Err(AttemptRefusal::Unavailable) => return Err(UNAVAILABLE),
            Err(refused @ AttemptRefusal::TooMany(_)) => refused,
        };
        if source.known_browser.is_none() {
            return Err(refused.into());
        }
        let seen = find(app, email).await?;
        match seen.machine.known() {
            Some(known) => self.charge_known_browser(step, known, refused).await,
            None => Err(refused.into()),
        }
    }

    /// Charges an attempt that was refused to the browser, where the person signed in before in it.
    pub(super) async fn charge_known_browser(
        &self,
        step: &'static str,
        account: &Known,
        refused: AttemptRefusal,
    ) -> Result<Attempt, Problem> {
        let (app, context) = (self.app, &self.opened.context);
        match known_browser::find(app, &self.opened.source, account).await {
            Some(browser) => {
                Ok(app.limits.attempts.charge_known_browser(context, step, &browser).await?)
            }
            None => Err(refused.into()),
        }
    }
}

/// Finds the account of an address, with as many readings where there is none. One that its person
/// cannot sign in to is answered as none: it is not said to a caller who has proved nothing.
pub(super) async fn find(app: &App, email: &str) -> Result<Arc<EntitySnapshot<Account>>, Problem> {
    let seen = find_holder(app, email).await?;
    let now = app.clock.now();
    if seen.machine.known().is_some_and(|known| known.admits(now)) {
        return Ok(seen);
    }
    Ok(Arc::new(EntitySnapshot { machine: Account::default(), version: 0 }))
}

/// Finds the account of an address, whatever its standing.
pub(super) async fn find_holder(
    app: &App,
    email: &str,
) -> Result<Arc<EntitySnapshot<Account>>, Problem> {
    let holder = app.store.find(EMAIL_ADDRESSES, email).await?;
    let id = holder.map_or_else(|| DECOY.to_owned(), |(_, id)| id);
    Ok(app.views.accounts.peek(&id).await?)
}
