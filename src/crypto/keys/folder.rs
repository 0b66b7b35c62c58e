//! The keys folder as a whole: every key in it, or everything that is wrong with it.

use super::Origin;
use super::file::{self, KeyFile, KeyMaterial};
use super::pkcs11::Token;
use super::problem::{Fault, Problem};
use crate::crypto::{SecretKey, Signer, Vault};
use crate::domain::Timestamp;
use crate::domain::signing_keys::{ObservedKey, SigningAlgorithm};
use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use zeroize::Zeroizing;

const LARGEST_FILE: u64 = 64 * 1024;

/// Tokens need both: ES256 for access tokens, RS256 as the default of ID tokens.
const NEEDED: [SigningAlgorithm; 2] = [SigningAlgorithm::Rs256, SigningAlgorithm::Es256];

/// The keys of a folder in which nothing is wrong: at least one secret key, and one signing key
/// for each algorithm that tokens need.
#[derive(Debug)]
pub struct Folder {
    signing: Vec<SigningKeyFile>,
    secrets: Vec<SecretKeyFile>,
}

#[derive(Clone, Debug)]
pub struct SigningKeyFile {
    pub signer: Arc<Signer>,
    pub made_by_dev: bool,
    pub created_at: Timestamp,
    pub path: PathBuf,
}

#[derive(Clone, Debug)]
pub struct SecretKeyFile {
    pub key: SecretKey,
    pub made_by_dev: bool,
    pub created_at: Timestamp,
    pub path: PathBuf,
}

/// Whether keys that `porteiro dev` made may be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DevKeys {
    Accepted,
    Refused,
}

impl Folder {
    /// Loads every key, or says everything that is wrong at once.
    ///
    /// Dotfiles and subfolders are passed over; a symbolic link is judged by what it points to.
    pub fn load(path: &Path, dev_keys: DevKeys) -> Result<Self, Vec<Fault>> {
        Self::load_from(path, TokenKeys::None, dev_keys)
    }

    /// The same where signing keys lie in a token too, which is not asked for them.
    pub fn load_beside_token(path: &Path, dev_keys: DevKeys) -> Result<Self, Vec<Fault>> {
        Self::load_from(path, TokenKeys::Unread, dev_keys)
    }

    /// The same where signing keys may lie in a token.
    pub(super) fn load_from(
        path: &Path,
        token: TokenKeys<'_>,
        dev_keys: DevKeys,
    ) -> Result<Self, Vec<Fault>> {
        let loading = FolderLoader::of(path, token, dev_keys);
        if loading.faults.is_empty() { Ok(loading.finish()) } else { Err(loading.faults) }
    }

    /// Keeps every key that can be read, whatever else is wrong, and says what that is.
    ///
    /// For a command that must act on a folder because it is faulty: a key that others could read is one
    /// to revoke. Without a secret key there is nothing to act with.
    pub fn salvage(path: &Path) -> (Option<Self>, Vec<Fault>) {
        Self::salvage_from(path, TokenKeys::None)
    }

    /// The same where signing keys may lie in a token.
    pub(super) fn salvage_from(path: &Path, token: TokenKeys<'_>) -> (Option<Self>, Vec<Fault>) {
        let mut loading = FolderLoader::of(path, token, DevKeys::Accepted);
        let faults = std::mem::take(&mut loading.faults);
        let usable = !loading.secrets.is_empty();
        (usable.then(|| loading.finish()), faults)
    }

    /// Lists the signing keys, oldest first.
    pub fn signing(&self) -> &[SigningKeyFile] {
        &self.signing
    }

    /// Lists the secret keys, newest first; the first is the one to seal with.
    pub fn secrets(&self) -> &[SecretKeyFile] {
        &self.secrets
    }

    /// Returns the signing keys as the installation's key set learns of them.
    pub fn observed(&self) -> Vec<ObservedKey> {
        self.signing.iter().map(|file| file.signer.observed()).collect()
    }

