//! A file as text, no larger than such a file has any reason to be.

use super::Complaint;
use std::{fs::File, io::Read, path::Path};

/// Reads a file of at most `limit` bytes.
pub fn read_text(path: &Path, limit: u64) -> Result<String, Complaint> {
    let unreadable =
        |error: std::io::Error| Complaint::new(0, format!("cannot be read ({})", error.kind()));
    let file = File::open(path).map_err(unreadable)?;
    if file.metadata().map_err(unreadable)?.is_dir() {
        return Err(Complaint::new(0, "is a folder, not a file"));
    }
    let mut bytes = Vec::new();
    // One byte more than allowed tells too large from just large enough, whatever the size was said to be.
    file.take(limit + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    if bytes.len() as u64 > limit {
        return Err(Complaint::new(0, format!("is larger than {} KiB", limit / 1024)));
    }
    String::from_utf8(bytes).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        Complaint::new(line, "is not text in UTF-8")
    })
}
