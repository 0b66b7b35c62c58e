//! Where the keys of an installation lie: a folder, and perhaps a token for those that sign.

use super::{
    DevKeys, Fault, Folder, GenerateError, GeneratedKey, Generator, Purpose,
    folder::TokenKeys,
    pkcs11::{Token, TokenSettings},
};
use crate::domain::signing_keys::SigningAlgorithm;
use std::path::{Path, PathBuf};

#[derive(Clone, Debug)]
pub struct KeySources {
    pub folder: PathBuf,
    /// Signing keys are made there, if there is one; those in the folder go on until they are replaced.
    pub token: Option<Token>,
}

impl KeySources {
    /// Opens the token, if one is named; says why that cannot be.
    pub fn open(folder: &Path, token: Option<TokenSettings>) -> Result<Self, Fault> {
        let token = token.map(Token::open).transpose()?;
        Ok(Self { folder: folder.to_owned(), token })
    }

    /// Loads every key, or says everything that is wrong at once.
    pub fn load(&self, dev_keys: DevKeys) -> Result<Folder, Vec<Fault>> {
        Folder::load_from(&self.folder, self.token_keys(), dev_keys)
    }

    /// Keeps every key that can be read, whatever else is wrong, and says what that is.
    pub fn salvage(&self) -> (Option<Folder>, Vec<Fault>) {
        Folder::salvage_from(&self.folder, self.token_keys())
    }

    fn token_keys(&self) -> TokenKeys<'_> {
        self.token.as_ref().map_or(TokenKeys::None, TokenKeys::Of)
    }

    /// Makes one key where keys of its purpose belong.
    pub fn generate(
        &self,
        generator: &Generator<'_>,
        purpose: Purpose,
    ) -> Result<GeneratedKey, GenerateError> {
        match (purpose, &self.token) {
            (Purpose::Signing(algorithm), Some(token)) => {
                token.generate(algorithm, generator.created_at)
            }
            _ => generator.generate(purpose),
        }
    }

    /// Makes what an installation needs; of what a token cannot make, `EdDSA` alone may be missing.
    ///
    /// Where one cannot be made the others are taken away again: half an installation is none.
    pub fn generate_all(
        &self,
        generator: &Generator<'_>,
    ) -> Result<Vec<GeneratedKey>, GenerateError> {
        let Some(token) = &self.token else { return generator.generate_all() };
        let able = |algorithm| token.makes(algorithm) || algorithm != SigningAlgorithm::EdDsa;
        let signing = [SigningAlgorithm::Rs256, SigningAlgorithm::Es256, SigningAlgorithm::EdDsa];
        let signing = signing.into_iter().filter(|algorithm| able(*algorithm));
        let mut made: Vec<GeneratedKey> = Vec::new();
        for purpose in signing.map(Purpose::Signing).chain([Purpose::Secret]) {
            match self.generate(generator, purpose) {
                Ok(key) => made.push(key),
                Err(error) => {
                    for key in &made {
                        token.destroy(&key.kid);
                    }
                    return Err(error);
                }
            }
        }
        Ok(made)
    }
}
