//! `porteiro client certificate`: what to register for a certificate, and what stands against one.

use crate::{
    binary::{run, said, succeed},
    certificate_holder::{CertificateHolder, Partners},
};
use rcgen::{
    CertificateParams, DnType, ExtendedKeyUsagePurpose, KeyPair, KeyUsagePurpose, SanType,
    date_time_ymd,
};
use serde_json::{Value, json};
use std::{fs, path::Path};

const COMMAND: [&str; 4] = ["client", "certificate", "agent", "--read"];

/// Writes a certificate that its holder has signed.
fn write(path: &Path, change: impl FnOnce(&mut CertificateParams)) -> CertificateHolder {
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    params.distinguished_name.push(DnType::CountryName, "PT");
    params.distinguished_name.push(DnType::OrganizationName, "Acme, Lda.");
    params.distinguished_name.push(DnType::CommonName, "agent");
    change(&mut params);
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    fs::write(path, certificate.pem()).unwrap();
    CertificateHolder { chain: vec![certificate.der().clone()], key }
}

fn json_of(folder: &Path, more: &[&str]) -> (Option<i32>, Value) {
    let output = run(folder, &[&COMMAND[..], &["cert.pem", "--json"], more].concat());
    let told = serde_json::from_slice(&output.stdout);
    (output.status.code(), told.unwrap_or_else(|_| panic!("{}", said(&output))))
}

/// The texts of what stands against it.
fn against(told: &Value) -> Vec<&str> {
    told["concerns"].as_array().unwrap().iter().map(|one| one["text"].as_str().unwrap()).collect()
}

#[test]
fn what_to_register_for_a_certificate_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let holder = write(&folder.path().join("cert.pem"), |params| {
        (params.not_before, params.not_after) =
            (date_time_ymd(2020, 1, 2), date_time_ymd(2090, 3, 4));
        params.subject_alt_names = vec![
            SanType::DnsName("agent.acme.test".try_into().unwrap()),
            SanType::DnsName("*.acme.test".try_into().unwrap()),
            SanType::URI("spiffe://acme.test/agent".try_into().unwrap()),
            SanType::IpAddress("192.0.2.7".parse().unwrap()),
            SanType::Rfc822Name("agent@acme.test".try_into().unwrap()),
        ];
    });
    let subject = r"CN=agent,O=Acme\, Lda.,C=PT";
    let (code, told) = json_of(folder.path(), &[]);
    assert_eq!((code, against(&told)), (Some(0), Vec::new()));
    assert_eq!(told["subject"], subject);
    assert_eq!(json!({ "x5t#S256": told["x5t#S256"] }), holder.confirmation());
    assert_eq!(told["jwk"], holder.jwk());
    assert_eq!(
        (&told["not_before"], &told["not_after"]),
        (&json!("2020-01-02T00:00:00Z"), &json!("2090-03-04T00:00:00Z"))
    );
    let names = json!([
        { "tls_client_auth_subject_dn": subject },
        { "tls_client_auth_san_dns": "agent.acme.test" },
        { "tls_client_auth_san_uri": "spiffe://acme.test/agent" },
        { "tls_client_auth_san_ip": "192.0.2.7" },
        { "tls_client_auth_san_email": "agent@acme.test" },
    ]);
    assert_eq!(told["names"], names, "a wildcard names no client");
    let expected = json!({
        "client_id": "agent",
        "token_endpoint_auth_method": "self_signed_tls_client_auth",
        "tls_client_certificate_bound_access_tokens": true,
        "jwks": { "keys": [holder.jwk()] },
    });
    assert_eq!(told["register"], expected, "it has signed itself");
    let (code, told) = json_of(folder.path(), &["--ca"]);
    assert_eq!(code, Some(0), "{told}");
    assert_eq!(told["register"]["tls_client_auth_subject_dn"], subject);
    assert_eq!(told["register"]["jwks"], Value::Null);
    // What is printed for people is a file for `apply`.
    let text = succeed(folder.path(), &[&COMMAND[..], &["cert.pem"]].concat());
    let read: toml::Table = text.parse().unwrap();
    let client = serde_json::to_value(&read["client"][0]).unwrap();
    assert_eq!(client, expected, "{text}");
    assert!(
        text.contains(r#"tls_client_auth_subject_dn = "CN=agent,O=Acme\\, Lda.,C=PT""#),
        "{text}"
    );
}

type Change = fn(&mut CertificateParams);

/// In three days.
fn soon() -> time::OffsetDateTime {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    date_time_ymd(1970, 1, 4) + now
}

#[test]
fn what_stands_against_a_certificate_is_told_and_is_a_failure() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cert.pem");
    for (ca, code, expected, change) in [
        (false, 1, "has expired on", (|it| it.not_after = date_time_ymd(2020, 1, 1)) as Change),
        (false, 1, "is not valid before", |it| it.not_before = date_time_ymd(2090, 1, 1)),
        (false, 0, "expires on", |it| it.not_after = soon()),
        (true, 1, "clientAuth is not among them", |it| {
            it.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        }),
        (true, 1, "digitalSignature is not among them", |it| {
            it.key_usages = vec![KeyUsagePurpose::KeyEncipherment];
        }),
        (true, 1, "is an authority's own", |it| {
            it.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        }),
        (true, 1, "has no name", |it| it.distinguished_name = rcgen::DistinguishedName::new()),
    ] {
        write(&path, change);
        let way = if ca { "--ca" } else { "--self-signed" };
        let (exit, told) = json_of(folder.path(), &[way]);
        assert_eq!(exit, Some(code), "{expected}: {told}");
        let [concern] = against(&told)[..] else { panic!("{expected}: {told}") };
        assert!(concern.contains(expected), "{concern}");
        if ca {
            let (exit, _) = json_of(folder.path(), &["--self-signed"]);
            assert_eq!(exit, Some(0), "{expected}: a key set asks for no usage");
        }
        let text = run(folder.path(), &[&COMMAND[..], &["cert.pem", way]].concat());
        assert_eq!(text.status.code(), Some(code));
        assert!(String::from_utf8_lossy(&text.stdout).contains("# ! it "), "{expected}");
    }
}

