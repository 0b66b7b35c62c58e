//! What `serve` refuses by configuration alone.

use super::TestSources;
use crate::config::Config;

const FIT: [(&str, &str); 3] = [
    ("PORTEIRO_ISSUER", "http://localhost:8443"),
    ("PORTEIRO_STORE__URL", "sqlite:///var/lib/porteiro.db"),
    ("PORTEIRO_KEYS__DIR", "/etc/porteiro/keys"),
];

/// What is said of a configuration that is fit but for these variables.
fn unfit(variables: &[(&str, &str)]) -> Vec<String> {
    let mut given = TestSources::nothing();
    for (name, value) in FIT {
        given = given.variable(name, value);
    }
    for (name, value) in variables {
        given = given.variable(format!("PORTEIRO_{name}"), value);
    }
    given.unfit()
}

#[test]
fn three_settings_are_enough() {
    assert_eq!(unfit(&[]), [""; 0]);
}

#[test]
fn what_is_required_is_named_when_it_is_missing() {
    let expected = [
        "issuer: is not set: give `issuer` in the file, or PORTEIRO_ISSUER",
        "store.url: is not set: give `url` under [store] in the file, or PORTEIRO_STORE__URL",
        "keys.dir: is not set: give `dir` under [keys] in the file, or PORTEIRO_KEYS__DIR",
    ];
    assert_eq!(TestSources::nothing().unfit(), expected);
}

#[test]
fn an_issuer_is_an_origin_in_its_one_spelling() {
    for issuer in [
        "https://id.example.com",
        "https://id.example.com:8443",
        "http://localhost:8080",
        "http://127.0.0.1",
        "http://127.9.9.9:1",
        "http://[::1]:8080",
        "https://10.0.0.1",
    ] {
        let said = unfit(&[("ISSUER", issuer), ("PUBLIC_PROXY", "true")]);
        assert_eq!(said, [""; 0], "{issuer}");
    }
    for (issuer, reason) in [
        ("https://id.example.com/", "must not end with a slash: write https://id.example.com"),
        ("http://id.example.com", "must be https; http is for loopback alone"),
        ("http://localhost.example.com", "must be https; http is for loopback alone"),
        ("http://10.0.0.1", "must be https; http is for loopback alone"),
        ("http://0.0.0.0", "must be https; http is for loopback alone"),
        ("https://id.example.com/tenant", "must not have a path"),
        ("https://id.example.com//", "must not have a path"),
        ("https://id.example.com?a=b", "must not have a query"),
        ("https://id.example.com?", "must not have a query"),
        ("https://id.example.com#", "must not have a fragment"),
        ("https://user@id.example.com", "must not hold credentials"),
        ("https://ID.example.com", SPELLING),
        ("HTTPS://id.example.com", SPELLING),
        ("https://id.example.com:443", SPELLING),
        ("https:id.example.com", SPELLING),
        ("https://id.example.com ", SPELLING),
        ("id.example.com", "is not a URL like https://id.example.com"),
        ("https://", "is not a URL like https://id.example.com"),
        ("urn:example:id", "is not a URL like https://id.example.com"),
        ("ftp://id.example.com", "is not a URL like https://id.example.com"),
    ] {
        let expected = format!("issuer (PORTEIRO_ISSUER): {reason}");
        let said = unfit(&[("ISSUER", issuer), ("PUBLIC_PROXY", "true")]);
        assert_eq!(said, [expected], "{issuer}");
    }
    assert_eq!(unfit(&[("ISSUER", "http://user@id.example.com/a?b#c")]).len(), 5);
}

const SPELLING: &str =
    "has another spelling, and issuers are compared as strings: write https://id.example.com";

#[test]
fn nothing_is_served_in_clear_beyond_this_host() {
    let clear = "listen (PORTEIRO_LISTEN): would serve in clear beyond this host: give [tls], listen on 127.0.0.1, \
                 or set public_proxy where TLS ends in front";
    assert_eq!(unfit(&[("LISTEN", "0.0.0.0:8443")]), [clear]);
    assert_eq!(unfit(&[("LISTEN", "10.0.0.1:8443")]), [clear]);
    assert_eq!(unfit(&[("LISTEN", "[::1]:8443")]), [""; 0]);
    assert_eq!(unfit(&[("LISTEN", "[::ffff:127.0.0.1]:8443")]), [""; 0]);
    assert_eq!(unfit(&[("LISTEN", "0.0.0.0:8443"), ("PUBLIC_PROXY", "true")]), [""; 0]);
    let tls = [("LISTEN", "0.0.0.0:8443"), ("TLS__CERT", "c.pem"), ("TLS__KEY", "k.pem")];
    assert_eq!(unfit(&tls), [""; 0]);
    let key = "tls.key: is not set, and tls.cert needs it";
    assert_eq!(unfit(&[("LISTEN", "0.0.0.0:8443"), ("TLS__CERT", "c.pem")]), [key]);
    assert_eq!(unfit(&[("TLS__KEY", "k.pem")]), ["tls.cert: is not set, and tls.key needs it"]);
}