    /// Builds the vault of this folder's secret keys.
    pub fn vault(&self) -> Vault {
        let mut keys = self.secrets.iter().map(|file| file.key.clone());
        let current = keys.next().expect("a folder without a secret key is not loaded");
        Vault::new(current, keys.collect())
    }
}

/// The signing keys that lie in a token.
#[derive(Clone, Copy)]
pub(super) enum TokenKeys<'a> {
    None,
    Of(&'a Token),
    /// There may be some, and nothing is to be signed.
    Unread,
}

struct FolderLoader {
    dev_keys: DevKeys,
    signing: Vec<SigningKeyFile>,
    secrets: Vec<SecretKeyFile>,
    faults: Vec<Fault>,
}

impl FolderLoader {
    fn of(path: &Path, token: TokenKeys<'_>, dev_keys: DevKeys) -> Self {
        let mut loading =
            Self { dev_keys, signing: Vec::new(), secrets: Vec::new(), faults: Vec::new() };
        match names(path) {
            Ok((metadata, files)) => {
                loading.judge(path, &metadata, 0o022, |mode| Problem::FolderOpenToOthers { mode });
                for file in files {
                    loading.read(&file);
                }
                let is_read = loading.read_token(token);
                loading.find_duplicates();
                loading.find_missing(path, is_read);
            }
            Err(problem) => loading.faults.push(Fault::new(path, problem)),
        }
        loading
    }

    fn read(&mut self, path: &Path) {
        match contents(path) {
            Ok(None) => {}
            Ok(Some((metadata, contents))) => {
                // Mode and contents are judged both, so that nothing is left for the next start.
                self.judge(path, &metadata, 0o077, |mode| Problem::FileOpenToOthers { mode });
                match contents.and_then(|contents| file::parse(&contents)) {
                    Ok(key) => self.keep(path, key),
                    Err(problem) => self.faults.push(Fault::new(path, problem)),
                }
            }
            Err(error) => self.faults.push(Fault::new(path, Problem::Unreadable(error.kind()))),
        }
    }

    /// Reads the keys of a token; tells whether all that there are were read.
    fn read_token(&mut self, token: TokenKeys<'_>) -> bool {
        let token = match token {
            TokenKeys::None => return true,
            TokenKeys::Unread => return false,
            TokenKeys::Of(token) => token,
        };
        match token.signing_keys() {
            Ok(keys) => {
                self.signing.extend(keys);
                true
            }
            Err(faults) => {
                self.faults.extend(faults);
                false
            }
        }
    }

    fn judge(
        &mut self,
        path: &Path,
        metadata: &Metadata,
        forbidden: u32,
        problem: impl Fn(u32) -> Problem,
    ) {
        let mode = metadata.mode() & 0o7777;
        if mode & forbidden != 0 {
            self.faults.push(Fault::new(path, problem(mode)));
        }
        if let Some(foreign) = foreign_owner(metadata.uid(), rustix::process::geteuid().as_raw()) {
            self.faults.push(Fault::new(path, foreign));
        }
    }

    fn keep(&mut self, path: &Path, file: KeyFile) {
        let made_by_dev = file.origin == Some(Origin::Dev);
        if made_by_dev && self.dev_keys == DevKeys::Refused {
            self.faults.push(Fault::new(path, Problem::MadeByDev));
        }
        let (path, created_at) = (path.to_owned(), file.created_at);
        match file.material {
            KeyMaterial::Signing(signer) => {
                self.signing.push(SigningKeyFile { signer, made_by_dev, created_at, path });
            }
            KeyMaterial::Secret(key) => {
                self.secrets.push(SecretKeyFile { key, made_by_dev, created_at, path });
            }
        }
    }

