//! Who does the work: one owner for each thing that changes or runs.
//!
//! ```text
//! root                        restarts what dies; its budget spent, the process drains and exits
//! ├── host of a kind          one for each kind of machine; lets idle entities rest
//! │   └── entity              one live machine; hydrate → decide → commit → answer → rest
//! ├── key keeper              folder and store → signers and the published key set
//! ├── outbox                  leased messages → couriers
//! └── janitor                 forgets what has expired, anchors the security log
//! hashing pool                its own threads (actix), behind permits of its own
//! ```
//!
//! Other rooms hold doors ([`Entities`], [`KeySnapshot`], [`hashing::HashingPool`]) and never an
//! actor. [`tree::Tree`] plants the tree and takes it down again; nothing is global.

mod commit_builder;
mod directory;
mod entities;
mod entity;
mod envelope;
mod failure;
mod gate;
pub mod hashing;
mod host;
mod janitor;
mod key_keeper;
mod kind_shared;
mod list_view;
mod multi_commit;
mod outbox;
mod quarantine;
mod root;
mod services;
mod tree;
mod view;
mod vitals;

pub use entities::Entities;
pub use failure::{Answer, Failure};
pub use janitor::{JanitorOptions, LOG_HEADS, export_log_heads};
pub use key_keeper::{INSTALLATION, KeyOptions, KeySnapshot, ReadFolder};
pub use list_view::{Entry, ListView};
pub use multi_commit::{MultiCommit, MultiCommitError, MultiCommits};
// What a commit of several entities may answer.
pub use crate::store::CommitError;
pub use outbox::{Courier, Couriers, Delivering, Parcel, Undelivered};
pub use root::RestartBudget;
pub use services::Services;
pub use tree::{KeyDoors, StartError, Tree, TreeOptions};
pub use view::{Holders, Seen, View, ViewError};
pub use vitals::KindReport;
