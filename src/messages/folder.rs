//! Messages as files, one each.

use std::{
    fs::{DirBuilder, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// Writes a file whole or not at all, readable by its owner alone; the same name twice is one file.
#[expect(
    clippy::disallowed_methods,
    reason = "a file is short, and the outbox bounds how many are written at once"
)]
pub(super) async fn write(folder: &Path, name: String, content: Vec<u8>) -> io::Result<()> {
    let folder: PathBuf = folder.to_owned();
    let written = tokio::task::spawn_blocking(move || write_now(&folder, &name, &content)).await;
    written.map_err(io::Error::other)?
}

fn write_now(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    // Programs that list the folder do not take the half-written one for a message.
    let beside = folder.join(format!(".{name}.part"));
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&beside)?;
    file.write_all(content)?;
    file.sync_all()?;
    std::fs::rename(&beside, folder.join(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    #[tokio::test]
    async fn a_message_is_one_file_that_its_owner_alone_can_read() {
        let folder = tempfile::tempdir().unwrap();
        let inside = folder.path().join("not/yet/there");
        for text in ["one", "one again"] {
            write(&inside, "a.eml".to_owned(), text.into()).await.unwrap();
        }
        let files: Vec<_> = std::fs::read_dir(&inside).unwrap().map(Result::unwrap).collect();
        assert_eq!(files.len(), 1);
        assert_eq!(std::fs::read_to_string(files[0].path()).unwrap(), "one again");
        assert_eq!(files[0].metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
}
