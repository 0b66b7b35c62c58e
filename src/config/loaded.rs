//! A configuration together with where each of its values came from.

use super::{
    Config, Origin, Refusal, SETTINGS, Setting, Sources,
    layers::{Layers, LocatedValue, RawValue},
    mask,
};
use serde::Serialize;
use serde_json::Value;
use std::fmt;

/// The configuration, and what `porteiro config` prints of it.
#[derive(Debug)]
pub struct LoadedConfig {
    pub config: Config,
    lines: Vec<Line>,
}

/// A configuration as far as it could be read, and everything `serve` refuses about it.
#[derive(Debug)]
pub struct Survey {
    pub loaded: LoadedConfig,
    pub refusals: Vec<Refusal>,
}

/// A setting as it is printed: what is secret is masked already.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Line {
    pub name: &'static str,
    pub value: Option<Value>,
    pub origin: Option<Origin>,
    pub secret: bool,
    pub about: &'static str,
}

impl Config {
    /// Reads the layers and parses every value.
    pub fn load(sources: Sources) -> Result<LoadedConfig, Vec<Refusal>> {
        let (loaded, layers) = read(sources);
        if layers.refusals.is_empty() { Ok(loaded) } else { Err(layers.refusals) }
    }

    /// Reads what can be read and checks all of it for `serve`, so that every reason is named at once.
    ///
    /// A setting that was refused has its default or is not set: further checks may use the result,
    /// and no server may run with it.
    pub fn load_for_production(sources: Sources) -> Survey {
        let (loaded, Layers { mut refusals, broken, file_unread, .. }) = read(sources);
        // Without the file nearly everything is missing, and a list of it would not help.
        if !file_unread {
            let is_known = |setting: Option<&'static str>| {
                setting.is_some_and(|name| broken.contains(&name))
                    || refusals.iter().any(|known| setting.is_some() && known.setting == setting)
            };
            let more = loaded.check_for_production();
            let more: Vec<_> = more.into_iter().filter(|new| !is_known(new.setting)).collect();
            refusals.extend(more);
        }
        Survey { loaded, refusals }
    }
}

impl LoadedConfig {
    /// Refuses if any of the named settings was not given.
    pub fn require(&self, names: &[&str]) -> Result<(), Vec<Refusal>> {
        let is_missing = |setting: &&Setting| {
            names.contains(&setting.name) && self.origin(setting.name).is_none()
        };
        let missing: Vec<_> = SETTINGS.iter().filter(is_missing).map(Refusal::missing).collect();
        if missing.is_empty() { Ok(()) } else { Err(missing) }
    }

    /// What `serve` refuses, and where it was given.
    pub fn check_for_production(&self) -> Vec<Refusal> {
        let mut refusals = self.config.check_for_production();
        for refusal in &mut refusals {
            refusal.origin = refusal.setting.and_then(|name| self.origin(name)).cloned();
        }
        refusals
    }

    /// Returns where a setting was given, if it was.
    pub fn origin(&self, name: &str) -> Option<&Origin> {
        self.lines.iter().find(|line| line.name == name)?.origin.as_ref()
    }

    /// Every setting, in the order of the table.
    pub fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter()
    }
}

/// A line of TOML; what is not set is a comment.
impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.value, &self.origin) {
            // JSON's texts, numbers, flags and lists of texts are TOML's as well.
            (Some(value), Some(origin)) => write!(f, "{} = {value}  # {origin}", self.name),
            _ => write!(f, "# {} (not set)", self.name),
        }
    }
}

impl Refusal {
    /// About a setting that was not given, with the ways to give it.
    pub(super) fn missing(setting: &Setting) -> Self {
        let variable = setting.variable();
        let text = match setting.place() {
            (None, key) => format!("is not set: give `{key}` in the file, or {variable}"),
            (Some(section), key) => {
                format!("is not set: give `{key}` under [{section}] in the file, or {variable}")
            }
        };
        Self::of(setting.name, text)
    }
}

fn read(sources: Sources) -> (LoadedConfig, Layers) {
    let mut layers = Layers::lay(sources);
    layers.follow("lifetimes.session_idle", "lifetimes.session_ceiling");
    layers.follow("lifetimes.refresh_idle", "lifetimes.refresh_ceiling");
    let mut config = Config::blank();
    let (mut lines, mut refusals) = (Vec::new(), Vec::new());
    for setting in SETTINGS {
        let given = layers.get(setting.name);
        let value = match given.map(|given| setting.put(&mut config, given)) {
            None => None,
            Some(Ok(shown)) => Some(shown),
            Some(Err(reason)) => {
                // Its default stands in while the rest is read. What is malformed is not shown: it
                // cannot be masked with confidence.
                put_default(setting, &mut config);
                refusals.push(refusal(setting, given, &reason));
                None
            }
        };
        lines.push(Line {
            name: setting.name,
            value,
            origin: given.map(|given| given.origin.clone()),
            secret: setting.is_secret(),
            about: setting.about,
        });
    }
    layers.refusals.extend(refusals);
    (LoadedConfig { config, lines }, layers)
}

fn put_default(setting: &Setting, config: &mut Config) {
    let Some(default) = setting.default else { return };
    let given = LocatedValue { raw: RawValue::Text(default.to_owned()), origin: Origin::Default };
    setting.put(config, &given).expect("a test reads the default of every setting that has one");
}

fn refusal(setting: &Setting, given: Option<&LocatedValue>, reason: &str) -> Refusal {
    let quoted = given.and_then(|given| quoted(setting, &given.raw));
    let text = quoted.map_or(reason.to_owned(), |value| format!("{value:?} {reason}"));
    let origin = given.map(|given| given.origin.clone());
    Refusal { origin, ..Refusal::of(setting.name, text) }
}

/// Returns what may be quoted of a value that is not what it should be.
///
/// A secret may be given under the wrong name: what looks like a URL is quoted without its password.
fn quoted(setting: &Setting, raw: &RawValue) -> Option<String> {
    let value = match raw {
        RawValue::Text(text) => text.clone(),
        RawValue::Flag(flag) => flag.to_string(),
        RawValue::Number(number) => number.to_string(),
        RawValue::List(list) => list.join(","),
    };
    let may_be_quoted = !setting.is_secret() && !value.is_empty();
    may_be_quoted.then(|| mask::url(&value).chars().take(80).collect())
}
