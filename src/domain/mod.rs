//! The rules, as plain values: no input or output, no clock, no randomness.
//!
//! A [`Machine`] is the state of one entity together with everything that may happen to it. It is
//! driven from outside, always in the same order:
//!
//! 1. `decide` looks at the state, a command and the time, and says what follows: events, what
//!    else belongs into the same commit, and the answer to give once that commit is durable;
//! 2. `apply` folds each event into the state;
//! 3. the projections (`live_until`, `forget_at`, `names`, `listings`) are read off the new state
//!    and written beside it.
//!
//! Nothing here knows that a database or an actor exists.

pub mod access_token;
pub mod account;
pub mod account_alerts;
pub mod agent_allowance;
pub mod api_key;
pub mod approval_block;
pub mod assurance;
pub mod authority;
pub mod authorization;
pub mod authorization_details;
pub mod awaited;
pub mod backchannel_request;
pub mod brand;
pub mod client;
pub mod client_assertion;
mod client_rank;
pub mod connection;
pub mod connection_trial;
pub mod consent;
mod context;
mod decision;
pub mod delegation;
mod device;
pub mod device_grant;
mod dispatch;
pub mod distinguished_name;
pub mod domain_claim;
mod domain_name;
pub mod dpop;
mod epoch;
pub mod export;
pub mod external_identity;
mod fingerprint;
pub mod flow;
pub mod grant;
pub mod id_token;
pub mod installation;
pub mod invitation;
mod locale;
pub mod logout;
pub mod membership;
pub mod message;
pub mod organization;
pub mod password;
pub mod person;
pub mod picture;
pub mod place;
pub mod possession;
mod projection;
pub mod proof_of_work;
mod provisioned;
pub mod pushed_request;
mod quiet_hours;
mod rate;
mod record;
pub mod request_object;
pub mod requested_claims;
pub mod reserved_names;
pub mod resource;
pub mod scim;
mod secret;
pub mod session;
pub mod signing_keys;
pub mod strict_json;
mod sub_command;
pub mod throttle;
mod time;
pub mod token_family;
pub mod trail;
pub mod upstream;
pub mod upstream_session;
mod visible_text;
pub mod webhook;

pub use client_rank::ClientRank;
pub use context::{Actor, Context, LONGEST_USER_AGENT};
pub use decision::{Birth, Decision, Effects, Requirement};
pub use device::{Browser, Device, DeviceKind, System};
pub use dispatch::{DeliveryClass, DeliveryKey, Dispatch};
pub use domain_name::{DomainName, MalformedDomain};
pub use fingerprint::{Fingerprint, MalformedFingerprint};
pub use locale::Locale;
pub use projection::{Listing, Name};
pub use provisioned::Provisioned;
use provisioned::Redrawn;
pub use quiet_hours::QuietHours;
pub use rate::Rate;
pub use record::Record;
pub use secret::Secret;
pub use sub_command::{EntityKind, Staged, StagedMachine, SubCommand};
use time::CLOCK_SKEW;
pub use time::{Clock, Timestamp};
pub use visible_text::is_hidden;

use serde::{Serialize, de::DeserializeOwned};

/// A state machine that owns one entity's rules.
///
/// `Default` is the entity before its first event; such an entity has no row.
pub trait Machine: Clone + Default + Serialize + DeserializeOwned + Send + Sync + 'static {
    /// The `kind` column under which the store keeps this machine.
    const KIND: &'static str;
    /// Raised whenever an older binary could not keep what a newer one stores: a new field, a new
    /// state. A row of a higher revision is left alone by a binary that does not know it.
    const REVISION: u32 = 1;
    /// Whether an id follows from what callers present, as of an assertion that is used: one that is to
    /// be made may well be there, and the store looks for it before it writes.
    const ID_IS_DERIVED: bool = false;
    /// Whether what it grants is judged again at each use by all that its commits require. Then it is enough that these held
    /// when the commit was carried out: PostgreSQL need not keep others from changing them until it has ended (adr/0169).
    const IS_JUDGED_AGAIN: bool = false;
    type Command: Send + Sync + 'static;
    type Event: Send + Sync + 'static;
    type Reply: Send + Sync + 'static;
    type Refusal: Send + Sync + 'static;

    /// Says what follows from `command`; a refusal may still carry events.
    fn decide(&self, command: &Self::Command, now: Timestamp) -> Decision<Self>;

    /// Folds one fact into the state; total, and never refuses.
    fn apply(&mut self, event: &Self::Event);

    /// Until when this entity confers authority on what descends from it.
    ///
    /// Revoked or suspended is `Timestamp::NEVER`: one query over ancestors then sees it.
    fn live_until(&self) -> Timestamp {
        Timestamp::FOREVER
    }

    /// When the row may be forgotten; `None` keeps it.
    fn forget_at(&self) -> Option<Timestamp> {
        None
    }

    /// The names by which this entity alone may be found; a name has one holder at a time.
    fn names(&self) -> Vec<Name> {
        Vec::new()
    }

    /// The lists in which this entity appears.
    fn listings(&self) -> Vec<Listing> {
        Vec::new()
    }

    /// Whether `command`, when it changes nothing, may be answered from memory alone.
    ///
    /// Another node may have moved the row on. By default an answer that commits nothing is given
    /// only after the row's version was seen to be the one it rests on. One that tolerates less may
    /// be up to a second old.
    fn tolerates_stale(_command: &Self::Command) -> bool {
        false
    }
}
