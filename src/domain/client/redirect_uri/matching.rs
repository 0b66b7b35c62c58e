use super::*;
use ApplicationType::{Native, Web};
use proptest::prelude::*;
use url::{Host, Url};

/// Every type that an application may have given, or not.
const TYPES: [Option<ApplicationType>; 3] = [None, Some(Native), Some(Web)];

#[test]
fn what_is_equal_matches_whatever_the_type() {
    for uri in ["https://rp.example/cb?a=b", "http://localhost:3000/cb", "com.example.app:/cb"] {
        for application_type in TYPES {
            assert!(matches(uri, uri, application_type), "{uri}");
        }
    }
}

#[test]
fn what_is_nearly_equal_never_matches() {
    let registered = "https://rp.example/cb";
    for presented in [
        "",
        "https://rp.example/",
        "https://rp.example/c",
        "https://rp.example/cb/",
        "https://rp.example//cb",
        "https://rp.example/CB",
        "https://RP.example/cb",
        "HTTPS://rp.example/cb",
        "http://rp.example/cb",
        "https://rp.example./cb",
        "https://rp.example:443/cb",
        "https://rp.example:8443/cb",
        "https://rp.example/cb?",
        "https://rp.example/cb?a=b",
        "https://rp.example/cb#",
        "https://rp.example/cb#a",
        "https://rp.example/cb;a",
        "https://rp.example/cb.evil",
        "https://rp.example/cb/../cb",
        "https://rp.example/x/../cb",
        "https://rp.example/./cb",
        "https://rp.example/%2e/cb",
        "https://rp.example/%63b",
        "https://rp.example%2fcb",
        "https://rp.example/cb%2f",
        "https://rp.example/cb%00",
        "https://rp.example/cb ",
        " https://rp.example/cb",
        "https://rp.example/cb\n",
        "https://rp.example/cb\0",
        "https://ana@rp.example/cb",
        "https://rp.example@evil.example/cb",
        "https://rp.example\\cb",
        "https:\\\\rp.example/cb",
        "https:/rp.example/cb",
        "https://rp.example.evil.example/cb",
        "https://evil.example/https://rp.example/cb",
        "https://evilrp.example/cb",
        "https://sub.rp.example/cb",
        "https://rp.example/cb,https://evil.example/cb",
    ] {
        for application_type in TYPES {
            assert!(!matches(registered, presented, application_type), "{presented:?}");
            assert!(!matches(presented, registered, application_type), "{presented:?}");
        }
    }
}

#[test]
fn the_query_is_compared_as_it_is_written() {
    let registered = "https://rp.example/cb?a=1&b=2";
    for query in ["", "?", "?a=1", "?b=2&a=1", "?a=1&b=2&", "?a=1&b=3", "?a=1&b=%32", "?A=1&b=2"] {
        let presented = format!("https://rp.example/cb{query}");
        assert!(!matches(registered, &presented, None), "{presented}");
    }
}