#[test]
fn an_https_issuer_that_nothing_serves_is_looked_at() {
    let concerns = |given: &[(&str, &str)]| {
        let given = given.iter().map(|(name, value)| (format!("PORTEIRO_{name}"), (*value).into()));
        let environment = given.map(|(name, value)| (name.into(), value)).collect();
        let loaded = Config::load(crate::config::Sources {
            environment,
            ..crate::config::Sources::default()
        })
        .unwrap();
        let settings = loaded.config.concerns().into_iter().map(|concern| concern.setting);
        settings.collect::<Vec<_>>()
    };
    let issuer = ("ISSUER", "https://id.example.com");
    assert_eq!(unfit(&[issuer]), [""; 0], "three settings are enough (contract, section 2)");
    assert_eq!(concerns(&[issuer]), ["issuer"]);
    assert_eq!(concerns(&[issuer, ("TLS__CERT", "c.pem"), ("TLS__KEY", "k.pem")]), [""; 0]);
    let proxy = [issuer, ("PUBLIC_PROXY", "true"), ("TRUSTED_PROXIES", "10.0.0.0/8")];
    assert_eq!(concerns(&proxy), [""; 0]);
    assert_eq!(concerns(&[("ISSUER", "http://localhost:8443")]), [""; 0]);
}

#[test]
fn limits_are_neither_nothing_nor_beyond_what_can_be_kept() {
    for (name, value, reason) in [
        ("connections", "7", "must be 8 at least"),
        ("connections_per_address", "0", "must be 1 at least"),
        ("flow_burst", "0", "must be 1 to 10000: for none, limits.enabled"),
        ("registration_per_minute", "0", "must be 1 to 10000: for none, limits.enabled"),
        ("approval_burst", "0", "must be 1 to 10000: for none, limits.enabled"),
        ("approvals_pending", "101", "must be 1 to 100: for none, limits.enabled"),
        ("approvals_pending", "0", "must be 1 to 100: for none, limits.enabled"),
        ("invitations_per_day", "0", "must be 1 to 10000: for none, limits.enabled"),
        ("invitations_to_one_address", "10001", "must be 1 to 10000: for none, limits.enabled"),
        ("authorize_burst", "10001", "must be 1 to 10000: for none, limits.enabled"),
    ] {
        let variable = format!("LIMITS__{}", name.to_uppercase());
        let expected = format!("limits.{name} (PORTEIRO_{variable}): {reason}");
        assert_eq!(unfit(&[(&variable, value)]), [expected]);
        assert_eq!(unfit(&[(&variable, "100")]), [""; 0]);
    }
    let huge = unfit(&[("LIMITS__FLOW_BURST", "5000000000")]);
    assert_eq!(huge.len(), 1);
    assert!(huge[0].contains("is too large"), "{huge:?}");
}

/// Which settings are to be looked at.
fn concerns(variables: &[(&str, &str)]) -> Vec<&'static str> {
    let given = variables.iter().fold(TestSources::nothing(), |given, (name, value)| {
        given.variable(format!("PORTEIRO_{name}"), value)
    });
    let concerns = given.load().unwrap().config.concerns();
    concerns.into_iter().map(|concern| concern.setting).collect()
}

#[test]
fn mails_that_would_lead_to_no_page_are_looked_at() {
    let (off, mail) = (("SCREENS__ENABLED", "false"), ("MAIL__TRANSPORT", "log"));
    assert_eq!(concerns(&[off, mail]), ["links"]);
    assert_eq!(concerns(&[mail]), [""; 0], "our own pages are there");
    assert_eq!(concerns(&[off]), [""; 0], "no mail leads anywhere");
    let page = "https://app.example.com/x";
    let names = ["SIGN_IN", "DEVICE", "APPROVAL", "RECOVERY", "INVITATION", "VERIFY_EMAIL"];
    let names = names.map(|name| format!("LINKS__{name}"));
    let all: Vec<(&str, &str)> = names.iter().map(|name| (name.as_str(), page)).collect();
    assert_eq!(concerns(&[&[off, mail], &*all].concat()), [""; 0]);
    assert_eq!(concerns(&[&[off, mail], &all[1..]].concat()), ["links"]);
}

