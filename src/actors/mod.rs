//! Who does the work: one owner for each thing that changes or runs.
//!
//! ```text
//! root                        restarts what dies; out of restarts, the process drains and exits
//! ├── host of a kind          one for each kind of machine; lets idle entities rest
//! │   └── entity              one live machine; hydrate → decide → commit → answer → rest
//! ├── key keeper              folder and store → signers and the published key set
//! ├── feed                    new rows of the security log → messages to webhooks
//! ├── outbox                  leased messages → couriers
//! ├── inviter                 mails the invitations that an allowance did not permit before, or that were not accepted
//! ├── organization eraser     erases organizations whose time has come, with what they own
//! └── janitor                 forgets what has expired, anchors the security log
//! hashing pool                its own threads (actix), behind permits of its own
//! ```
//!
//! Other modules hold [`Entities`], [`View`], [`KeySnapshot`] or [`hashing::HashingPool`], and never
//! an actor. [`tree::Tree`] starts the tree and stops it again; nothing is global.

mod batches;
mod birth;
mod commit_builder;
mod concurrent_work;
mod connection_purge;
mod deciding;
mod directory;
mod domain_checks;
mod domain_holders;
mod domain_records;
mod entities;
mod entity;
mod entity_state;
mod eraser;
mod failure;
mod feed;
mod gate;
pub mod hashing;
mod host;
mod hydrate;
mod janitor;
mod key_backing;
mod key_keeper;
mod kind_shared;
mod mailbox;
mod metrics;
mod multi_commit;
mod newborn;
mod organization_eraser;
mod organization_export;
mod outbox;
mod outbox_metrics;
mod quarantine;
mod read_cache;
mod read_caches;
mod read_set;
mod repeated_work;
mod reserved_names;
mod root;
mod services;
mod staging;
mod tree;
mod view;
mod wake;

pub use domain_holders::{DomainHolder, DomainHolders};
pub use domain_records::DomainRecords;
pub use entities::Entities;
pub use failure::{Answer, Failure, VersionedReply};
pub use hydrate::{
    EntitySnapshot, HydrateError, ListEntry, hydrate, hydrate_page, hydrate_page_of_all,
    hydrate_row,
};
pub use janitor::{JanitorOptions, LOG_HEADS, export_log_heads};
pub use key_backing::key_backing;
pub use key_keeper::{
    INSTALLATION, KeyOptions, KeySnapshot, ReadFolder, read_on_a_blocking_thread,
};
pub use metrics::KindReport;
pub use multi_commit::{MultiCommit, MultiCommits};
// What a commit of several entities may answer.
pub use crate::store::CommitError;
pub use organization_export::OrganizationExport;
pub use outbox::{Courier, Couriers, DeliveryFailure, DeliveryFuture, OutboxMessage};
pub use outbox_metrics::TopicReport;
pub use read_caches::ReadCaches;
pub use read_set::ReadSet;
pub use repeated_work::RepeatedWork;
pub use reserved_names::{SettleError, settle_reserved_names};
pub use root::RestartBudget;
pub use services::Services;
pub use tree::{Keys, StartError, Tree, TreeOptions};
pub use view::{Bound, Entry, NameView, View};
