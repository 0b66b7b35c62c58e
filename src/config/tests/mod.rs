//! Tests of the configuration, a file for each of its nouns.

mod documents;
mod files;
mod layers;
mod masks;
mod production;
mod refusals;
mod settings;

use super::{Config, Flag, LoadedConfig, Refusal, Sources};
use std::{
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
};
use tempfile::TempDir;

/// Sources in the making, with a folder to hold the file.
struct TestSources {
    folder: TempDir,
    sources: Sources,
}

impl TestSources {
    fn nothing() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), sources: Sources::default() }
    }

    fn file(text: impl AsRef<[u8]>) -> Self {
        let mut given = Self::nothing();
        fs::write(given.path(), text).unwrap();
        given.sources.file = Some(given.path());
        given
    }

    fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.sources.environment.push((name.into(), value.into()));
        self
    }

    fn flag(mut self, setting: &'static str, flag: &str, value: &str) -> Self {
        self.sources.flags.push(Flag { setting, value: value.into(), flag: flag.to_owned() });
        self
    }

    fn dev(mut self, setting: &'static str, value: &str) -> Self {
        self.sources.dev.push((setting, value.to_owned()));
        self
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("porteiro.toml")
    }

    fn load(self) -> Result<LoadedConfig, Vec<Refusal>> {
        Config::load(self.sources)
    }

    /// What loading refuses, one line each, the folder's name left out.
    fn refused(self) -> Vec<String> {
        let refusals = Config::load(self.sources).unwrap_err();
        said(&refusals, self.folder.path())
    }

    /// What `serve` refuses.
    fn unfit(self) -> Vec<String> {
        let survey = Config::load_for_production(self.sources);
        said(&survey.refusals, self.folder.path())
    }
}

fn said(refusals: &[Refusal], folder: &Path) -> Vec<String> {
    let folder = format!("{}/", folder.display());
    refusals.iter().map(|refusal| refusal.to_string().replace(&folder, "")).collect()
}