#[test]
fn metrics_for_every_host_and_a_proxy_that_is_not_named_are_looked_at() {
    assert_eq!(concerns(&[]), [""; 0]);
    assert_eq!(concerns(&[("OPERATOR__LISTEN", "[::1]:9090")]), [""; 0]);
    for listen in ["0.0.0.0:9090", "[::]:9090", "10.0.0.1:9090"] {
        assert_eq!(concerns(&[("OPERATOR__LISTEN", listen)]), ["operator.listen"], "{listen}");
    }
    assert_eq!(concerns(&[("PUBLIC_PROXY", "true")]), ["trusted_proxies"]);
    let named = [("PUBLIC_PROXY", "true"), ("TRUSTED_PROXIES", "10.0.0.0/8")];
    assert_eq!(concerns(&named), [""; 0]);
}

#[test]
fn many_hosts_that_may_say_which_client_calls_are_looked_at() {
    for (network, is_wide) in [
        ("10.0.0.0/8", true),
        ("10.0.0.0/27", true),
        ("10.0.0.16/28", false),
        ("10.0.0.1/32", false),
        ("fd00::/63", true),
        ("fd00::/64", false),
        ("10.0.0.1/32,fd00::/8", true),
    ] {
        let given = [("PUBLIC_PROXY", "true"), ("TRUSTED_PROXIES", network)];
        assert_eq!(concerns(&given), [""; 0], "{network}: no host is asked for certificates");
        let expected: &[&str] = if is_wide { &["trusted_proxies"] } else { &[] };
        let given = [&given[..], &[("CLIENT_CERT_HEADER", "true")]].concat();
        assert_eq!(concerns(&given), expected, "{network}");
    }
}

#[test]
fn a_database_on_another_host_is_reached_in_clear_only_with_a_warning() {
    for near in [
        "sqlite:///var/lib/porteiro.db",
        "postgres://a@localhost/b",
        "postgres://a@127.0.0.1:5433/b?sslmode=disable",
        "postgres://a@[::1]/b",
        "postgres:///b?host=/run/postgresql",
        "postgres://%2Frun%2Fpostgresql/b",
        "postgres://a@db.example.com/b?sslmode=verify-full",
        "postgresql://a@db.example.com/b?sslrootcert=ca.pem&sslmode=verify-ca",
    ] {
        assert_eq!(concerns(&[("STORE__URL", near)]), [""; 0], "{near}");
    }
    for far in [
        "postgres://a@db.example.com/b",
        "postgres://a@10.0.0.1/b?sslmode=prefer",
        "postgres://a@10.0.0.1/b?sslmode=disable",
        "postgres://a@10.0.0.1/b?sslmode=require",
        "postgres://a@localhost/b?host=db.example.com",
        "postgres://a@localhost.example.com/b",
    ] {
        assert_eq!(concerns(&[("STORE__URL", far)]), ["store.url"], "{far}");
    }
}

#[test]
fn client_certificates_need_tls_and_a_listener() {
    let needs = "mtls.listen (PORTEIRO_MTLS__LISTEN): needs [tls], which is not set";
    assert_eq!(unfit(&[("MTLS__LISTEN", "127.0.0.1:9443")]), [needs]);
    let tls = [("TLS__CERT", "c.pem"), ("TLS__KEY", "k.pem")];
    let ca = [tls[0], tls[1], ("MTLS__CLIENT_CA", "ca.pem")];
    assert_eq!(unfit(&ca), ["mtls.listen: is not set, and mtls.client_ca needs it"]);
    assert_eq!(unfit(&[tls[0], tls[1], ("MTLS__LISTEN", "127.0.0.1:9443")]), [""; 0]);
}

#[test]
fn two_listeners_do_not_share_an_address() {
    let shared = "operator.listen (PORTEIRO_OPERATOR__LISTEN): is the address of listen as well: give each its own";
    for (public, operator) in [
        ("127.0.0.1:9000", "127.0.0.1:9000"),
        ("127.0.0.1:9000", "0.0.0.0:9000"),
        ("127.0.0.1:9000", "[::]:9000"),
        ("[::1]:9000", "[::]:9000"),
        ("127.0.0.1:9000", "[::ffff:127.0.0.1]:9000"),
    ] {
        let said = unfit(&[("LISTEN", public), ("OPERATOR__LISTEN", operator)]);
        assert_eq!(said, [shared], "{public} {operator}");
    }
    for (public, operator) in [
        ("127.0.0.1:9000", "127.0.0.2:9000"),
        ("127.0.0.1:9000", "127.0.0.1:9001"),
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("[::1]:9000", "0.0.0.0:9000"),
    ] {
        assert_eq!(unfit(&[("LISTEN", public), ("OPERATOR__LISTEN", operator)]), [""; 0]);
    }
    let tls = [("TLS__CERT", "c.pem"), ("TLS__KEY", "k.pem"), ("MTLS__LISTEN", "127.0.0.1:9090")];
    let said = unfit(&tls);
    assert_eq!(
        said,
        ["operator.listen (default): is the address of mtls.listen as well: give each its own"]
    );
}

