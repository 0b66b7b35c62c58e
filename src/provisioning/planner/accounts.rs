//! Accounts and what they are in organizations.

use super::Planner;
use crate::{
    crypto::draw_uuid,
    domain::{
        Machine as _, Provisioned,
        account::{Account, Command, EMAIL_ADDRESSES, Known, Refusal, Reply},
        membership::{self, MEMBERSHIPS, Membership},
    },
    provisioning::{
        accounts::{self, PasswordEntry, Person},
        apply::ApplyError,
        invite::withdraw_pending,
        lines::Declaration,
    },
};
use std::collections::BTreeMap;

/// How many memberships are read at a time.
const PAGE: u32 = 200;

/// What is said of an account that an export has suspended.
const SUSPENDED: &str = "suspended";

impl<'a> Planner<'a, '_> {
    /// Decides on an account that exists, and on the memberships of every account.
    ///
    /// An account that is to be created is only tried: its credentials are expensive, and are not made
    /// for a file that is refused further down.
    pub(super) async fn account(
        &mut self,
        declared: &'a Declaration<Person>,
    ) -> Result<(), ApplyError> {
        let Declaration { draft: person, lines } = declared;
        let command = Command::Provision(person.draft.clone());
        let (id, outcome) = if let Some(id) = self.holder(&person.address).await? {
            let outcome = self.existing(&id, person, &command).await?;
            (id, outcome)
        } else {
            self.newborn.push(declared);
            self.first_password(declared);
            let tried = Account::default().decide(&command, self.workbench.clock().now());
            (self.beginnings.id(person).to_owned(), tried.outcome)
        };
        let moved = self.memberships(declared, &id).await?;
        match outcome {
            // Nothing else is asked of an account here.
            Ok(Reply::Used) => {}
            Ok(Reply::Provisioned(outcome)) => {
                let outcome = if moved { outcome.with(accounts::MEMBERSHIPS) } else { outcome };
                self.accept::<Account>(&person.draft.email, outcome);
            }
            Err(refusal) => {
                self.complain::<Account>(&person.draft.email, accounts::said(&refusal, lines));
            }
        }
        Ok(())
    }

    /// Decides on an account that exists; one that must not be usable is suspended.
    async fn existing(
        &mut self,
        id: &str,
        person: &Person,
        command: &Command,
    ) -> Result<Result<Reply, Refusal>, ApplyError> {
        let known = self.multi_commit.look::<Account>(id).await?.known();
        let is_suspended = known.is_some_and(Known::is_suspended);
        if person.enables && is_suspended {
            let enabled = self.multi_commit.decide::<Account>(id, &Command::Enable).await?;
            if let Err(refusal) = enabled {
                return Ok(Err(refusal));
            }
            let outcome = self.multi_commit.decide::<Account>(id, command).await?;
            return Ok(outcome.map(|reply| match reply {
                Reply::Provisioned(provisioned) => Reply::Provisioned(provisioned.with("enabled")),
                Reply::Used => Reply::Used,
            }));
        }
        if person.suspended && is_suspended {
            // It is as the file wants it, and accepts no other change.
            return Ok(Ok(Reply::Provisioned(Provisioned::Unchanged)));
        }
        let outcome = self.multi_commit.decide::<Account>(id, command).await?;
        let Ok(Reply::Provisioned(provisioned)) = outcome else { return Ok(outcome) };
        if !person.suspended {
            return Ok(Ok(Reply::Provisioned(provisioned)));
        }
        let suspended = self.multi_commit.decide::<Account>(id, &Command::Suspend).await?;
        Ok(suspended.map(|_| Reply::Provisioned(provisioned.with(SUSPENDED))))
    }

    /// Holds the password of an account that is to be created to the rule for new ones.
    fn first_password(&mut self, Declaration { draft: person, lines }: &Declaration<Person>) {
        let Some(PasswordEntry::Clear(password)) = &person.password else { return };
        if let Err(fault) = self.workbench.password_policy().check_length(password) {
            let said = (lines.of_field("password"), format!("`password` {fault}"));
            self.complain::<Account>(&person.draft.email, [said]);
        }
    }

    /// Returns the id of the account that has the address.
    async fn holder(&mut self, address: &str) -> Result<Option<String>, ApplyError> {
        let found = self.workbench.store().find(EMAIL_ADDRESSES, address).await?;
        let Some((_, id)) = found else { return Ok(None) };
        let exists = self.multi_commit.look::<Account>(&id).await?.known().is_some();
        Ok(exists.then_some(id))
    }

    /// Makes an account's memberships what the file says, and tells whether they were not.
    async fn memberships(
        &mut self,
        Declaration { draft: person, lines }: &Declaration<Person>,
        account: &str,
    ) -> Result<bool, ApplyError> {
        let Some(entries) = &person.memberships else { return Ok(false) };
        let mut held = self.held_memberships(account).await?;
        let mut drafts = Vec::with_capacity(entries.len() + held.len());
        for entry in entries {
            let id = held.remove(&entry.organization);
            drafts.push(membership::Draft {
                id: id.unwrap_or_else(|| draw_uuid(self.workbench.dice())),
                account: account.to_owned(),
                organization: entry.organization.clone(),
                roles: Some(entry.roles.clone()),
                enabled: Some(entry.enabled),
                mapped: None,
                entry: None,
                word: membership::Word::Operator,
            });
        }
        // A list given replaces the list held, and nothing is deleted.
        drafts.extend(held.into_iter().map(|(organization, id)| membership::Draft {
            id,
            account: account.to_owned(),
            organization,
            roles: None,
            enabled: Some(false),
            mapped: None,
            entry: None,
            word: membership::Word::Operator,
        }));
        let mut moved = false;
        for draft in drafts {
            let home = self.organization_as_left(&draft.organization).await?;
            let (id, slug) = (draft.id.clone(), draft.organization.clone());
            let ends = draft.enabled == Some(false);
            let command = membership::Command::Provision { draft, home };
            match self.multi_commit.decide::<Membership>(&id, &command).await? {
                Ok(outcome) => {
                    let changed = outcome != Provisioned::Unchanged;
                    moved |= changed;
                    if ends && changed {
                        // What was sent before would bring them back.
                        let (workbench, commit) = (self.workbench, &mut self.multi_commit);
                        withdraw_pending(workbench, commit, &slug, &person.draft.email).await?;
                    }
                }
                Err(refusal) => {
                    let said = accounts::said_of_membership(&refusal, lines);
                    self.complain::<Account>(&person.draft.email, [said]);
                }
            }
        }
        if moved {
            // Another file may give the same account other memberships, and change none of these
            // rows: then one of the two is planned again.
            self.multi_commit.touch::<Account>(account).await?;
        }
        Ok(moved)
    }

    /// Returns the ids of all the memberships that an account ever had, by organization.
    async fn held_memberships(
        &mut self,
        account: &str,
    ) -> Result<BTreeMap<String, String>, ApplyError> {
        let mut held = BTreeMap::new();
        let mut after = (String::new(), String::new());
        loop {
            let store = self.workbench.store();
            let page = store.list(MEMBERSHIPS, account, (&after.0, &after.1), PAGE).await?;
            let is_last = page.len() < PAGE as usize;
            for listed in page {
                after = (listed.rank.clone(), listed.id.clone());
                held.insert(listed.rank, listed.id);
            }
            if is_last {
                return Ok(held);
            }
        }
    }
}
