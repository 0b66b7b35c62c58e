//! A file that is copied while it is used, and one that takes the place of another (adr/0157).

use super::{File, LOCK_TIMEOUT, execute, find_fault, id_in, id_of, stop_writing};
use crate::store::{
    engine::faults::{DatabaseError, Result},
    value::Value,
};
use rusqlite::{Connection, OpenFlags};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// What SQLite keeps beside a database, by how the names end.
const BESIDE: [&str; 3] = [WAL, "-shm", JOURNAL];

const WAL: &str = "-wal";

/// How many links lead to a file, at most.
const MOST_LINKS: u32 = 16;

/// There is one only while a connection is alone with the file, or where its process was killed.
const JOURNAL: &str = "-journal";

impl File {
    /// Copies what is committed now into `copy`, an empty file. Commits go on meanwhile.
    pub(in crate::store) fn copy_into(&self, copy: &Path) -> Result<()> {
        let why = "the path of the copy is no text";
        let copy = copy.to_str().ok_or(DatabaseError::Address(why))?;
        let connection = self.open_to_read(LOCK_TIMEOUT)?;
        execute(&connection, "VACUUM INTO $1", &[Value::Text(copy)]).map(drop)
    }

    /// The file itself, where this is a link to it; made where it is missing.
    pub(in crate::store) fn to_be_made(&self) -> Self {
        let path = fs::canonicalize(&self.path);
        Self::at(path.unwrap_or_else(|_| end_of_links(&self.path)), true)
    }

    /// A file that is there.
    pub(in crate::store) fn existing(path: &Path) -> Self {
        Self::at(path.to_owned(), false)
    }

    /// Reads all of a file that no other process uses, and says what is wrong with it.
    pub(in crate::store) fn find_fault(&self) -> Result<Option<String>> {
        let connection = self.open(OpenFlags::SQLITE_OPEN_READ_WRITE, LOCK_TIMEOUT)?;
        find_fault(&connection)
    }

    /// Has everything of the database lie in its file, on the disk.
    pub(in crate::store) fn fold(&self) -> Result<()> {
        let connection = self.open_alone()?;
        connection.close().map_err(|(_, error)| error)?;
        remove_beside(&self.path)?;
        Ok(fs::File::open(&self.path)?.sync_all()?)
    }

    /// Puts `new`, which is all in one file, in the place of this one, whose only connection is `alone`. After a crash
    /// the one or the other is there, and nothing beside it.
    pub(in crate::store) fn replace_by(&self, new: &Path, alone: &Connection) -> Result<()> {
        give_rights_of(&self.path, new)?;
        stop_writing(alone)?;
        remove_beside(&self.path)?;
        Ok(fs::rename(new, &self.path)?)
    }
}

/// A file that is being written. It is removed again unless it was put in its place.
pub(in crate::store) struct Draft {
    pub(in crate::store) path: PathBuf,
    /// Locked for as long where the next one of its name would remove it.
    file: fs::File,
}

impl Draft {
    /// Makes an empty file that its owner alone can read; fails where there is one.
    pub(in crate::store) fn make(path: PathBuf) -> io::Result<Self> {
        let mut options = fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        {
            use std::os::unix::fs::OpenOptionsExt as _;
            options.mode(0o600);
        }
        let file = options.open(&path)?;
        Ok(Self { path, file })
    }

    /// Makes one beside `file`, named after it. One that lies there was left by a process that was killed, unless that
    /// process still holds it.
    pub(in crate::store) fn make_beside(file: &Path, what_for: &str) -> io::Result<Self> {
        let path = Self::place(file, what_for);
        let made = match Self::make(path.clone()) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                remove_left(&path)?;
                Self::make(path)?
            }
            made => made?,
        };
        made.file.try_lock()?;
        let held = made.file.metadata()?;
        // Before it was locked, another process may have taken it for one that was left.
        if id_of(&made.path).is_ok_and(|found| found == id_in(&held)) {
            return Ok(made);
        }
        made.keep();
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Fills it with another file, and has that reach the disk.
    pub(in crate::store) fn fill(&mut self, from: &mut fs::File) -> io::Result<()> {
        io::copy(from, &mut self.file)?;
        self.file.sync_all()
    }

    /// Where the one beside `file` is made.
    pub(in crate::store) fn place(file: &Path, what_for: &str) -> PathBuf {
        ending(file, &format!(".{what_for}"))
    }

    /// Gives the file its name; fails where another has it.
    pub(in crate::store) fn publish(self, name: &Path) -> io::Result<()> {
        match fs::hard_link(&self.path, name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {
                // A file system without links: the name is taken for a moment by an empty file.
                let place = Self::make(name.to_owned())?;
                fs::rename(&self.path, name)?;
                place.keep();
                self.keep();
                Ok(())
            }
            // The other name is removed with the draft.
            linked => linked,
        }
    }

    /// Leaves the file, which has another name now or is wanted as it is.
    pub(in crate::store) fn keep(mut self) {
        self.path = PathBuf::new();
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // What cannot be removed stands in the way of the next one, which says so.
            let _ = remove_with_beside(&self.path);
        }
    }
}

/// Removes what a process left that was killed; refuses what is no file, or is held by a process that runs.
fn remove_left(path: &Path) -> io::Result<()> {
    if !path.symlink_metadata()?.is_file() {
        return Err(io::ErrorKind::AlreadyExists.into());
    }
    let left = fs::File::open(path)?;
    left.try_lock()?;
    remove_with_beside(path)
}

/// The files beside a database that may hold a part of it, as far as there are any.
pub(in crate::store) fn beside(file: &Path) -> Option<PathBuf> {
    let parts = [WAL, JOURNAL].map(|end| ending(file, end));
    parts.into_iter().find(|path| is_filled(path))
}

/// Tells whether what a transaction changed may have to be undone first.
pub(super) fn has_journal(file: &Path) -> bool {
    is_filled(&ending(file, JOURNAL))
}

fn is_filled(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.len() > 0)
}

/// Has `file` belong to the user and group of another, with its mode: an operator may not be the user of the server.
#[cfg(unix)]
fn give_rights_of(other: &Path, file: &Path) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt as _, chown};
    let (wanted, now) = (other.metadata()?, file.metadata()?);
    if (wanted.uid(), wanted.gid()) != (now.uid(), now.gid()) {
        chown(file, Some(wanted.uid()), Some(wanted.gid()))?;
    }
    fs::set_permissions(file, wanted.permissions())
}

#[cfg(not(unix))]
fn give_rights_of(_: &Path, _: &Path) -> io::Result<()> {
    Ok(())
}

/// Follows links to a file that is missing.
fn end_of_links(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { break };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    path
}

fn remove_with_beside(file: &Path) -> io::Result<()> {
    remove(file)?;
    remove_beside(file)
}

fn remove_beside(file: &Path) -> io::Result<()> {
    BESIDE.iter().try_for_each(|end| remove(&ending(file, end)))
}

/// Removes a file, if there is one.
fn remove(file: &Path) -> io::Result<()> {
    match fs::remove_file(file) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

fn ending(file: &Path, end: &str) -> PathBuf {
    let mut name = file.as_os_str().to_owned();
    name.push(end);
    name.into()
}

/// Has the names in the folder of a file reach the disk.
pub(in crate::store) fn sync_folder_of(file: &Path) -> io::Result<()> {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    match fs::File::open(folder.unwrap_or(Path::new("."))) {
        // One that may be written and not read: its names reach the disk by themselves.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        folder => folder?.sync_all(),
    }
}
