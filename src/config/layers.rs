//! The layers of a configuration: for each setting the last value given, and where.

use super::{
    Complaint, Document, Origin, Refusal, SETTINGS, Section, Setting,
    file::read_text,
    form,
    settings::{Form, PREFIX},
    suggestion,
};
use std::{
    collections::BTreeMap,
    ffi::{OsStr, OsString},
    path::{Path, PathBuf},
};

/// Larger than any configuration; a wrong path may name a file of any size.
const CONFIGURATION_LIMIT: u64 = 1 << 20;

/// Everything a configuration is made of, lowest layer first.
#[derive(Default)]
pub struct Sources {
    /// The defaults of `porteiro dev`.
    pub dev: Vec<(&'static str, String)>,
    pub file: Option<PathBuf>,
    pub environment: Vec<(OsString, OsString)>,
    pub flags: Vec<Flag>,
}

/// A setting given on the command line.
pub struct Flag {
    pub setting: &'static str,
    pub value: OsString,
    /// As it was typed: `--store`.
    pub flag: String,
}

/// A value as it was given; a file tells types apart, the other layers do not.
pub(super) enum RawValue {
    Text(String),
    Flag(bool),
    Number(u64),
    List(Vec<String>),
}

/// A value, and the place where it was given.
pub(super) struct LocatedValue {
    pub(super) raw: RawValue,
    pub(super) origin: Origin,
}

/// The values in effect.
#[derive(Default)]
pub(super) struct Layers {
    given: BTreeMap<&'static str, LocatedValue>,
    pub(super) refusals: Vec<Refusal>,
    /// Settings whose value has the wrong type or is not text.
    pub(super) broken: Vec<&'static str>,
    /// There is a file, and it could not be read.
    pub(super) file_unread: bool,
}

impl Layers {
    pub(super) fn lay(sources: Sources) -> Self {
        let mut layers = Self::default();
        for setting in SETTINGS {
            if let Some(default) = setting.default {
                layers.put(setting, RawValue::Text(default.to_owned()), Origin::Default);
            }
        }
        for (name, value) in sources.dev {
            layers.put_named(name, OsStr::new(&value), Origin::Dev);
        }
        if let Some(path) = &sources.file {
            layers.put_file(path);
        }
        for (variable, value) in &sources.environment {
            layers.put_variable(&variable.to_string_lossy(), value);
        }
        for Flag { setting, value, flag } in sources.flags {
            layers.put_named(setting, &value, Origin::Flag { flag });
        }
        layers
    }

    pub(super) fn get(&self, name: &str) -> Option<&LocatedValue> {
        self.given.get(name)
    }

    /// Lowers a default to another setting that bounds it: an operator who lowers a ceiling need not
    /// lower both.
    pub(super) fn follow(&mut self, name: &'static str, bound: &'static str) {
        let seconds = |name| self.given.get(name).and_then(|given| form::seconds(given).ok());
        let (Some(value), Some(most)) = (seconds(name), seconds(bound)) else { return };
        let is_default = self.given.get(name).is_some_and(|it| it.origin == Origin::Default);
        if is_default && value > most {
            let given =
                LocatedValue { raw: RawValue::Number(most.as_secs()), origin: Origin::Default };
            self.given.insert(name, given);
        }
    }

    fn put(&mut self, setting: &'static Setting, raw: RawValue, origin: Origin) {
        self.given.insert(setting.name, LocatedValue { raw, origin });
    }

    fn put_named(&mut self, name: &str, value: &OsStr, origin: Origin) {
        let Some(setting) = Setting::named(name) else {
            return self.refusals.push(Refusal::at(origin, format!("`{name}` is no setting")));
        };
        let Some(text) = value.to_str() else {
            self.broken.push(setting.name);
            let text = "is not text in UTF-8";
            let refusal = Refusal { origin: Some(origin), ..Refusal::of(setting.name, text) };
            return self.refusals.push(refusal);
        };
        self.put(setting, RawValue::Text(text.to_owned()), origin);
    }

