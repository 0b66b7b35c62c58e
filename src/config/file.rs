//! Reads a file, up to a limit.

use super::Complaint;
use std::{
    fs::{self, File},
    io::{self, Read},
    path::Path,
};

/// Reads a file of at most `limit` bytes.
pub fn read_text(path: &Path, limit: u64) -> Result<String, Complaint> {
    let file = File::open(path).map_err(|error| cannot_be_read(&error))?;
    if file.metadata().map_err(|error| cannot_be_read(&error))?.is_dir() {
        return Err(Complaint::new(0, "is a folder, not a file"));
    }
    read_text_from(file, limit)
}

/// Reads a file of at most `limit` bytes that need not be text.
pub fn read_bytes(path: &Path, limit: u64) -> Result<Vec<u8>, Complaint> {
    // What is no file may keep a reader waiting for ever.
    let facts = fs::metadata(path).map_err(|error| cannot_be_read(&error))?;
    if !facts.is_file() {
        return Err(Complaint::new(0, "is not a file"));
    }
    let file = File::open(path).map_err(|error| cannot_be_read(&error))?;
    read_bytes_from(file, limit)
}

/// Names a file that cannot be read, and why.
pub fn unreadable(path: &Path, error: &io::Error) -> String {
    cannot_be_read(error).of_file(path)
}

fn cannot_be_read(error: &io::Error) -> Complaint {
    let text = match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        kind => format!("cannot be read ({kind})"),
    };
    Complaint::new(0, text)
}

/// Reads at most `limit` bytes to the end.
pub fn read_text_from(source: impl Read, limit: u64) -> Result<String, Complaint> {
    String::from_utf8(read_bytes_from(source, limit)?).map_err(|error| {
        let good = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = good.split(|byte| *byte == b'\n').count();
        Complaint::new(line, "is not text in UTF-8")
    })
}

fn read_bytes_from(source: impl Read, limit: u64) -> Result<Vec<u8>, Complaint> {
    let mut bytes = Vec::new();
    // One byte more than allowed tells whether the file is too large; its stated size may be wrong.
    let read = source.take(limit + 1).read_to_end(&mut bytes);
    read.map_err(|error| cannot_be_read(&error))?;
    if bytes.len() as u64 > limit {
        return Err(Complaint::new(0, format!("is larger than {} KiB", limit / 1024)));
    }
    Ok(bytes)
}
