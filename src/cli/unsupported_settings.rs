//! What a configuration asks for that this version does not do, and files it names that are not there.

use crate::config::{BreachCheck, Loaded, Origin, SETTINGS, unreadable};
use std::path::Path;

/// The settings that something acts on; whoever builds another adds it here.
const ACTED_ON: &[&str] = &[
    "issuer",
    "listen",
    "public_proxy",
    "trusted_proxies",
    "store.url",
    "keys.dir",
    "tls.cert",
    "tls.key",
    "operator.listen",
    "registration.open",
    "links.sign_in",
    "lifetimes.authorization_code",
    "lifetimes.access_token",
    "lifetimes.id_token",
    "lifetimes.refresh_idle",
    "lifetimes.refresh_ceiling",
    "lifetimes.session_idle",
    "lifetimes.session_ceiling",
    "lifetimes.flow",
    "limits.enabled",
    "limits.connections",
    "limits.connections_per_address",
    "limits.authorize_burst",
    "limits.authorize_per_minute",
    "limits.flow_burst",
    "limits.flow_per_minute",
    "limits.credential_burst",
    "limits.credential_per_minute",
    "limits.message_burst",
    "limits.message_per_minute",
    "limits.registration_burst",
    "limits.registration_per_minute",
];

/// To serve without these would be unsafe: somebody relies on certificates being asked for.
const REFUSED: &[&str] = &["mtls.listen", "mtls.client_ca"];

/// Names what was set by somebody and has no effect yet.
pub(super) fn without_effect(loaded: &Loaded) -> Vec<&'static str> {
    let names = SETTINGS.iter().map(|setting| setting.name);
    let idle = names.filter(|name| !ACTED_ON.contains(name) && !REFUSED.contains(name));
    idle.filter(|name| was_given(loaded, name).is_some()).collect()
}

/// Says what cannot be left unheeded, and which files are not there.
pub(super) fn refusals(loaded: &Loaded) -> Vec<String> {
    let refused = REFUSED.iter().filter_map(|name| {
        let origin = was_given(loaded, name)?;
        Some(format!(
            "{name} ({origin}): this version asks for no client certificates: leave it out"
        ))
    });
    refused.chain(missing_files(loaded)).collect()
}

fn was_given<'a>(loaded: &'a Loaded, name: &str) -> Option<&'a Origin> {
    loaded.origin(name).filter(|origin| !matches!(origin, Origin::Default | Origin::Dev))
}

/// The certificate and its key are read by whoever uses them, if there are both.
fn missing_files(loaded: &Loaded) -> Vec<String> {
    let config = &loaded.config;
    let (cert, key) = match config.tls.pair() {
        Some(_) => (None, None),
        None => (config.tls.cert.as_deref(), config.tls.key.as_deref()),
    };
    let hashes = match &config.password.breach_check {
        BreachCheck::File(path) => Some(&**path),
        BreachCheck::Off | BreachCheck::Range(_) => None,
    };
    let files = [
        ("tls.cert", cert),
        ("tls.key", key),
        ("mtls.client_ca", config.mtls.client_ca.as_deref()),
        ("outbound.extra_ca", config.outbound.extra_ca.as_deref()),
        ("geo.database", config.geo.database.as_deref()),
        ("password.breach_check", hashes),
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
    fn what_somebody_set_and_nobody_heeds_is_named() {
        assert!(without_effect(&given(&[])).is_empty(), "defaults promise nothing");
        let heeded = given(&[("ISSUER", "https://a.test"), ("LIFETIMES__ACCESS_TOKEN", "60")]);
        assert!(without_effect(&heeded).is_empty());
        let idle = given(&[("LIFETIMES__CIBA", "60"), ("LIFETIMES__PAR", "30")]);
        assert_eq!(without_effect(&idle), ["lifetimes.par", "lifetimes.ciba"]);
        assert!(
            ACTED_ON.iter().chain(REFUSED).all(|name| SETTINGS.iter().any(|s| s.name == *name))
        );
    }

    #[test]
    fn a_listener_for_client_certificates_and_a_missing_file_are_refused() {
        let refused = refusals(&given(&[("MTLS__LISTEN", "127.0.0.1:9443")]));
        assert_eq!(refused.len(), 1);
        assert!(refused[0].starts_with("mtls.listen (PORTEIRO_MTLS__LISTEN): "), "{refused:?}");
        let refused = refusals(&given(&[("GEO__DATABASE", "none.mmdb")]));
        assert_eq!(refused, ["geo.database: none.mmdb: there is no such file"]);
        assert!(refusals(&given(&[("OUTBOUND__EXTRA_CA", "Cargo.toml")])).is_empty());
    }
}
