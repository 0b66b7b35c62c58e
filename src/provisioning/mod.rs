//! The declarative file that `porteiro apply` takes: read whole, planned whole, committed whole.
//!
//! 1. [`File::parse_beside`] reads TOML and the logos it names into the drafts of the machines, each
//!    with its lines;
//! 2. [`plan()`] has every machine decide on its draft, over one [`MultiCommit`](crate::actors::MultiCommit):
//!    resources, then organizations, then accounts, then clients, so that each sees what the file makes
//!    of the former;
//! 3. [`apply()`] hashes the passwords of accounts that will be created, commits everything as one, and
//!    plans again when another commit was first.
//!
//! Whatever is wrong is a [`Complaint`](crate::config::Complaint) with its line, and all of them are
//! given at once. Nothing is written while there is one.

mod account_change;
mod accounts;
mod administration;
mod agent_limits;
mod api_keys;
mod apply;
mod beginnings;
mod brand;
mod client_changes;
mod clients;
mod connections;
mod domains;
mod file;
mod import;
mod invitations;
mod invite;
mod issuer;
mod lines;
mod lists;
mod names_in_use;
mod organization_changes;
mod organizations;
mod owners;
mod plan;
mod planner;
mod progress;
mod recover;
mod removed_roles;
mod resources;
mod restore;
mod sign_out;
mod suspend;
mod table;
mod unlock;
mod warnings;

pub use account_change::AccountChangeError;
pub use accounts::{MembershipEntry, PasswordEntry, Person};
pub use administration::{Administration, AdministrationError, administration};
pub use api_keys::{
    ApiKeyError, IssuedApiKey, NewApiKey, api_key, create_api_key, revoke_api_key, rotate_api_key,
};
pub use apply::{ApplyError, apply, plan};
pub use client_changes::{
    ClientChange, ClientError, RotatedSecret, change_client, rotate_client_secret,
};
pub use connections::{ConnectionEntry, ConnectionSurvey};
pub use domains::{DomainEntry, DomainSurvey, news_of_record};
pub use file::{File, LARGEST_FILE, MOST_ENTITIES};
pub use import::{
    Format, Import, LARGEST_IMPORT,
    batches::{ImportInterruption, PeopleImport},
};
pub use invitations::{InvitationsError, invitations, uninvite};
pub use invite::{Invite, InviteError, IssuedInvitation, invite};
pub use lines::{Declaration, Lines};
pub use lists::Entries;
pub use organization_changes::{
    OrganizationChange, OrganizationError, change_organization, organization, organization_existed,
};
pub use plan::{Plan, Removal, Step};
pub use recover::{IssuedRecoveryLink, Recover, RecoverError, recover};
pub use restore::{
    EndedCounts, Fate, RestoreError, end_what_may_be_spent, fate_of, keep_closed, keep_revoked,
};
pub use sign_out::{
    ClientHoldings, SignOutCount, SignOutError, SignOutScope, client_holdings, count_sign_out,
    is_closed, set_self_service, sign_out,
};
pub use suspend::{SuspensionChange, SuspensionOutcome, suspend};
pub use unlock::{UnlockError, UnlockOutcome, unlock};
pub use warnings::{CertificateSupport, Warning};

#[cfg(test)]
mod tests;
