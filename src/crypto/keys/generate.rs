//! Making of new keys, as files that only their owner can read.

use super::jwk::SECRET_USE;
use super::{Fault, Origin, file};
use crate::crypto::random::{self, Dice};
use crate::domain::Timestamp;
use crate::domain::signing_keys::SigningAlgorithm;
use aws_lc_rs::encoding::{AsBigEndian, AsDer, Curve25519SeedBin, EcPrivateKeyBin, Pkcs8V1Der};
use aws_lc_rs::error::Unspecified;
use aws_lc_rs::rsa::{KeyPair as RsaKeyPair, KeySize};
use aws_lc_rs::signature::{
    ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair, KeyPair as _,
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use pkcs1::RsaPrivateKeyRef;
use pkcs8::PrivateKeyInfoRef;
use serde::Serializer as _;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// Makes keys in a folder.
pub struct Generator<'a> {
    pub folder: &'a Path,
    pub origin: Origin,
    pub created_at: Timestamp,
    pub dice: &'a dyn Dice,
}

/// What a key is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    Signing(SigningAlgorithm),
    Secret,
}

/// A key that was made, and where it lies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GeneratedKey {
    pub purpose: Purpose,
    pub kid: String,
    pub path: PathBuf,
}

/// Why no key was made.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    #[error("the folder {} cannot be made", path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("the key file {} cannot be written", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("the token made no key: {0}")]
    Token(Fault),
    #[error("the library made no key")]
    Library(#[from] Unspecified),
}

impl Generator<'_> {
    /// Makes what an installation needs: a key each for RS256, which signs PS256 too, for ES256 and `EdDSA`, and one
    /// secret key.
    ///
    /// Where one cannot be made the others are taken away again: half an installation is none.
    pub fn generate_all(&self) -> Result<Vec<GeneratedKey>, GenerateError> {
        let purposes = [
            Purpose::Signing(SigningAlgorithm::Rs256),
            Purpose::Signing(SigningAlgorithm::Es256),
            Purpose::Signing(SigningAlgorithm::EdDsa),
            Purpose::Secret,
        ];
        let is_new = !self.folder.exists();
        let mut made = Vec::new();
        for purpose in purposes {
            match self.generate(purpose) {
                Ok(key) => made.push(key),
                Err(error) => {
                    self.take_away(&made, is_new);
                    return Err(error);
                }
            }
        }
        Ok(made)
    }

    /// What cannot be taken away either stays: the error that is told is the one that came first.
    fn take_away(&self, made: &[GeneratedKey], and_folder: bool) {
        for key in made {
            let _ = std::fs::remove_file(&key.path);
        }
        if and_folder {
            let _ = std::fs::remove_dir(self.folder);
        }
    }

    /// Makes one key; what lies in the folder already is never touched.
    pub fn generate(&self, purpose: Purpose) -> Result<GeneratedKey, GenerateError> {
        let members = match purpose {
            Purpose::Signing(SigningAlgorithm::Rs256 | SigningAlgorithm::Ps256) => rsa()?,
            Purpose::Signing(SigningAlgorithm::Es256) => p256()?,
            Purpose::Signing(SigningAlgorithm::EdDsa) => ed25519()?,
            Purpose::Secret => self.oct(),
        };
        let document = self.document(purpose, None, &members);
        let kid = file::parse(&document)
            .expect("what was just generated is a key")
            .material
            .kid()
            .to_owned();
        let path = self.folder.join(format!("{}-{kid}.json", purpose.name()));
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(self.folder)
            .map_err(|source| GenerateError::Folder { path: self.folder.to_owned(), source })?;
        write_new(&path, &self.document(purpose, Some(&kid), &members))
            .map_err(|source| GenerateError::File { path: path.clone(), source })?;
        Ok(GeneratedKey { purpose, kid, path })
    }

    fn oct(&self) -> Members {
        let bytes = Zeroizing::new(random::draw::<32>(self.dice));
        vec![("kty", plain("oct")), ("k", base64url(bytes.as_slice()))]
    }

    fn document(
        &self,
        purpose: Purpose,
        kid: Option<&str>,
        members: &Members,
    ) -> Zeroizing<Vec<u8>> {
        let (usage, algorithm) = match purpose {
            Purpose::Signing(algorithm) => ("sig", Some(algorithm.name())),
            Purpose::Secret => (SECRET_USE, None),
        };
        let told = members.iter().map(|(name, value)| (*name, Member::Text(value)));
        let about = [
            ("kid", kid.map(Member::Text)),
            ("use", Some(Member::Text(usage))),
            ("alg", algorithm.map(Member::Text)),
            ("porteiro_origin", Some(Member::Origin(self.origin))),
            ("created_at", Some(Member::Time(self.created_at))),
        ];
        let about = about.into_iter().filter_map(|(name, value)| Some((name, value?)));
        // Larger than any key: a buffer that grows leaves copies behind.
        let mut document = Zeroizing::new(Vec::with_capacity(16 * 1024));
        serde_json::Serializer::pretty(&mut *document)
            .collect_map(about.chain(told))
            .expect("members are text and numbers");
        document.push(b'\n');
        document
    }
}

impl Purpose {
    fn name(self) -> String {
        match self {
            Self::Signing(algorithm) => algorithm.name().to_lowercase(),
            Self::Secret => "secret".to_owned(),
        }
    }
}

