use super::*;
use UriFault::*;

#[test]
fn https_loopback_and_reversed_domains_may_be_registered() {
    for uri in [
        "https://rp.example",
        "https://rp.example/",
        "https://rp.example/cb",
        "https://rp.example:8443/cb",
        "https://rp.example:443/cb",
        "https://RP.example/cb",
        "https://rp.example./cb",
        "https://rp_1.example/cb",
        "https://rp.example?tenant=1",
        "https://rp.example/cb?dummy1=lorem&dummy2=ipsum",
        "https://rp.example/cb?next=https://rp.example/../x",
        "https://rp.example/a%20b/%C3%A9",
        "https://rp.example/a%2Fb",
        "https://rp.example/...",
        "https://rp.example/.well-known/cb",
        "https://rp.example/a..b",
        "https://rp.example//cb",
        "https://rp.example/@ana",
        "https://xn--caf-dma.example/cb",
        "https://192.0.2.1/cb",
        "https://[2001:db8::1]/cb",
        "https://[2001:db8::1]:8443/cb",
        "https://localhost/cb",
        "https://localhost:8443/cb",
        "http://localhost/cb",
        "http://localhost:3000/cb",
        "http://localhost",
        "http://127.0.0.1/cb",
        "http://127.0.0.1:80/cb",
        "http://127.255.255.254:65535/cb",
        "http://[::1]/cb",
        "http://[::1]:3000/cb?a=b",
        "com.example.app:/cb",
        "com.example.app:/oauth2redirect/example-provider",
        "com.example.app://cb",
        "com.example.app:///cb",
        "com.example.app:cb",
        "com.Example.App://auth/cb?x=1",
        "com.googleusercontent.apps.123-abc:/oauth2redirect",
    ] {
        assert_eq!(check(uri), Ok(()), "{uri}");
    }
}

#[test]
fn whatever_leads_elsewhere_than_it_seems_is_refused() {
    for (uri, fault) in [
        // Not absolute.
        ("", NotAbsolute),
        ("/cb", NotAbsolute),
        ("//rp.example/cb", NotAbsolute),
        ("rp.example/cb", NotAbsolute),
        (":", NotAbsolute),
        ("://rp.example", NotAbsolute),
        ("1http://rp.example", NotAbsolute),
        ("*", NotAbsolute),
        // Fragments, also empty ones (RFC 6749 §3.1.2).
        ("https://rp.example/cb#", Fragment),
        ("https://rp.example/cb#a", Fragment),
        ("https://rp.example#a", Fragment),
        ("https://rp.example/cb?a#b", Fragment),
        ("http://localhost/cb#a", Fragment),
        ("com.example.app:/cb#a", Fragment),
        ("https://rp.example/cb#a#b", Character),
        // Users.
        ("https://rp.example@evil.example/cb", User),
        ("https://ana:secret@rp.example/cb", User),
        ("https://@rp.example/cb", User),
        ("https://:@rp.example/cb", User),
        ("http://127.0.0.1@evil.example/cb", User),
        ("http://localhost:80@evil.example/cb", User),
        ("com.example.app://ana@cb", User),
        // Characters that parsers drop, decode or turn round.
        ("https://rp.example/c b", Character),
        (" https://rp.example/cb", Character),
        ("https://rp.example/cb ", Character),
        ("https://rp.example/cb\n", Character),
        ("https://rp.example/\tcb", Character),
        ("ht\ntps://rp.example/cb", Character),
        ("https://rp.example/cb\0", Character),
        ("https://rp.example/\u{7f}", Character),
        ("https://rp.example\\@evil.example/cb", Character),
        ("https:\\\\rp.example\\cb", Character),
        ("https://rp.example/cb\\..\\x", Character),
        ("https://rp.example/é", Character),
        ("https://rp。example/cb", Character),
        ("https://rp.example/\u{202e}bc", Character),
        ("https://rp.example/<script>", Character),
        ("https://rp.example/\"", Character),
        ("https://rp.example/{id}", Character),
        ("https://rp.example/a|b", Character),
        ("https://rp.example/a^b`", Character),
        ("https://rp.example/[a]", Character),
        ("https://rp.example/cb?a[]=1", Character),
        ("https://rp.example/%", Character),
        ("https://rp.example/%2", Character),
        ("https://rp.example/%zz", Character),
        ("https://rp.example/%+1", Character),
        ("https://rp.example/cb%00", EncodedControl),
        ("https://rp.example/cb%0d%0aSet-Cookie:x", EncodedControl),
        ("https://rp.example/cb?a=%0A", EncodedControl),
        ("https://rp.example/%7F", EncodedControl),
        // Dot segments, plain and encoded.
        ("https://rp.example/.", DotSegments),
        ("https://rp.example/..", DotSegments),
        ("https://rp.example/cb/../x", DotSegments),
        ("https://rp.example/cb/./x", DotSegments),
        ("https://rp.example/cb/..", DotSegments),
        ("https://rp.example/cb/..?a=b", DotSegments),
        ("https://rp.example/cb/%2e%2e/x", DotSegments),
        ("https://rp.example/cb/.%2E/x", DotSegments),
        ("https://rp.example/cb/%2e/x", DotSegments),
        ("https://rp.example/cb/..%2fx", DotSegments),
        ("https://rp.example/cb%2F..%2Fx", DotSegments),
        ("https://rp.example/cb%5c..%5Cx", DotSegments),
        ("com.example.app:/../cb", DotSegments),
        ("com.example.app:..", DotSegments),
        // Hosts and ports.
        ("https:", Host),
        ("https:rp.example/cb", Host),
        ("https:/rp.example/cb", Host),
        ("https://", Host),
        ("https:///rp.example/cb", Host),
        ("https://:443/cb", Host),
        ("https://?a", Host),
        ("https://rp..example/cb", Host),
        ("https://.rp.example/cb", Host),
        ("https://./cb", Host),
        ("https://*.rp.example/cb", Host),
        ("https://rp%2eexample/cb", Host),
        ("https://rp.example%2f@evil/cb", User),
        ("https://rp,example/cb", Host),
        ("https://[::1/cb", Port),
        ("https://::1/cb", Port),
        ("https://[::1]x/cb", Port),
        ("https://[v1.a]/cb", Host),
        ("https://[fe80::1%25eth0]/cb", Host),
        ("https://[]/cb", Host),
        ("https://rp.example:/cb", Port),
        ("https://rp.example:0/cb", Port),
        ("https://rp.example:0443/cb", Port),
        ("https://rp.example:65536/cb", Port),
        ("https://rp.example:+443/cb", Port),
        ("https://rp.example:https/cb", Port),
        ("https://rp.example:443:443/cb", Port),
    ] {
        assert_eq!(check(uri), Err(fault), "{uri:?}");
    }
}

