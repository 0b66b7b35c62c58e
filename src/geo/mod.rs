//! Where addresses are: a database in the `MaxMind DB` format, read from a file (adr/0141).
//!
//! It only ever adds to what people are told. One that cannot be used is said in the log and by `porteiro doctor`, and the
//! server goes on without it.

mod record;

use crate::domain::{Locale, Timestamp, place::Place};
use maxminddb::{MaxMindDbError, Reader};
use record::CityRecord;
use std::{
    fs::File,
    io::{self, Read as _},
    net::IpAddr,
    path::{Path, PathBuf},
    sync::{Arc, PoisonError, RwLock},
    time::Duration,
};

/// A larger file is not read into memory.
pub const LARGEST_FILE: u64 = 512 * 1024 * 1024;

/// Older than this, what it says of addresses is wrong too often.
pub const OLDEST: Duration = Duration::from_hours(365 * 24);

/// A database that can be used.
pub struct LoadedDatabase {
    reader: Reader<Vec<u8>>,
    pub built_at: Timestamp,
}

/// Why a database cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GeoFault {
    #[error("cannot be read")]
    Unreadable(#[from] io::Error),
    #[error("is larger than {} MB", LARGEST_FILE / 1024 / 1024)]
    TooLarge,
    #[error("is no database of places")]
    Malformed(#[source] MaxMindDbError),
    #[error("is older than a year: it was built at {0}")]
    TooOld(String),
}

/// The database that an operator has named, if it can be used; it may be read again.
#[derive(Default)]
pub struct GeoDatabase {
    path: Option<PathBuf>,
    loaded: RwLock<Option<Arc<LoadedDatabase>>>,
}

impl GeoDatabase {
    /// Knows no place.
    pub fn none() -> Self {
        Self::default()
    }

    /// Reads a file. Where that fails, the log says why, and no place is known.
    pub fn open(path: &Path, now: Timestamp) -> Self {
        let database = Self { path: Some(path.to_owned()), loaded: RwLock::new(None) };
        database.reload(now);
        database
    }

    /// Reads the file again; one that cannot be used changes nothing.
    pub fn reload(&self, now: Timestamp) {
        let Some(path) = &self.path else { return };
        match load(path, now) {
            Ok(loaded) => {
                let built = loaded.built_at.rfc3339();
                tracing::info!(built, "the database of places was read");
                let mut held = self.loaded.write().unwrap_or_else(PoisonError::into_inner);
                *held = Some(Arc::new(loaded));
            }
            Err(fault) => {
                let path = path.display().to_string();
                let why = source(&fault);
                tracing::error!(path, %fault, why, "the database of places cannot be used");
            }
        }
    }

    /// Says where an address is, in words of this language.
    pub fn place(&self, address: IpAddr, locale: Locale) -> Place {
        let loaded = self.loaded.read().unwrap_or_else(PoisonError::into_inner).clone();
        let record = loaded.and_then(|loaded| loaded.record(address));
        record.map_or_else(Place::default, |record| record.place(locale))
    }
}

impl LoadedDatabase {
    /// Looks an address up; what is broken there is as if it were not there.
    fn record(&self, address: IpAddr) -> Option<CityRecord> {
        let found = self.reader.lookup(address.to_canonical());
        found.and_then(|found| found.decode::<CityRecord>()).ok().flatten()
    }
}

/// Says what is behind a fault.
fn source(fault: &GeoFault) -> Option<String> {
    std::error::Error::source(fault).map(ToString::to_string)
}

/// Reads a database, if it can be used at this time.
pub fn load(path: &Path, now: Timestamp) -> Result<LoadedDatabase, GeoFault> {
    let file = File::open(path)?;
    if file.metadata()?.len() > LARGEST_FILE {
        return Err(GeoFault::TooLarge);
    }
    // What has grown meanwhile, or is no plain file, is bounded all the same.
    let mut bytes = Vec::new();
    file.take(LARGEST_FILE + 1).read_to_end(&mut bytes)?;
    if u64::try_from(bytes.len()).is_ok_and(|length| length > LARGEST_FILE) {
        return Err(GeoFault::TooLarge);
    }
    let reader = Reader::from_source(bytes).map_err(GeoFault::Malformed)?;
    let built = i64::try_from(reader.metadata().build_epoch).unwrap_or(i64::MAX);
    let built_at = Timestamp::from_seconds(built);
    if now.since(built_at) > OLDEST {
        return Err(GeoFault::TooOld(built_at.rfc3339()));
    }
    // Some address of each family: a tree that is cut off shows here, and not at a sign-in.
    for address in [IpAddr::from([1, 1, 1, 1]), IpAddr::from([203, 0, 113, 9])] {
        let found = reader.lookup(address).and_then(|found| found.decode::<CityRecord>());
        found.map_err(GeoFault::Malformed)?;
    }
    Ok(LoadedDatabase { reader, built_at })
}

#[cfg(test)]
mod tests;
