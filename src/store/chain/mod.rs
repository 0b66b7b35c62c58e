//! The security log's chain: each row carries a MAC over itself and the row before it in its lane.
//!
//! A lane is one chain of rows with one writer at a time, so that writers do not wait for each other.
//! A writer takes a free lane or opens a new one, which is recorded in the root lane: there are as many
//! lanes as there ever were writers at once, and verification notices a lane that is gone. The head of a lane moves by compare-and-swap inside the
//! commit it belongs to: two writers that believe they hold the same lane cannot fork it.

mod lanes;
mod writer;

pub(super) use writer::{Entry, LogWriter, PreparedAppend};

use super::{engine, value::Row};
use crate::domain::Timestamp;
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value as Json, json};

/// The lane in which the other lanes are registered; no row of it is ever deleted.
pub(super) const ROOT: &str = "root";

/// A MAC of the chain.
pub type Mac = [u8; 32];

/// The keys of the chain, old ones included; the store never sees them.
pub trait ChainKeys: Send + Sync {
    /// Returns the key for new rows; it stays the same key for as long as it is held.
    fn current(&self) -> Box<dyn ChainKey>;

    /// Returns the MAC over `parts` under the named key, or nothing where that key is not known.
    fn mac(&self, key: &str, parts: &[&[u8]]) -> Option<Mac>;
}

/// The key that rows are being written with.
pub trait ChainKey: Send + Sync {
    fn id(&self) -> &str;

    fn mac(&self, parts: &[&[u8]]) -> Mac;
}

/// One row of the log, as it is chained and as it is read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogRow {
    pub lane: String,
    pub seq: i64,
    pub at: Timestamp,
    pub event: String,
    pub organization: Option<String>,
    /// The entity whose commit wrote this.
    pub kind: String,
    pub id: String,
    pub detail: String,
    pub mac_key: String,
    pub mac: Vec<u8>,
}

/// Whether a row is what the holder of the keys wrote there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Link {
    Proven,
    Broken,
    UnknownKey,
}

impl LogRow {
    /// Calls `mac` with what the MAC of this row covers where it follows a row whose MAC is `previous`.
    pub(super) fn chained<T>(&self, previous: &[u8], mac: impl FnOnce(&[&[u8]]) -> T) -> T {
        let organization = self.organization.as_deref();
        mac(&[
            previous,
            self.lane.as_bytes(),
            &self.seq.to_be_bytes(),
            &self.at.millis().to_be_bytes(),
            self.event.as_bytes(),
            if organization.is_some() { b"1" } else { b"0" },
            organization.unwrap_or_default().as_bytes(),
            self.kind.as_bytes(),
            self.id.as_bytes(),
            self.detail.as_bytes(),
        ])
    }

    /// Tells whether this row was written to follow one whose MAC is `previous`.
    pub(super) fn link_to(&self, previous: &[u8], chain_keys: &dyn ChainKeys) -> Link {
        match self.chained(previous, |parts| chain_keys.mac(&self.mac_key, parts)) {
            None => Link::UnknownKey,
            Some(mac) if mac.as_slice() == self.mac => Link::Proven,
            Some(_) => Link::Broken,
        }
    }

    /// Reads the columns of [`super::sql::LOG_PAGE`].
    pub(super) fn read(lane: &str, row: &Row) -> engine::Result<Self> {
        Ok(Self {
            lane: lane.to_owned(),
            seq: row.int(0)?,
            at: Timestamp::from_millis(row.int(1)?),
            event: row.text(2)?,
            organization: row.optional_text(3)?,
            kind: row.text(4)?,
            id: row.text(5)?,
            detail: row.text(6)?,
            mac_key: row.text(7)?,
            mac: row.bytes(8)?,
        })
    }

    /// Returns the lane that this row registers, if it does.
    pub(super) fn registers(&self) -> Option<String> {
        if (self.lane.as_str(), self.event.as_str()) != (ROOT, "log.lane_registered") {
            return None;
        }
        let detail: Json = serde_json::from_str(&self.detail).ok()?;
        detail["lane"].as_str().map(str::to_owned)
    }

    /// Returns the heads that this row names, if it is a record of the log about itself.
    pub(super) fn names(&self) -> Vec<Head> {
        let detail: Json = serde_json::from_str(&self.detail).unwrap_or_default();
        Head::all_named(&detail["heads"]).collect()
    }

    pub(super) fn head(self) -> Head {
        Head { lane: self.lane, seq: self.seq, mac: self.mac }
    }
}

/// The end of a lane: what the next row is chained to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Head {
    pub lane: String,
    pub seq: i64,
    pub mac: Vec<u8>,
}

impl Head {
    pub(super) fn read(row: &Row) -> engine::Result<Self> {
        Ok(Self { lane: row.text(0)?, seq: row.int(1)?, mac: row.bytes(2)? })
    }

    /// Writes `heads` as the log's own records name them: lane → sequence number and MAC.
    pub(super) fn name_all<'a>(heads: impl IntoIterator<Item = &'a Self>) -> Json {
        let named = |head: &Self| json!([head.seq, URL_SAFE_NO_PAD.encode(&head.mac)]);
        heads.into_iter().map(|head| (head.lane.clone(), named(head))).collect()
    }

    /// Reads what [`Self::name_all`] has written.
    pub(super) fn all_named(named: &Json) -> impl Iterator<Item = Self> {
        named.as_object().into_iter().flatten().filter_map(|(lane, head)| {
            let mac = URL_SAFE_NO_PAD.decode(head[1].as_str()?).ok()?;
            Some(Self { lane: lane.clone(), seq: head[0].as_i64()?, mac })
        })
    }
}