#[test]
fn addresses_in_odd_notations_are_refused() {
    for uri in [
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0x7f000001/",
        "http://017700000001/",
        "http://0177.0.0.1/",
        "http://127.1/",
        "http://127.0.1/",
        "http://127.0.0.01/",
        "http://127.0.0.1./",
        "http://[0:0:0:0:0:0:0:1]/",
        "http://[0::1]/",
        "http://[::0001]/",
        "http://[::ffff:127.0.0.1]/",
        "https://2130706433/",
        "https://0x7f.1/",
        "https://192.0.2.01/",
        "https://[2001:0db8::1]/",
    ] {
        assert_eq!(check(uri), Err(Host), "{uri}");
        let with_port = format!("{}:1/", uri.trim_end_matches('/'));
        assert!(!matches(uri, &with_port, None), "{uri}");
    }
}

#[test]
fn plain_http_stays_on_this_machine() {
    for uri in [
        "http://rp.example/cb",
        "http://localhost.evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://localhost./cb",
        "http://LOCALHOST/cb",
        "http://Localhost/cb",
        "http://app.localhost/cb",
        "http://notlocalhost/cb",
        "http://localhost-x/cb",
        "http://128.0.0.1/cb",
        "http://126.255.255.255/cb",
        "http://0.0.0.0/cb",
        "http://10.0.0.1/cb",
        "http://192.168.0.1/cb",
        "http://169.254.169.254/cb",
        "http://[::]/cb",
        "http://[::2]/cb",
        "http://[fe80::1]/cb",
    ] {
        assert_eq!(check(uri), Err(PlainHttp), "{uri}");
        assert!(!is_loopback(uri) || uri.to_ascii_lowercase().contains("//localhost/"), "{uri}");
    }
}

#[test]
fn a_scheme_is_https_or_a_reversed_domain() {
    for uri in [
        "javascript:alert(1)",
        "JavaScript:alert(1)",
        "javascript://rp.example/%0aalert(1)",
        "data:text/html,hello",
        "file:///etc/passwd",
        "about:blank",
        "blob:https://rp.example/0",
        "vbscript:x",
        "view-source:https://rp.example/",
        "filesystem:https://rp.example/x",
        "intent://rp.example/cb",
        "mailto:ana@rp.example",
        "tel:1",
        "ftp://rp.example/cb",
        "ws://localhost/cb",
        "wss://rp.example/cb",
        "HTTP://rp.example/cb",
        "HTTPS://rp.example/cb",
        "urn:ietf:wg:oauth:2.0:oob",
        "myapp:/cb",
        "myapp://cb",
        "com.:/cb",
        "com..example:/cb",
    ] {
        let fault = if uri.contains("%0a") { EncodedControl } else { Scheme };
        assert_eq!(check(uri), Err(fault), "{uri}");
    }
    assert_eq!(check(".com.example:/cb"), Err(NotAbsolute));
    assert_eq!(check("java script.x:alert(1)"), Err(Character));
}

#[test]
fn a_redirect_into_the_persons_own_machine_is_told_apart() {
    for uri in ["http://127.0.0.1/cb", "http://[::1]:1/cb", "https://LOCALHOST/cb"] {
        assert!(is_loopback(uri) && !is_private_use(uri), "{uri}");
    }
    for uri in ["com.example.app:/cb", "com.example.app://localhost/cb"] {
        assert!(!is_loopback(uri) && is_private_use(uri), "{uri}");
    }
    for uri in ["https://rp.example/cb", "https://rp.example/localhost", "", "localhost"] {
        assert!(!is_loopback(uri) && !is_private_use(uri), "{uri}");
    }
}

#[test]
fn a_redirect_uri_is_shown_by_its_host_or_its_private_scheme() {
    for (uri, shown) in [
        ("https://app.example.com/cb?x=bank.example", Some("app.example.com")),
        ("https://APP.example.com:8443/cb", Some("app.example.com")),
        ("http://127.0.0.1:51004/cb", Some("127.0.0.1")),
        ("http://[::1]/cb", Some("[::1]")),
        ("com.example.app:/cb", Some("com.example.app")),
        ("com.example.app://bank.example/cb", Some("com.example.app")),
        ("https:bank.example", None),
        ("https://bank.example@evil.example/", None),
        ("/cb", None),
        ("", None),
    ] {
        assert_eq!(host(uri).as_deref(), shown, "{uri}");
    }
}
