//! A sorted file of hashes on this machine, searched by halves; it may be far larger than memory.
//!
//! A line is read wherever the search falls, so the file is not trusted to be what it should be: a line
//! that is no hash, or one that is out of order, is an error and no answer.

use super::digest::{DIGITS, Digest, LONGEST_LINE, Line};
use std::{
    cmp::Ordering,
    fs::File,
    io,
    os::unix::fs::FileExt as _,
    path::{Path, PathBuf},
    sync::Arc,
};
use tokio::{
    sync::Semaphore,
    task::{JoinError, spawn_blocking},
};

/// How many searches run at once: a slow disk must not use up the threads that others wait for.
const AT_ONCE: usize = 4;

/// How many lines are looked at before a server relies on a file.
const SAMPLES: u64 = 256;

/// A file that was named by the operator. It is opened for each search, so that it can be replaced.
pub struct HashFile {
    path: PathBuf,
    permits: Arc<Semaphore>,
}

/// Why a file did not say whether a password has leaked.
#[derive(Debug, thiserror::Error)]
pub enum FileFault {
    #[error("it cannot be read")]
    Unreadable(#[from] io::Error),
    #[error("it is not an ordinary file")]
    NotAFile,
    #[error("it holds no hashes")]
    Empty,
    #[error("it holds a line that is no SHA-1 hash, near byte {0}")]
    Malformed(u64),
    #[error("its hashes are not in order, near byte {0}")]
    Unsorted(u64),
    #[error("the search was cut off")]
    CutOff(#[from] JoinError),
}

impl HashFile {
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), permits: Arc::new(Semaphore::new(AT_ONCE)) }
    }

    /// Looks at lines from all over a file, and says what keeps it from being used.
    pub fn examine(path: &Path) -> Result<(), FileFault> {
        let hashes = Hashes::open(path)?;
        let first = hashes.from(0)?.ok_or(FileFault::Empty)?;
        let mut last = first;
        for sample in 1..=SAMPLES {
            // In 128 bits, because the product may not fit into 64.
            let at = u128::from(hashes.size) * u128::from(sample) / u128::from(SAMPLES + 1);
            let at = u64::try_from(at).unwrap_or(hashes.size);
            if let Some(found) = hashes.from(at)? {
                if found.line.digits < last.line.digits {
                    return Err(FileFault::Unsorted(found.start));
                }
                last = found;
            }
        }
        Ok(())
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "a few reads of a file, and at most four at once: this needs no pool of its own"
    )]
    pub(super) async fn has(&self, digest: Digest) -> Result<bool, FileFault> {
        // It is never closed; without a permit the search would only be less bounded.
        let permit = self.permits.clone().acquire_owned().await.ok();
        let path = self.path.clone();
        let searched = spawn_blocking(move || {
            let _permit = permit;
            Hashes::open(&path)?.search(digest.digits())
        });
        searched.await?
    }
}

struct Hashes {
    file: File,
    size: u64,
}

/// A line, and where it begins and ends.
#[derive(Clone, Copy)]
struct LineAt {
    start: u64,
    end: u64,
    line: Line<DIGITS>,
}

impl Hashes {
    fn open(path: &Path) -> Result<Self, FileFault> {
        // Before it is opened: to open a pipe would wait for a writer.
        if !path.metadata()?.is_file() {
            return Err(FileFault::NotAFile);
        }
        let file = File::open(path)?;
        let size = file.metadata()?.len();
        Ok(Self { file, size })
    }

    fn search(&self, wanted: &[u8; DIGITS]) -> Result<bool, FileFault> {
        // Where the line must begin, and between which hashes it must lie.
        let (mut low, mut high) = (0, self.size);
        let (mut least, mut most) = ([b'0'; DIGITS], [b'F'; DIGITS]);
        let mut looked_at_any = false;
        while low < high {
            let middle = low + (high - low) / 2;
            let Some(found) = self.from(middle)?.filter(|found| found.start < high) else {
                high = middle;
                continue;
            };
            looked_at_any = true;
            let digits = found.line.digits;
            if digits < least || digits > most {
                return Err(FileFault::Unsorted(found.start));
            }
            match digits.cmp(wanted) {
                Ordering::Equal => return Ok(found.line.leaked),
                Ordering::Less => (low, least) = (found.end, digits),
                Ordering::Greater => (high, most) = (middle, digits),
            }
        }
        if looked_at_any { Ok(false) } else { Err(FileFault::Empty) }
    }

    /// Returns the first line that begins there or later.
    fn from(&self, at: u64) -> Result<Option<LineAt>, FileFault> {
        // The end of the line before, and all of the next.
        let mut bytes = [0; 2 * LONGEST_LINE];
        let begin = at.saturating_sub(1);
        let read = self.read(begin, &mut bytes)?;
        let bytes = &bytes[..read];
        let skipped = if at == 0 {
            0
        } else {
            match line_end(&bytes[..read.min(LONGEST_LINE)]) {
                Some(end) => end + 1,
                None if read < LONGEST_LINE => return Ok(None),
                None => return Err(FileFault::Malformed(at)),
            }
        };
        let start = begin + skipped as u64;
        let rest = &bytes[skipped..];
        let text = &rest[..line_end(rest).unwrap_or(rest.len())];
        let end = start + (text.len() as u64 + 1);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        if text.is_empty() && end >= self.size {
            return Ok(None);
        }
        let line = Line::parse(text).ok_or(FileFault::Malformed(start))?;
        Ok(Some(LineAt { start, end, line }))
    }

    /// Reads as much as there is.
    fn read(&self, at: u64, bytes: &mut [u8]) -> io::Result<usize> {
        let mut read = 0;
        while read < bytes.len() {
            match self.file.read_at(&mut bytes[read..], at + read as u64) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(read)
    }
}

fn line_end(bytes: &[u8]) -> Option<usize> {
    bytes.iter().position(|byte| *byte == b'\n')
}