#[test]
fn an_authority_that_the_server_trusts_is_asked() {
    let folder = tempfile::tempdir().unwrap();
    let (partners, others) = (Partners::new(), Partners::new());
    fs::write(folder.path().join("ca.pem"), partners.authority()).unwrap();
    fs::write(
        folder.path().join("porteiro.toml"),
        "issuer = \"https://id.example.com\"\n[mtls]\nlisten = \"127.0.0.1:9443\"\nclient_ca = \"ca.pem\"\n",
    )
    .unwrap();
    for (holder, code) in [(partners.issue("agent"), 0), (others.issue("agent"), 1)] {
        fs::write(folder.path().join("cert.pem"), holder.pem()).unwrap();
        let (exit, told) = json_of(folder.path(), &["--config", "porteiro.toml"]);
        assert_eq!(exit, Some(code), "{told}");
        assert_eq!(told["register"]["token_endpoint_auth_method"], "tls_client_auth");
        let named = against(&told).iter().any(|text| text.contains("is not of mtls.client_ca"));
        assert_eq!(named, code == 1, "{told}");
    }
    // Where it is known, the commands ask there.
    let guide = ["client", "certificate", "agent", "--config", "porteiro.toml"];
    let text = succeed(folder.path(), &guide);
    assert!(text.contains("https://id.example.com:9443/connect/token"), "{text}");
    assert!(text.contains("porteiro --config porteiro.toml apply agent.toml"), "{text}");
}

#[test]
fn what_is_no_certificate_is_refused_and_nothing_of_it_is_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cert.pem");
    let key = KeyPair::generate().unwrap().serialize_pem();
    let secret = key.lines().nth(1).unwrap();
    let block =
        |text: &str| format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n");
    for (text, expected) in [
        (key.clone().into_bytes(), "holds a private key and no certificate"),
        (Vec::new(), "holds no certificate"),
        (secret.into(), "holds no certificate"),
        (block(secret).into_bytes(), "it is no certificate"),
        (block("!").into_bytes(), "is not well-formed PEM"),
        (b"-----BEGIN CERTIFICATE-----\nAAAA".to_vec(), "is not well-formed PEM"),
        (vec![0x30, 0x82, 0xff], "is not text in UTF-8"),
        (vec![b'a'; 70_000], "is larger than 64 KiB"),
        (block("AAAA").repeat(9).into_bytes(), "more than 8 certificates"),
    ] {
        fs::write(&path, text).unwrap();
        for way in [&[][..], &["--json"], &["--ca"], &["--self-signed"]] {
            let refused = run(folder.path(), &[&COMMAND[..], &["cert.pem"], way].concat());
            let told = said(&refused);
            assert_eq!(refused.status.code(), Some(78), "{expected}: {told}");
            assert!(told.contains("cert.pem:") && told.contains(expected), "{expected}: {told}");
            assert!(!told.contains(secret), "{told}");
            assert!(refused.stdout.is_empty());
        }
    }
    for (path, expected) in [("none.pem", "there is no such file"), (".", "is a folder")] {
        let refused = run(folder.path(), &[&COMMAND[..], &[path]].concat());
        assert_eq!(refused.status.code(), Some(78));
        assert!(said(&refused).contains(expected), "{}", said(&refused));
    }
    // With its key beside it, the certificate alone is spoken of.
    let holder = write(&path, |_| {});
    let both = fs::read_to_string(&path).unwrap() + &holder.key.serialize_pem();
    fs::write(&path, both).unwrap();
    let (code, told) = json_of(folder.path(), &[]);
    assert_eq!(code, Some(0));
    assert!(against(&told)[0].contains("with a private key"), "{told}");
    assert_eq!(told["jwk"], holder.jwk(), "and no private member");
    let text = succeed(folder.path(), &[&COMMAND[..], &["cert.pem"]].concat());
    assert!(!text.contains(holder.key.serialize_pem().lines().nth(1).unwrap()), "{text}");
}

#[test]
fn names_that_would_be_obeyed_by_a_terminal_or_a_shell_are_not() {
    let folder = tempfile::tempdir().unwrap();
    write(&folder.path().join("cert.pem"), |params| {
        params.distinguished_name.push(DnType::CommonName, "\u{1b}[31m\u{202e}\n[[client]]\"");
    });
    for way in ["--ca", "--self-signed"] {
        let printed = run(folder.path(), &[&COMMAND[..], &["cert.pem", way]].concat());
        let text = String::from_utf8(printed.stdout).unwrap();
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text:?}");
        let read: toml::Table = text.parse().unwrap();
        assert_eq!(read["client"].as_array().map(Vec::len), Some(1), "{text}");
    }
    for bad in ["", "a b", "a\nb", "é"] {
        let refused = run(folder.path(), &["client", "certificate", bad]);
        assert_eq!(refused.status.code(), Some(1), "{bad:?}: {}", said(&refused));
        assert!(!said(&refused).trim_end().contains('\n'), "{bad:?}: {}", said(&refused));
    }
    let text = succeed(folder.path(), &["client", "certificate", "https://a.test/it's$(id)"]);
    assert!(text.contains(r"'https://a.test/it'\''s$(id)'"), "{text}");
    assert!(text.contains("-out client.pem"), "{text}");
}