#[test]
fn what_people_and_secrets_are_sent_to_is_https() {
    for name in [
        "LINKS__SIGN_IN",
        "LINKS__DEVICE",
        "LINKS__APPROVAL",
        "SMS__TRANSPORT",
        "PASSWORD__BREACH_CHECK",
    ] {
        assert_eq!(unfit(&[(name, "https://a.example/x")]), [""; 0]);
        assert_eq!(unfit(&[(name, "http://localhost:3000/x")]), [""; 0]);
        let said = unfit(&[(name, "http://a.example/x")]);
        assert_eq!(said.len(), 1);
        assert!(said[0].ends_with(": must be https; http is for loopback alone"), "{said:?}");
    }
}

#[test]
fn mail_by_smtp_needs_a_sender() {
    let expected = ["mail.from: is not set, and mail.transport needs it"];
    assert_eq!(unfit(&[("MAIL__TRANSPORT", "smtp://localhost")]), expected);
    assert_eq!(unfit(&[("MAIL__TRANSPORT", "file:///mail")]), [""; 0]);
}

#[test]
fn passwords_are_of_a_sane_length() {
    for (length, is_fit) in [("0", false), ("7", false), ("8", true), ("128", true), ("129", false)]
    {
        assert_eq!(unfit(&[("PASSWORD__MIN_LENGTH", length)]).is_empty(), is_fit, "{length}");
    }
}

#[test]
fn lifetimes_are_neither_nothing_nor_more_than_may_be() {
    for (name, value, reason) in [
        ("session_idle", "604801", "must be 604800 at most: it may be lowered, not raised"),
        ("session_ceiling", "2592001", "must be 2592000 at most: it may be lowered, not raised"),
        ("authorization_code", "601", "must be 600 at most: it may be lowered, not raised"),
        ("par", "0", "must be 1 second at least"),
        ("magic_link", "0", "must be 1 second at least"),
        ("refresh_idle", "2592001", "must not exceed lifetimes.refresh_ceiling, 2592000"),
    ] {
        let variable = format!("LIFETIMES__{}", name.to_uppercase());
        let expected = format!("lifetimes.{name} (PORTEIRO_{variable}): {reason}");
        assert_eq!(unfit(&[(&variable, value)]), [expected]);
    }
    for (name, value) in
        [("SESSION_IDLE", "1"), ("AUTHORIZATION_CODE", "600"), ("ACCESS_TOKEN", "86400")]
    {
        assert_eq!(unfit(&[(&format!("LIFETIMES__{name}"), value)]), [""; 0]);
    }
}

#[test]
fn a_device_is_not_remembered_for_longer_than_a_season() {
    assert_eq!(unfit(&[("ASSURANCE__REMEMBER_DEVICE_DAYS", "90")]), [""; 0]);
    let said = unfit(&[("ASSURANCE__REMEMBER_DEVICE_DAYS", "91")]);
    assert!(said[0].contains("must be 90 at most") && said.len() == 1, "{said:?}");
    assert_eq!(
        TestSources::nothing().load().unwrap().config.assurance.remember_device,
        None,
        "off"
    );
}

#[test]
fn form_and_fitness_are_refused_together_and_nothing_twice() {
    let file = "issuer = \"http://id.example.com/\"\nlisten = \"0.0.0.0:443\"\n[store]\nurl = 5\n[keys]\ndir = \"\"\n\
                [password]\nmin_length = 4\n[lifetimes]\nsession_idle = 99999999\n[sms]\ntransport = \"pigeon\"\n";
    let said = TestSources::file(file).unfit();
    let starts = [
        "porteiro.toml:4: `store.url` must be a text",
        "keys.dir (porteiro.toml:6): is empty",
        "sms.transport (porteiro.toml:12): is neither",
        "issuer (porteiro.toml:1): must be https",
        "listen (porteiro.toml:2): would serve in clear",
        "password.min_length (porteiro.toml:8): must be 8",
        "lifetimes.session_idle (porteiro.toml:10): must be 604800",
        "lifetimes.session_idle (porteiro.toml:10): must not exceed",
    ];
    assert_eq!(said.len(), starts.len(), "{said:#?}");
    for (line, start) in said.iter().zip(starts) {
        assert!(line.starts_with(start), "{line} should start with {start}");
    }
}

#[test]
fn a_survey_holds_what_could_be_read() {
    let given = TestSources::file("listen = 1\n[keys]\ndir = \"/keys\"\n");
    let survey = Config::load_for_production(given.sources);
    assert!(!survey.refusals.is_empty());
    assert_eq!(survey.loaded.config.keys.dir.unwrap().to_str(), Some("/keys"));
}