    fn find_duplicates(&mut self) {
        let signing = self.signing.iter().map(|file| (file.signer.kid(), &file.path));
        let secrets = self.secrets.iter().map(|file| (file.key.kid(), &file.path));
        let mut seen = BTreeMap::new();
        for (kid, path) in signing.chain(secrets) {
            let other = *seen.entry(kid).or_insert(path);
            if other != path {
                let problem = Problem::Duplicate { other: other.clone() };
                self.faults.push(Fault::new(path, problem));
            }
        }
    }

    fn find_missing(&mut self, folder: &Path, is_read: bool) {
        // Of a token that cannot be read that has been said; of one that was not read nothing is known.
        for algorithm in NEEDED.into_iter().filter(|_| is_read) {
            if !self.signing.iter().any(|file| file.signer.algorithm() == algorithm) {
                self.faults.push(Fault::new(folder, Problem::NoSigningKey(algorithm)));
            }
        }
        if self.secrets.is_empty() {
            self.faults.push(Fault::new(folder, Problem::NoSecretKey));
        }
    }

    fn finish(mut self) -> Folder {
        // The kid settles a tie, so that every node with the same files agrees.
        self.signing
            .sort_by(|a, b| (a.created_at, a.signer.kid()).cmp(&(b.created_at, b.signer.kid())));
        self.secrets.sort_by(|a, b| (b.created_at, b.key.kid()).cmp(&(a.created_at, a.key.kid())));
        Folder { signing: self.signing, secrets: self.secrets }
    }
}

fn foreign_owner(owner: u32, ours: u32) -> Option<Problem> {
    (owner != ours && owner != 0).then_some(Problem::ForeignOwner { uid: owner })
}

/// Returns what is known of the folder, and its entries in the order of their names.
fn names(folder: &Path) -> Result<(Metadata, Vec<PathBuf>), Problem> {
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Problem::NoFolder,
        other => Problem::Unreadable(other),
    };
    let metadata = fs::metadata(folder).map_err(unreadable)?;
    if !metadata.is_dir() {
        return Err(Problem::NotAFolder);
    }
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        if !entry.file_name().as_encoded_bytes().starts_with(b".") {
            paths.push(entry.path());
        }
    }
    paths.sort();
    Ok((metadata, paths))
}

/// Reads a file that its owner alone may read, as a key is.
pub fn read_private(path: &Path) -> Result<Zeroizing<Vec<u8>>, Problem> {
    let read = contents(path).map_err(|error| Problem::Unreadable(error.kind()))?;
    let (metadata, contents) = read.ok_or(Problem::NotAFile)?;
    let mode = metadata.mode() & 0o7777;
    if mode & 0o077 != 0 {
        return Err(Problem::FileOpenToOthers { mode });
    }
    match foreign_owner(metadata.uid(), rustix::process::geteuid().as_raw()) {
        Some(foreign) => Err(foreign),
        None => contents,
    }
}

type Contents = Result<Zeroizing<Vec<u8>>, Problem>;

/// Reads a file and what is known of the very file that was read; nothing for a subfolder.
fn contents(path: &Path) -> io::Result<Option<(Metadata, Contents)>> {
    let found = fs::metadata(path)?;
    if found.is_dir() {
        return Ok(None);
    }
    // Opening a pipe would wait for its other end.
    if !found.is_file() {
        return Ok(Some((found, Err(Problem::NotAFile))));
    }
    let file = File::open(path)?;
    let metadata = file.metadata()?;
    if metadata.len() > LARGEST_FILE {
        return Ok(Some((metadata, Err(Problem::TooLarge))));
    }
    // One that has to grow leaves pieces of the key behind; one byte more shows that the file has ended.
    let size = usize::try_from(metadata.len()).unwrap_or_default() + 1;
    let mut contents = Zeroizing::new(Vec::with_capacity(size));
    file.take(LARGEST_FILE).read_to_end(&mut contents)?;
    Ok(Some((metadata, Ok(contents))))
}

#[cfg(test)]
mod tests;