#[test]
fn the_port_is_free_on_a_loopback_address() {
    for (registered, presented) in [
        ("http://127.0.0.1/cb", "http://127.0.0.1:51004/cb"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1:51004/cb"),
        ("http://127.0.0.1:8080/cb", "http://127.0.0.1/cb"),
        ("http://127.0.0.1", "http://127.0.0.1:1"),
        ("http://127.0.0.1?a=b", "http://127.0.0.1:65535?a=b"),
        ("http://127.9.8.7/cb", "http://127.9.8.7:1/cb"),
        ("http://[::1]/cb?a=b", "http://[::1]:51004/cb?a=b"),
        ("http://[::1]:3/cb", "http://[::1]:4/cb"),
        ("http://localhost/cb", "http://localhost:51004/cb"),
        ("http://localhost", "http://localhost:51004"),
    ] {
        assert!(matches(registered, presented, None), "{presented}");
        assert!(matches(registered, presented, Some(Native)), "{presented}");
        assert!(!matches(registered, presented, Some(Web)), "{presented}");
    }
}

#[test]
fn a_port_given_to_localhost_is_not_free() {
    for application_type in TYPES {
        for presented in ["http://localhost:8081/cb", "http://localhost/cb"] {
            assert!(!matches("http://localhost:8080/cb", presented, application_type));
        }
    }
}

#[test]
fn nothing_but_the_port_is_free_on_loopback() {
    for registered in ["http://127.0.0.1:8080/cb", "http://localhost/cb", "http://[::1]/cb"] {
        let host = registered.trim_start_matches("http://").trim_end_matches("/cb");
        let host = host.trim_end_matches(":8080");
        for presented in [
            "http://HOST:1/CB",
            "http://HOST:1/cb/",
            "http://HOST:1//cb",
            "http://HOST:1/cb?a",
            "http://HOST:1/cb?",
            "http://HOST:1/cb#",
            "http://HOST:1/cb%2f",
            "http://HOST:1/%63b",
            "http://HOST:1/x/../cb",
            "http://HOST:1/./cb",
            "http://HOST:1",
            "http://HOST:1/",
            "http://HOST:1\\cb",
            "http://HOST:1 /cb",
            "http://HOST: 1/cb",
            "http://HOST:/cb",
            "http://HOST:0/cb",
            "http://HOST:01/cb",
            "http://HOST:65536/cb",
            "http://HOST:99999999999999999999/cb",
            "http://HOST:+1/cb",
            "http://HOST:-1/cb",
            "http://HOST:1:1/cb",
            "http://HOST:a/cb",
            "http://HOST:１/cb",
            "http://HOST:1\n/cb",
            "http://HOST:1@evil.example/cb",
            "http://HOST:@evil.example/cb",
            "http://HOST@evil.example:1/cb",
            "http://HOST\\@evil.example:1/cb",
            "http://ana@HOST:1/cb",
            "http://@HOST:1/cb",
            "http://HOST.evil.example:1/cb",
            "http://HOST.:1/cb",
            "http://HOST%00:1/cb",
            "http://HOST%2f:1/cb",
            "http://HOST#:1/cb",
            "http://HOST?:1/cb",
            "http://evil.example/HOST:1/cb",
            "http://evil.example#HOST:1/cb",
            "http://evil.example:1/cb",
            "https://HOST:1/cb",
            "HTTP://HOST:1/cb",
            "http:HOST:1/cb",
            "http:/HOST:1/cb",
            "http:///HOST:1/cb",
            "http:\\\\HOST:1/cb",
            "//HOST:1/cb",
            " http://HOST:1/cb",
            "ws://HOST:1/cb",
        ] {
            let presented = presented.replace("HOST", host);
            for application_type in TYPES {
                let matched = matches(registered, &presented, application_type);
                assert!(!matched, "{registered} took {presented:?}");
            }
        }
    }
}

#[test]
fn one_loopback_is_not_another() {
    let hosts = ["127.0.0.1", "127.0.0.2", "127.1", "2130706433", "0x7f.1", "0177.0.0.1"];
    let hosts = hosts.iter().chain(&["localhost", "LOCALHOST", "localhost.", "app.localhost"]);
    let hosts = hosts.chain(&["[::1]", "[0::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "[::]"]);
    let uris: Vec<String> = hosts.map(|host| format!("http://{host}/cb")).collect();
    for registered in &uris {
        for presented in uris.iter().filter(|presented| *presented != registered) {
            assert!(!matches(registered, presented, None), "{registered} took {presented}");
            let with_port = presented.replace("/cb", ":1/cb");
            assert!(!matches(registered, &with_port, None), "{registered} took {with_port}");
        }
    }
}

#[test]
fn elsewhere_the_port_is_never_free() {
    for registered in [
        "https://rp.example/cb",
        "https://localhost/cb",
        "https://127.0.0.1/cb",
        "http://rp.example/cb",
        "http://localhost.evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "com.example.app://localhost/cb",
        "com.example.app://127.0.0.1/cb",
    ] {
        let presented = registered.replace("/cb", ":1/cb");
        for application_type in TYPES {
            assert!(!matches(registered, &presented, application_type), "{presented}");
        }
    }
}

/// Strings built from the pieces with which redirects are attacked.
fn hostile() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "http://",
        "https://",
        "http:",
        "//",
        "/",
        "\\",
        "127.0.0.1",
        "localhost",
        "[::1]",
        ":",
        "8080",
        "1",
        "0",
        "@",
        "evil.example",
        ".",
        "..",
        "%2e",
        "%2f",
        "%00",
        "?",
        "#",
        "cb",
        "CB",
        "a=b",
        " ",
        "\t",
        "\n",
        "é",
    ]);
    let pieces = prop::collection::vec(piece, 0..8).prop_map(|pieces| pieces.concat());
    let host = prop::sample::select(vec!["127.0.0.1", "localhost", "[::1]"]);
    let port = prop::sample::select(vec!["", ":1", ":80", ":65535", ":0", ":", "@a", ".", "\\"]);
    let rest = prop::sample::select(vec!["/cb", "/cb?a=b"]);
    prop_oneof![
        pieces,
        (host, port.clone(), port, rest).prop_map(|(h, p, q, r)| format!("http://{h}{p}{q}{r}")),
    ]
}

proptest! {
    #[test]
    fn whatever_matches_leads_a_browser_to_the_same_address(presented in hostile()) {
        for registered in ["http://127.0.0.1/cb", "http://[::1]:8080/cb?a=b", "http://localhost/cb"] {
            if !matches(registered, &presented, None) {
                continue;
            }
            let (meant, led) = (Url::parse(registered).unwrap(), Url::parse(&presented).unwrap());
            prop_assert_eq!(meant.host(), led.host());
            prop_assert_eq!((meant.path(), meant.query()), (led.path(), led.query()));
            prop_assert_eq!((led.username(), led.password(), led.fragment()), ("", None, None));
        }
    }

    #[test]
    fn whatever_may_be_registered_leads_a_browser_to_the_host_it_names(uri in hostile()) {
        if check(&uri).is_ok() && !is_private_use(&uri) {
            let url = Url::parse(&uri).unwrap();
            let named = format!("{}://{}", url.scheme(), url.host_str().unwrap());
            prop_assert!(uri.to_ascii_lowercase().starts_with(&named));
            prop_assert_eq!((url.username(), url.password(), url.fragment()), ("", None, None));
            let loopback = match url.host().unwrap() {
                Host::Domain(name) => name == "localhost",
                Host::Ipv4(address) => address.is_loopback(),
                Host::Ipv6(address) => address.is_loopback(),
            };
            prop_assert!(loopback || url.scheme() == "https");
        }
    }
}
