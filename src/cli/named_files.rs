//! Files that the configuration names and that are not there.

use crate::config::{LoadedConfig, unreadable};
use std::path::Path;

/// Says which files are not there. The certificate and its key are read where they are used, if there are both. Without
/// the database of places the server goes on.
pub(super) fn missing(loaded: &LoadedConfig) -> Vec<String> {
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

    fn given(name: &str, value: &str) -> LoadedConfig {
        let environment = vec![(format!("PORTEIRO_{name}").into(), value.into())];
        Config::load(Sources { environment, ..Sources::default() }).unwrap()
    }

    #[test]
    fn a_missing_file_is_named_unless_the_server_goes_on_without_it() {
        let gone = missing(&given("OUTBOUND__EXTRA_CA", "none.pem"));
        assert_eq!(gone, ["outbound.extra_ca: none.pem: there is no such file"]);
        assert!(missing(&given("OUTBOUND__EXTRA_CA", "Cargo.toml")).is_empty());
        assert!(missing(&given("GEO__DATABASE", "none.mmdb")).is_empty());
    }
}