type Members = Vec<(&'static str, Zeroizing<String>)>;

#[derive(serde::Serialize)]
#[serde(untagged)]
enum Member<'a> {
    Text(&'a str),
    Origin(Origin),
    Time(Timestamp),
}

fn rsa() -> Result<Members, Unspecified> {
    let pkcs8: Pkcs8V1Der = RsaKeyPair::generate(KeySize::Rsa2048)?.as_der()?;
    let info = PrivateKeyInfoRef::try_from(pkcs8.as_ref()).map_err(|_| Unspecified)?;
    let key = RsaPrivateKeyRef::try_from(info.private_key).map_err(|_| Unspecified)?;
    Ok(vec![
        ("kty", plain("RSA")),
        ("n", base64url(key.modulus.as_bytes())),
        ("e", base64url(key.public_exponent.as_bytes())),
        ("d", base64url(key.private_exponent.as_bytes())),
        ("p", base64url(key.prime1.as_bytes())),
        ("q", base64url(key.prime2.as_bytes())),
        ("dp", base64url(key.exponent1.as_bytes())),
        ("dq", base64url(key.exponent2.as_bytes())),
        ("qi", base64url(key.coefficient.as_bytes())),
    ])
}

fn p256() -> Result<Members, Unspecified> {
    let key = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)?;
    let d: EcPrivateKeyBin = key.private_key().as_be_bytes()?;
    let (x, y) = key.public_key().as_ref()[1..].split_at(32);
    Ok(vec![
        ("kty", plain("EC")),
        ("crv", plain("P-256")),
        ("x", base64url(x)),
        ("y", base64url(y)),
        ("d", base64url(d.as_ref())),
    ])
}

fn ed25519() -> Result<Members, Unspecified> {
    let key = Ed25519KeyPair::generate()?;
    let d: Curve25519SeedBin = key.seed()?.as_be_bytes()?;
    Ok(vec![
        ("kty", plain("OKP")),
        ("crv", plain("Ed25519")),
        ("x", base64url(key.public_key().as_ref())),
        ("d", base64url(d.as_ref())),
    ])
}

fn plain(text: &str) -> Zeroizing<String> {
    Zeroizing::new(text.to_owned())
}

fn base64url(bytes: &[u8]) -> Zeroizing<String> {
    Zeroizing::new(URL_SAFE_NO_PAD.encode(bytes))
}

/// Writes a file that was not there before, durably; a half-written one is taken away again.
fn write_new(path: &Path, contents: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let written = file.write_all(contents).and_then(|()| file.sync_all());
    if written.is_err() {
        std::fs::remove_file(path)?;
    }
    written?;
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::SystemDice;
    use serde_json::Value;

    fn generator(folder: &Path) -> Generator<'_> {
        let created_at = Timestamp::from_millis(42);
        Generator { folder, origin: Origin::Dev, created_at, dice: &SystemDice }
    }

    #[test]
    fn a_file_says_what_it_is_and_where_it_comes_from() {
        let folder = tempfile::tempdir().unwrap();
        for algorithm in SigningAlgorithm::ALL {
            let made = generator(folder.path()).generate(Purpose::Signing(algorithm)).unwrap();
            let name = format!("{}-{}.json", algorithm.name().to_lowercase(), made.kid);
            assert_eq!(made.path, folder.path().join(name));
            let jwk: Value = serde_json::from_slice(&std::fs::read(made.path).unwrap()).unwrap();
            assert_eq!(jwk["kid"], made.kid);
            assert_eq!(jwk["alg"], algorithm.name());
            assert_eq!(jwk["porteiro_origin"], "dev");
            assert_eq!(jwk["created_at"], 42);
        }
    }

    #[test]
    fn a_file_that_is_there_is_never_overwritten() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        write_new(&path, b"first").unwrap();
        let error = write_new(&path, b"second").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"first");
    }

    #[test]
    fn a_link_that_waits_in_the_way_is_not_followed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        std::os::unix::fs::symlink(folder.path().join("elsewhere"), &path).unwrap();
        assert!(write_new(&path, b"secret").is_err());
        assert!(!folder.path().join("elsewhere").exists());
    }

    #[test]
    fn half_an_installation_is_taken_away_again() {
        struct Saboteur(PathBuf);
        impl Dice for Saboteur {
            fn fill(&self, bytes: &mut [u8]) {
                // Drawn for the secret key, the last to be made: its folder is gone by then.
                std::fs::rename(&self.0, self.0.with_extension("moved")).unwrap();
                std::fs::write(&self.0, b"in the way").unwrap();
                SystemDice.fill(bytes);
            }
        }
        let folder = tempfile::tempdir().unwrap();
        let keys = folder.path().join("keys");
        let saboteur = Saboteur(keys.clone());
        let failed = Generator { dice: &saboteur, ..generator(&keys) }.generate_all();
        assert!(matches!(failed, Err(GenerateError::Folder { .. })), "{failed:?}");

        let full = folder.path().join("full");
        let made = generator(&full).generate_all().unwrap();
        generator(&full).take_away(&made, true);
        assert!(!full.exists());
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        std::fs::write(&file, b"").unwrap();
        let error = generator(&file.join("keys")).generate(Purpose::Secret).unwrap_err();
        assert!(matches!(error, GenerateError::Folder { .. }));
    }
}
