//! Which layer has the last word, and that it is remembered.

use super::TestSources;
use crate::config::{Config, Line, LoadedConfig, Origin, Sources};
use std::{path::Path, time::Duration};

fn line(loaded: &LoadedConfig, name: &str) -> Line {
    loaded.lines().find(|line| line.name == name).unwrap().clone()
}

#[test]
fn each_layer_overrides_the_one_below_it() {
    let file = "# ours\nlisten = \"127.0.0.3:3\"\n";
    let port = |given: TestSources| {
        let loaded = given.load().unwrap();
        (loaded.config.listen.port(), loaded.origin("listen").unwrap().to_string())
    };
    assert_eq!(port(TestSources::nothing()), (8443, "default".to_owned()));
    let dev = |given: TestSources| given.dev("listen", "127.0.0.2:2");
    assert_eq!(port(dev(TestSources::nothing())), (2, "porteiro dev".to_owned()));
    let (number, origin) = port(dev(TestSources::file(file)));
    assert_eq!(number, 3);
    assert!(origin.ends_with("/porteiro.toml:2"), "{origin}");
    let variable = |given: TestSources| given.variable("PORTEIRO_LISTEN", "127.0.0.4:4");
    assert_eq!(port(variable(dev(TestSources::file(file)))), (4, "PORTEIRO_LISTEN".to_owned()));
    let all = variable(dev(TestSources::file(file))).flag("listen", "--listen", "[::1]:5");
    assert_eq!(port(all), (5, "--listen".to_owned()));
}

#[test]
fn without_any_source_every_default_holds_and_nothing_else_is_set() {
    let Config { issuer, listen, trusted_proxies, store, keys, mail, lifetimes, .. } =
        Config::load(Sources::default()).unwrap().config;
    assert!(issuer.is_none() && store.url.is_none() && keys.dir.is_none());
    assert!(mail.transport.is_none() && trusted_proxies.is_empty());
    assert_eq!(listen.to_string(), "127.0.0.1:8443");
    assert_eq!(lifetimes.authorization_code, Duration::from_mins(1));
    assert_eq!(lifetimes.session_ceiling, Duration::from_hours(720));
}

#[test]
fn a_path_in_a_file_is_relative_to_the_file_and_others_to_the_working_folder() {
    let given = TestSources::file("[tls]\ncert = \"chain.pem\"\nkey = \"/keys/key.pem\"\n")
        .variable("PORTEIRO_KEYS__DIR", "keys")
        .flag("geo.database", "--geo", "city.mmdb");
    let folder = given.folder.path().to_owned();
    let loaded = given.load().unwrap();
    let shown = folder.join("chain.pem").display().to_string();
    assert_eq!(line(&loaded, "tls.cert").value.unwrap(), shown);
    let config = loaded.config;
    let pair = config.tls.pair().unwrap();
    assert_eq!(pair, (folder.join("chain.pem").as_path(), Path::new("/keys/key.pem")));
    assert_eq!(config.keys.dir.unwrap(), Path::new("keys"));
    assert_eq!(config.geo.database.unwrap(), Path::new("city.mmdb"));
}

#[test]
fn lists_in_variables_are_separated_by_commas() {
    let networks = |value: &str| {
        let given = TestSources::file("trusted_proxies = [\"192.0.2.0/24\"]\n");
        let loaded = given.variable("PORTEIRO_TRUSTED_PROXIES", value).load().unwrap();
        loaded.config.trusted_proxies.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(
        networks("10.1.2.3/8, fd00::/8,192.0.2.7"),
        ["10.0.0.0/8", "fd00::/8", "192.0.2.7/32"]
    );
    assert!(networks("").is_empty());
}

#[test]
fn a_default_follows_the_ceiling_that_was_lowered_below_it() {
    let loaded = TestSources::file("[lifetimes]\nsession_ceiling = 3600\n").load().unwrap();
    assert_eq!(loaded.config.lifetimes.session_idle, Duration::from_hours(1));
    assert_eq!(
        line(&loaded, "lifetimes.session_idle").to_string(),
        "lifetimes.session_idle = 3600  # default"
    );
    let explicit = "[lifetimes]\nsession_ceiling = 3600\nsession_idle = 3601\n";
    let refused =
        "lifetimes.session_idle (porteiro.toml:3): must not exceed lifetimes.session_ceiling, 3600";
    assert!(TestSources::file(explicit).unfit().contains(&refused.to_owned()));
}

#[test]
fn what_is_printed_is_toml_with_the_origin_of_each_value() {
    let given = TestSources::nothing()
        .variable("PORTEIRO_SIGN_UP__OPEN", "true")
        .variable("PORTEIRO_LIFETIMES__PAR", "30")
        .variable("PORTEIRO_TRUSTED_PROXIES", "10.0.0.0/8,::1")
        .variable("PORTEIRO_MAIL__FROM", "\"Example \\ ID\" <id@example.com>")
        .dev("issuer", "http://localhost:8080");
    let loaded = given.load().unwrap();
    let said = |name| line(&loaded, name).to_string();
    assert_eq!(said("sign_up.open"), "sign_up.open = true  # PORTEIRO_SIGN_UP__OPEN");
    assert_eq!(said("lifetimes.par"), "lifetimes.par = 30  # PORTEIRO_LIFETIMES__PAR");
    assert_eq!(said("limits.enabled"), "limits.enabled = true  # default");
    assert_eq!(said("issuer"), "issuer = \"http://localhost:8080\"  # porteiro dev");
    assert_eq!(said("geo.database"), "# geo.database (not set)");
    let whole: String = loaded.lines().map(|line| format!("{line}\n")).collect::<Vec<_>>().concat();
    let again = TestSources::file(&whole).load().unwrap();
    for (one, other) in loaded.lines().zip(again.lines()) {
        assert_eq!(one.value, other.value, "{}", one.name);
    }
    let json = serde_json::to_value(line(&loaded, "lifetimes.par")).unwrap();
    assert_eq!(json["value"], 30);
    assert_eq!(json["origin"], "PORTEIRO_LIFETIMES__PAR");
    assert_eq!(json["secret"], false);
    assert!(serde_json::to_value(line(&loaded, "geo.database")).unwrap()["value"].is_null());
}

#[test]
fn what_orchestrators_inject_is_left_alone() {
    let names = [
        "PORTEIRO_PORT",
        "PORTEIRO_LOG",
        "PORTEIRO_SERVICE_HOST",
        "PORTEIRO_SERVICE_PORT",
        "PORTEIRO_HOST",
        "PORTEIRO_PORT_8443_TCP_ADDR",
        "PORTEIRO_USER",
        "PORTEIRO_VERSION",
        "PORTEIRO_TRUSTED_PROXY",
        "PORTEIRO_IMAGE",
        "PORTEIRO_",
        "PORTEIRO_TEST_POSTGRES",
        "PORTEIRO_MAIL_PORT",
        "PATH",
        "porteiro_issuer",
        "PORTEIROX__Y",
    ];
    for name in names {
        let loaded = TestSources::nothing().variable(name, "tcp://10.0.0.1:80").load();
        assert!(loaded.is_ok(), "{name}: {:?}", loaded.err());
    }
}

#[test]
fn an_origin_is_said_as_an_operator_would() {
    let file = |line| Origin::File { path: "porteiro.toml".into(), line };
    assert_eq!(file(12).to_string(), "porteiro.toml:12");
    assert_eq!(file(0).to_string(), "porteiro.toml");
    assert_eq!(Origin::Flag { flag: "--store".into() }.to_string(), "--store");
}
