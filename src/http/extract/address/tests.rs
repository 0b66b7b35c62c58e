use super::*;

/// Tells the address of the client that `peer` speaks for, with 10.0.0.0/8 and `2001:db8:ffff::/48` trusted.
fn address(peer: &str, headers: &[(&'static str, &str)]) -> String {
    let proxies = ["10.0.0.0/8", "2001:db8:ffff::/48"].map(|network| network.parse().unwrap());
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
    }
    let addresses = AddressRules::new("https://id.example.com", proxies.to_vec());
    client_address(peer.parse().unwrap(), &map, &addresses).to_string()
}

fn forwarded_for(value: &str) -> String {
    address("10.0.0.1", &[("x-forwarded-for", value)])
}

fn forwarded(value: &str) -> String {
    address("10.0.0.1", &[("forwarded", value)])
}

#[test]
fn a_client_has_the_address_of_its_connection_whatever_it_writes() {
    for peer in ["192.0.2.1", "2001:db8::1", "127.0.0.1", "11.0.0.1"] {
        assert_eq!(address(peer, &[]), peer);
        let claims = [("x-forwarded-for", "198.51.100.1"), ("forwarded", "for=198.51.100.1")];
        assert_eq!(address(peer, &claims), peer);
        let claims = [("x-forwarded-for", "10.0.0.1, 10.0.0.2"), ("x-real-ip", "10.0.0.1")];
        assert_eq!(address(peer, &claims), peer);
    }
}

#[test]
fn a_trusted_proxy_is_believed_and_what_its_client_wrote_before_is_not() {
    assert_eq!(forwarded_for("198.51.100.1"), "198.51.100.1");
    assert_eq!(forwarded_for("203.0.113.9, 127.0.0.1,198.51.100.1"), "198.51.100.1");
    assert_eq!(forwarded_for("10.0.0.7, 198.51.100.1"), "198.51.100.1");
    assert_eq!(forwarded("for=203.0.113.9, for=198.51.100.1;by=10.0.0.1"), "198.51.100.1");
}

#[test]
fn a_chain_of_trusted_proxies_is_followed_to_the_first_that_is_not() {
    assert_eq!(forwarded_for("203.0.113.9, 198.51.100.1, 10.0.0.3, 10.0.0.2"), "198.51.100.1");
    assert_eq!(forwarded_for("198.51.100.1, 2001:db8:ffff::2"), "198.51.100.1");
    assert_eq!(address("2001:db8:ffff::1", &[("x-forwarded-for", "2001:db8::9")]), "2001:db8::9");
    assert_eq!(forwarded_for("10.0.0.3, 10.0.0.2"), "10.0.0.3", "only proxies");
}

#[test]
fn several_headers_are_one_list_in_their_order() {
    let twice = [("x-forwarded-for", "198.51.100.1"), ("x-forwarded-for", "10.0.0.2")];
    assert_eq!(address("10.0.0.1", &twice), "198.51.100.1");
    let spoofed = [("x-forwarded-for", "203.0.113.9"), ("x-forwarded-for", "198.51.100.1")];
    assert_eq!(address("10.0.0.1", &spoofed), "198.51.100.1");
    let spoofed = [("forwarded", "for=203.0.113.9"), ("forwarded", "for=198.51.100.1")];
    assert_eq!(address("10.0.0.1", &spoofed), "198.51.100.1");
}

#[test]
fn of_two_kinds_of_headers_the_one_that_proxies_write_counts() {
    let both = [("forwarded", "for=203.0.113.9"), ("x-forwarded-for", "198.51.100.1")];
    assert_eq!(address("10.0.0.1", &both), "198.51.100.1");
}

#[test]
fn ports_brackets_and_mapped_addresses_are_read() {
    for (written, read) in [
        ("198.51.100.1:1234", "198.51.100.1"),
        ("[2001:db8::1]:443", "2001:db8::1"),
        ("[2001:db8::1]", "2001:db8::1"),
        ("2001:DB8::1", "2001:db8::1"),
        (" 198.51.100.1\t", "198.51.100.1"),
        ("::ffff:198.51.100.1", "198.51.100.1"),
        ("198.51.100.1, [::ffff:10.0.0.2]:80", "198.51.100.1"),
    ] {
        assert_eq!(forwarded_for(written), read, "{written}");
    }
    let mapped = address("::ffff:10.0.0.1", &[("x-forwarded-for", "198.51.100.1")]);
    assert_eq!(mapped, "198.51.100.1");
    for (written, read) in [
        ("For=\"[2001:db8::1]:4711\";proto=https", "2001:db8::1"),
        ("proto=https; for=198.51.100.1", "198.51.100.1"),
        ("for=\"198.51.100.1:_port\"", "198.51.100.1"),
        ("host=\"a,b;for=203.0.113.9\";for=198.51.100.1", "198.51.100.1"),
        ("for=198.51.100.1;host=\"\\\", for=203.0.113.9;\\\\\"", "198.51.100.1"),
    ] {
        assert_eq!(forwarded(written), read, "{written}");
    }
}

#[test]
fn what_is_no_address_ends_with_the_proxy_that_wrote_it() {
    for garbage in [
        "",
        ",",
        "198.51.100.1,",
        "unknown",
        "_hidden",
        "198.51.100.1.example",
        "198.51.100.256",
        "0x7f.1",
        "1",
        "fe80::1%eth0",
        "[198.51.100.1]",
        "[2001:db8::1",
        "[2001:db8::1]x",
        "2001:db8::1]:443",
        "\"198.51.100.1\"",
        "198.51.100.1 10.0.0.2",
        "198.51.100.1, é",
        "198.51.100.1, unix:",
    ] {
        assert_eq!(forwarded_for(garbage), "10.0.0.1", "{garbage:?}");
    }
    assert_eq!(forwarded_for("198.51.100.1, unknown, 10.0.0.2"), "10.0.0.2");
    for garbage in [
        "",
        "for",
        "for=",
        "for=unknown",
        "for=_hidden",
        "for=\"_gazonk\"",
        "by=198.51.100.1",
        "for=198.51.100.1;for=203.0.113.9",
        "for=198.51.100.1, proto=https",
        "for=\"198.51.100.1",
    ] {
        assert_eq!(forwarded(garbage), "10.0.0.1", "{garbage:?}");
    }
}

#[test]
fn a_quotation_mark_left_open_swallows_no_later_entry() {
    for opened in ["for=\"", "for=203.0.113.9;host=\"", "\"\"\"", "for=\"\\"] {
        let line = format!("{opened}, for=\"198.51.100.1:80\";proto=https");
        assert_eq!(forwarded(&line), "198.51.100.1", "{line}");
    }
}