    fn put_variable(&mut self, variable: &str, value: &OsStr) {
        let Some(name) = variable.strip_prefix(PREFIX) else { return };
        let origin = Origin::Environment { variable: variable.escape_debug().to_string() };
        if let Some(setting) = SETTINGS.iter().find(|setting| setting.variable() == variable) {
            return self.put_named(setting.name, value, origin);
        }
        let known: Vec<_> = SETTINGS.iter().map(Setting::variable).collect();
        let known = known.iter().filter_map(|variable| variable.strip_prefix(PREFIX));
        let meant = if name.contains("__") {
            Some(suggestion::nearest(&name.to_ascii_uppercase(), known))
        } else {
            mistyped(name, known).map(Some)
        };
        if let Some(meant) = meant {
            let meant = meant.map(|name| format!("{PREFIX}{name}"));
            let text = match meant {
                Some(meant) => format!("names no setting, did you mean `{meant}`?"),
                None => "names no setting".to_owned(),
            };
            self.refusals.push(Refusal::at(origin, text));
        }
    }

    fn put_file(&mut self, path: &Path) {
        let document = read_text(path, CONFIGURATION_LIMIT)
            .map_err(|complaint| vec![complaint])
            .and_then(|text| Document::parse(&text));
        match document {
            Ok(document) => self.put_document(document.into_root(), path),
            Err(complaints) => {
                self.file_unread = true;
                self.refuse_file(complaints, path);
            }
        }
    }

    fn put_document(&mut self, mut root: Section, path: &Path) {
        let mut complaints = Vec::new();
        let mut sections: Vec<&str> = Vec::new();
        for setting in SETTINGS {
            match setting.place() {
                (None, _) => self.put_key(setting, &mut root, path, &mut complaints),
                (Some(section), _) if !sections.contains(&section) => sections.push(section),
                (Some(_), _) => {}
            }
        }
        for name in sections {
            let settings = SETTINGS.iter().filter(|s| s.place().0 == Some(name));
            let is_given = root.has(name);
            let Some(mut section) = root.table(name, &mut complaints) else {
                if is_given {
                    self.broken.extend(settings.map(|setting| setting.name));
                }
                continue;
            };
            for setting in settings {
                self.put_key(setting, &mut section, path, &mut complaints);
            }
            section.finish(&mut complaints);
        }
        root.finish(&mut complaints);
        complaints.sort_by_key(|complaint| complaint.line);
        self.refuse_file(complaints, path);
    }

    fn put_key(
        &mut self,
        setting: &'static Setting,
        section: &mut Section,
        path: &Path,
        complaints: &mut Vec<Complaint>,
    ) {
        let (_, key) = setting.place();
        let before = complaints.len();
        let taken = match setting.form {
            Form::Flag(_) => {
                section.flag(key, complaints).map(|it| (RawValue::Flag(it.value), it.line))
            }
            Form::Number(_) | Form::Count(_) | Form::Seconds(_) | Form::Days(_) => {
                section.number(key, complaints).map(|it| (RawValue::Number(it.value), it.line))
            }
            Form::Networks(_) | Form::NameServers(_) | Form::Aaguids(_) => {
                section.texts(key, complaints).map(|list| {
                    (RawValue::List(list.value.into_iter().map(|it| it.value).collect()), list.line)
                })
            }
            Form::Text(_)
            | Form::Word(_)
            | Form::Url(_)
            | Form::StoreUrl(_)
            | Form::Path(_)
            | Form::Address(_)
            | Form::OptionalAddress(_) => {
                section.text(key, complaints).map(|it| (RawValue::Text(it.value), it.line))
            }
        };
        if complaints.len() > before {
            self.broken.push(setting.name);
        }
        if let Some((raw, line)) = taken {
            self.put(setting, raw, Origin::File { path: path.to_owned(), line });
        }
    }

    fn refuse_file(&mut self, complaints: Vec<Complaint>, path: &Path) {
        self.refusals.extend(complaints.into_iter().map(|Complaint { line, text }| {
            Refusal::at(Origin::File { path: path.to_owned(), line }, text)
        }));
    }
}

/// Returns what a variable without `__` was probably meant to be.
///
/// Others use such names, too: an orchestrator that runs a service called porteiro injects
/// `PORTEIRO_PORT`, `PORTEIRO_SERVICE_HOST` and the like into every container beside it. Only the
/// near miss of a top-level name is refused, and a known name with one underscore for two.
fn mistyped<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let typed = name.to_ascii_uppercase();
    known.into_iter().find(|known| {
        let distance = strsim::levenshtein(&known.replace("__", "_"), &typed);
        distance == 0 || (distance <= 2 && !known.contains("__"))
    })
}
