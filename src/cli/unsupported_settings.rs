//! Settings on which this version does not act, and files that are named and not there.

use crate::config::{Effect, Loaded, Origin, SETTINGS, unreadable};
use std::path::Path;

/// Names what an operator has set and has no effect yet.
pub(super) fn without_effect(loaded: &Loaded) -> Vec<&'static str> {
    let names = names_of(Effect::NotYet);
    names.filter(|name| was_given(loaded, name).is_some()).collect()
}

fn names_of(effect: Effect) -> impl Iterator<Item = &'static str> {
    SETTINGS.iter().filter(move |setting| setting.effect == effect).map(|setting| setting.name)
}

fn was_given<'a>(loaded: &'a Loaded, name: &str) -> Option<&'a Origin> {
    loaded.origin(name).filter(|origin| !matches!(origin, Origin::Default | Origin::Dev))
}

/// Says which files are not there. The certificate and its key are read where they are used, if there are both.
pub(super) fn missing_files(loaded: &Loaded) -> Vec<String> {
    let config = &loaded.config;
    let (cert, key) = match config.tls.pair() {
        Some(_) => (None, None),
        None => (config.tls.cert.as_deref(), config.tls.key.as_deref()),
    };
    let files = [
        ("tls.cert", cert),
        ("tls.key", key),
        (
            "registration.software_statement_keys",
            config.registration.software_statement_keys.as_deref(),
        ),
        ("outbound.extra_ca", config.outbound.extra_ca.as_deref()),
        ("geo.database", config.geo.database.as_deref()),
    ];
    let missing = |(name, path): (&str, Option<&Path>)| {
        let path = path?;
        let error = std::fs::File::open(path).err()?;
        Some(format!("{name}: {}", unreadable(path, &error)))
    };
    files.into_iter().filter_map(missing).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, Sources};

    fn given(variables: &[(&str, &str)]) -> Loaded {
        let own = |(name, value): &(&str, &str)| (format!("PORTEIRO_{name}").into(), value.into());
        let environment = variables.iter().map(own).collect();
        Config::load(Sources { environment, ..Sources::default() }).unwrap()
    }

    #[test]
    fn what_an_operator_set_without_effect_is_named() {
        assert!(without_effect(&given(&[])).is_empty(), "defaults need no warning");
        let heeded = given(&[("ISSUER", "https://a.test"), ("LIFETIMES__ACCESS_TOKEN", "60")]);
        assert!(without_effect(&heeded).is_empty());
        let idle = given(&[("GEO__DATABASE", "Cargo.toml"), ("LIFETIMES__CIBA", "30")]);
        assert_eq!(without_effect(&idle), ["geo.database"]);
    }

    #[test]
    fn a_missing_file_is_named() {
        let missing = missing_files(&given(&[("GEO__DATABASE", "none.mmdb")]));
        assert_eq!(missing, ["geo.database: none.mmdb: there is no such file"]);
        assert!(missing_files(&given(&[("OUTBOUND__EXTRA_CA", "Cargo.toml")])).is_empty());
    }
}
