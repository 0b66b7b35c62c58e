//! Clients with certificates of their own (RFC 8705): who they are, and what their tokens are bound to.

use crate::{
    certificate_holder::{CertificateHolder, OverTls, Partners},
    dpop::{ANA, TOKEN, USERINFO},
    exchange::AGENTS,
    key_holder::KeyHolder,
    person::{callback, claims, redeeming, text},
    support::{SECRET, TestOptions, TestServer},
};
use http_body_util::Full;
use hyper::Method;
use porteiro::domain::Clock as _;
use rcgen::{ExtendedKeyUsagePurpose, KeyUsagePurpose, SanType};
use serde_json::{Value, json};
use std::time::Duration;

/// Registers a machine that is known by its certificate.
async fn machine(server: &TestServer, id: &str, how: &str) {
    let text = format!(
        "[[client]]\nclient_id = \"{id}\"\norganization = \"acme\"\nroles = [\"clerk\"]\n{how}\n"
    );
    server.apply(&text).await;
}

/// Writes TOML of a key set.
fn key_set(keys: &[Value]) -> String {
    let members = |key: &Value| {
        let member = |(name, value): (&String, &Value)| format!("{name} = {value}");
        let all: Vec<String> = key.as_object().unwrap().iter().map(member).collect();
        format!("{{ {} }}", all.join(", "))
    };
    let keys: Vec<String> = keys.iter().map(members).collect();
    format!("jwks = {{ keys = [{}] }}", keys.join(", "))
}

const BOUND: &str = "tls_client_certificate_bound_access_tokens = true";

#[tokio::test]
async fn a_client_is_known_by_the_name_that_an_authority_has_certified() {
    let partners = Partners::new();
    let server = partners.open().await;
    let named = partners.issue_with("agent", |params| {
        params.subject_alt_names = vec![
            SanType::DnsName("agent.acme.test".try_into().unwrap()),
            SanType::URI("spiffe://acme.test/agent".try_into().unwrap()),
            SanType::Rfc822Name("agent@acme.test".try_into().unwrap()),
            SanType::IpAddress("192.0.2.7".parse().unwrap()),
        ];
    });
    for (id, member, good, bad) in [
        ("dn", "subject_dn", "CN=agent,O=Acme", "CN=agent2,O=Acme"),
        ("dns", "san_dns", "agent.acme.test", "acme.test"),
        ("uri", "san_uri", "spiffe://acme.test/agent", "spiffe://acme.test/other"),
        ("ip", "san_ip", "192.0.2.7", "192.0.2.8"),
        ("email", "san_email", "agent@acme.test", "other@acme.test"),
    ] {
        for (id, value, fits) in [(id.to_owned(), good, true), (format!("{id}-other"), bad, false)]
        {
            let method = "token_endpoint_auth_method = \"tls_client_auth\"";
            machine(&server, &id, &format!("{method}\ntls_client_auth_{member} = \"{value}\""))
                .await;
            let answer = partners.connect(&server, &named).ask(&id, "invoices:read").await;
            if fits {
                assert_eq!(answer.status, 200, "{id} {answer:?}");
                // It is there to authenticate alone.
                assert_eq!(claims(&answer.json()["access_token"])["cnf"], Value::Null);
            } else {
                answer.refused(401, "invalid_client");
            }
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn a_certificate_that_no_authority_vouches_for_is_no_clients() {
    let partners = Partners::new();
    let server = partners.open().await;
    let method = "token_endpoint_auth_method = \"tls_client_auth\"";
    machine(
        &server,
        "agent",
        &format!("{method}\ntls_client_auth_subject_dn = \"CN=agent,O=Acme\""),
    )
    .await;
    let good = partners.issue("agent");
    assert_eq!(partners.connect(&server, &good).ask("agent", "invoices:read").await.status, 200);
    let others = Partners::new();
    for bad in [
        others.issue("agent"),
        CertificateHolder::self_signed("agent"),
        partners.issue_with("agent", |params| {
            params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        }),
        partners.issue_with("agent", |params| {
            params.key_usages = vec![KeyUsagePurpose::KeyEncipherment];
        }),
        // The chain of an authority that is not trusted, over and over.
        {
            let mut looping = others.issue("agent");
            let own = looping.chain[0].clone();
            looping.chain = vec![own; 8];
            looping
        },
    ] {
        let answer = partners.connect(&server, &bad).ask("agent", "invoices:read").await;
        answer.refused(401, "invalid_client");
    }
    let without = partners.connect(&server, None).ask("agent", "invoices:read").await;
    without.refused(401, "invalid_client");
    // Nor over the listener that asks for none, and not by another way.
    let fields = [("grant_type", "client_credentials"), ("client_id", "agent")];
    server.post(TOKEN, &fields).await.refused(401, "invalid_client");
    server.ask("agent", &[]).await.refused(401, "invalid_client");
    let other = partners.connect(&server, &good).ask("billing", "invoices:read").await;
    other.refused(401, "invalid_client");
    server.stop().await;
}

#[tokio::test]
async fn handshakes_refuse_what_is_not_good_now_and_what_no_client_needs() {
    let partners = Partners::new();
    let server = partners.open().await;
    let past = rcgen::date_time_ymd(2020, 1, 1);
    let future = rcgen::date_time_ymd(2090, 1, 1);
    let many = |many: usize| {
        let mut holder = partners.issue("agent");
        let own = holder.chain[0].clone();
        holder.chain = vec![own; many];
        holder
    };
    for bad in [
        partners.issue_with("agent", |params| params.not_after = past),
        partners.issue_with("agent", |params| params.not_before = future),
        many(9),
        many(100),
    ] {
        let connection = partners.connect(&server, &bad);
        let request = connection.request(Method::GET, USERINFO).body(Full::default()).unwrap();
        let refused = connection.try_send(request).await;
        assert!(refused.is_err(), "{refused:?}");
    }
    let report = crate::support::metric(&server, "porteiro_tls_handshakes_failed_total").await;
    assert!(report >= 4, "{report}");
    server.stop().await;
}

#[tokio::test]
async fn a_client_registers_its_own_certificate_or_the_key_of_it() {
    let partners = Partners::new();
    let server = partners.open().await;
    let holder = CertificateHolder::self_signed("agent");
    let method = "token_endpoint_auth_method = \"self_signed_tls_client_auth\"";
    machine(&server, "agent", &format!("{method}\n{BOUND}\n{}", key_set(&[holder.jwk()]))).await;
    let answer = partners.connect(&server, &holder).ask("agent", "invoices:read").await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(claims(&answer.json()["access_token"])["cnf"], holder.confirmation());
    let renewed = holder.renewed("agent");
    for bad in [&renewed, &CertificateHolder::self_signed("agent"), &partners.issue("agent")] {
        let answer = partners.connect(&server, bad).ask("agent", "invoices:read").await;
        answer.refused(401, "invalid_client");
    }
    // A key without a certificate stands for each that it is in.
    let mut bare = holder.jwk();
    bare.as_object_mut().unwrap().remove("x5c");
    machine(&server, "bare", &format!("{method}\n{BOUND}\n{}", key_set(&[bare]))).await;
    for good in [&holder, &renewed] {
        let answer = partners.connect(&server, good).ask("bare", "invoices:read").await;
        assert_eq!(answer.status, 200, "{answer:?}");
        assert_eq!(claims(&answer.json()["access_token"])["cnf"], good.confirmation());
    }
    server.stop().await;
}

/// Gets what a code is worth, over TLS.
async fn tokens(server: &TestServer, over: &OverTls<'_>, client: &str, scope: &str) -> Value {
    let session = server.sign_in(ANA).await;
    let code = server.code(&session, client, scope).await;
    let callback = callback(client);
    let fields = [&redeeming(&code, &callback)[..], &[("client_id", client)]].concat();
    let answer = over.post(TOKEN, &fields).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()
}

fn refreshing<'a>(client: &'a str, token: &'a str) -> [(&'a str, &'a str); 3] {
    [("grant_type", "refresh_token"), ("client_id", client), ("refresh_token", token)]
}

#[tokio::test]
async fn a_stolen_token_is_worthless_without_the_certificate() {
    let partners = Partners::new();
    let server = partners.open().await;
    server.apply(&format!("[[client]]\nclient_id = \"app\"\ntrusted = true\n{BOUND}\n")).await;
    let (owner, thief) = (CertificateHolder::self_signed("a"), CertificateHolder::self_signed("b"));
    let by_owner = partners.connect(&server, &owner);
    let issued = tokens(&server, &by_owner, "app", "openid").await;
    assert_eq!(issued["token_type"], "Bearer");
    let token = text(&issued["access_token"]);
    assert_eq!(claims(&issued["access_token"])["cnf"], owner.confirmation());
    assert_eq!(by_owner.get(USERINFO, token).await.status, 200);
    for holder in [Some(&thief), None] {
        let stolen = partners.connect(&server, holder).get(USERINFO, token).await;
        stolen.refused(401, "invalid_token");
    }
    let bearer = format!("Bearer {token}");
    let stolen = server.present_token((Method::GET, USERINFO), &bearer, &[]).await;
    stolen.refused(401, "invalid_token");
    let key = KeyHolder::new(server.issuer(), server.clock.now().seconds());
    let proof = key.proof_with("GET", USERINFO, token);
    let dressed_up = format!("DPoP {token}");
    let stolen = server.present_token((Method::GET, USERINFO), &dressed_up, &[&proof]).await;
    stolen.refused(401, "invalid_token");
    let told = server.introspect("web", token).await;
    assert_eq!((&told["active"], &told["cnf"]), (&json!(false), &Value::Null), "another's");
    // A public client's refresh token is bound as well (RFC 8705 §4).
    let refresh = text(&issued["refresh_token"]);
    for holder in [Some(&thief), None] {
        let stolen =
            partners.connect(&server, holder).post(TOKEN, &refreshing("app", refresh)).await;
        assert!(stolen.status.is_client_error(), "{stolen:?}");
    }
    let again = by_owner.post(TOKEN, &refreshing("app", refresh)).await;
    assert_eq!(again.status, 200, "{again:?}");
    assert_eq!(claims(&again.json()["access_token"])["cnf"], owner.confirmation());
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_demands_a_certificate_gets_no_token_without_one() {
    let partners = Partners::new();
    let server = partners.open().await;
    let method = "token_endpoint_auth_method = \"client_secret_post\"";
    machine(&server, "bound", &format!("client_secret = \"{SECRET}\"\n{method}\n{BOUND}")).await;
    let fields =
        [("grant_type", "client_credentials"), ("client_id", "bound"), ("client_secret", SECRET)];
    let holder = CertificateHolder::self_signed("a");
    let good = partners.connect(&server, &holder).post(TOKEN, &fields).await;
    assert_eq!(good.status, 200, "{good:?}");
    assert_eq!(claims(&good.json()["access_token"])["cnf"], holder.confirmation());
    let refused = partners.connect(&server, None).post(TOKEN, &fields).await;
    refused.refused(400, "invalid_request");
    server.post(TOKEN, &fields).await.refused(400, "invalid_request");
    server.stop().await;
}

#[tokio::test]
async fn a_confidential_client_may_renew_its_certificate() {
    let partners = Partners::new();
    let server = partners.open().await;
    server
        .apply(&format!(
            "[[client]]\nclient_id = \"partner\"\nredirect_uris = [\"https://partner.example.com/cb\"]\n\
             token_endpoint_auth_method = \"tls_client_auth\"\ntrusted = true\n\
             tls_client_auth_subject_dn = \"CN=partner,O=Acme\"\n{BOUND}\n"
        ))
        .await;
    let (first, second) = (partners.issue("partner"), partners.issue("partner"));
    let issued =
        tokens(&server, &partners.connect(&server, &first), "partner", "openid offline_access")
            .await;
    assert_eq!(claims(&issued["access_token"])["cnf"], first.confirmation());
    let refresh = text(&issued["refresh_token"]);
    // RFC 8705 §7.1: it authenticates, so the refresh token is bound to the client and not to its certificate.
    let other = partners.issue("other");
    let refused =
        partners.connect(&server, &other).post(TOKEN, &refreshing("partner", refresh)).await;
    refused.refused(401, "invalid_client");
    let renewed =
        partners.connect(&server, &second).post(TOKEN, &refreshing("partner", refresh)).await;
    assert_eq!(renewed.status, 200, "{renewed:?}");
    let token = renewed.json()["access_token"].clone();
    assert_eq!(claims(&token)["cnf"], second.confirmation());
    let (token, old) = (text(&token), partners.connect(&server, &first));
    old.get(USERINFO, token).await.refused(401, "invalid_token");
    assert_eq!(partners.connect(&server, &second).get(USERINFO, token).await.status, 200);
    server.stop().await;
}

#[tokio::test]
async fn a_bound_token_is_exchanged_by_its_holder_alone() {
    let partners = Partners::new();
    let server = partners.open().await;
    server.apply(AGENTS).await;
    server
        .apply(&format!(
            "[[client]]\nclient_id = \"app\"\ntrusted = true\n{BOUND}\n\
             [[client]]\nclient_id = \"agent\"\n{BOUND}\n\
             token_endpoint_auth_method = \"client_secret_post\"\n"
        ))
        .await;
    let (owner, thief) = (CertificateHolder::self_signed("a"), CertificateHolder::self_signed("b"));
    let by_owner = partners.connect(&server, &owner);
    let issued = tokens(&server, &by_owner, "app", "openid").await;
    let exchange = [
        ("grant_type", "token-exchange"),
        ("subject_token", text(&issued["access_token"])),
        ("subject_token_type", "urn:ietf:params:oauth:token-type:access_token"),
        ("client_id", "agent"),
        ("client_secret", SECRET),
    ];
    for holder in [Some(&thief), None] {
        let refused = partners.connect(&server, holder).post(TOKEN, &exchange).await;
        refused.refused(400, "invalid_request");
    }
    let exchanged = by_owner.post(TOKEN, &exchange).await;
    assert_eq!(exchanged.status, 200, "{exchanged:?}");
    assert_eq!(claims(&exchanged.json()["access_token"])["cnf"], owner.confirmation());
    server.stop().await;
}

#[tokio::test]
async fn the_management_api_takes_a_bound_token_over_its_certificate() {
    let partners = Partners::new();
    let server = partners.open().await;
    server
        .apply(
            "[[organization]]\nslug = \"acme\"\n\
             [[organization.role]]\nname = \"clerk\"\npermissions = [\"audit:read\"]\n",
        )
        .await;
    let holder = CertificateHolder::self_signed("robot");
    let method = "token_endpoint_auth_method = \"self_signed_tls_client_auth\"";
    machine(&server, "robot", &format!("{method}\n{BOUND}\n{}", key_set(&[holder.jwk()]))).await;
    let over = partners.connect(&server, &holder);
    let issued = over.ask("robot", "audit:read").await;
    assert_eq!(issued.status, 200, "{issued:?}");
    let issued = issued.json();
    let token = text(&issued["access_token"]);
    let path = "/api/organizations/acme/audit";
    assert_eq!(over.get(path, token).await.status, 200);
    let thief = CertificateHolder::self_signed("robot");
    for holder in [Some(&thief), None] {
        let stolen = partners.connect(&server, holder).get(path, token).await;
        stolen.problem(401, "invalid_token");
    }
    let bearer = format!("Bearer {token}");
    let stolen = server.present_token((Method::GET, path), &bearer, &[]).await;
    stolen.problem(401, "invalid_token");
    server.stop().await;
}

#[tokio::test]
async fn the_listener_for_certificates_serves_programs_alone_and_the_metadata_says_where() {
    let partners = Partners::new();
    let server = partners.open().await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    let port = server.running().mtls.unwrap().port();
    let aliases = metadata["mtls_endpoint_aliases"].as_object().unwrap();
    assert_eq!(aliases.len(), 8, "{aliases:?}");
    for (name, alias) in aliases {
        let path = metadata[name].as_str().unwrap().strip_prefix(server.issuer()).unwrap();
        assert_eq!(alias, &json!(format!("https://localhost:{port}{path}")), "{name}");
        let answer = partners.connect(&server, None).post(path, &[]).await;
        assert!(![404, 405, 500].contains(&answer.status.as_u16()), "{name} {answer:?}");
    }
    assert_eq!(metadata["tls_client_certificate_bound_access_tokens"], true);
    for method in ["tls_client_auth", "self_signed_tls_client_auth"] {
        for list in ["token", "introspection", "revocation"] {
            let methods = &metadata[format!("{list}_endpoint_auth_methods_supported")];
            assert!(methods.as_array().unwrap().contains(&json!(method)), "{methods}");
        }
    }
    let over = partners.connect(&server, None);
    for path in ["/connect/authorize", "/sign-in", "/flows", "/me", "/connect/logout", "/"] {
        let request = over.request(Method::GET, path).body(Full::default()).unwrap();
        assert_eq!(over.send(request).await.status, 404, "{path}");
    }
    let api = over.request(Method::GET, "/api/organizations/acme").body(Full::default()).unwrap();
    assert_eq!(over.send(api).await.status, 401);
    server.stop().await;
    let plain = TestServer::open().await;
    let metadata = plain.get("/.well-known/openid-configuration").await.json();
    for name in ["mtls_endpoint_aliases", "tls_client_certificate_bound_access_tokens"] {
        assert_eq!(metadata[name], Value::Null, "{name}");
    }
    plain.stop().await;
}

#[tokio::test]
async fn a_trusted_proxy_tells_of_certificates_and_no_other_caller_does() {
    let partners = Partners::new();
    let mut plan = partners.plan();
    (plan.listen, plan.forwarded) = (None, true);
    let proxies = vec!["127.0.0.1/32".parse().unwrap()];
    let options = TestOptions { mtls: Some(plan), proxies, ..TestOptions::default() };
    let server = TestServer::open_in(options).await;
    let metadata = server.get("/.well-known/openid-configuration").await.json();
    assert_eq!(metadata["mtls_endpoint_aliases"], Value::Null, "they are where the others are");
    assert_eq!(metadata["tls_client_certificate_bound_access_tokens"], true);
    let method = "token_endpoint_auth_method = \"tls_client_auth\"";
    let named = "tls_client_auth_subject_dn = \"CN=agent,O=Acme\"";
    machine(&server, "agent", &format!("{method}\n{named}\n{BOUND}")).await;
    let holder = partners.issue("agent");
    let ask = async |at: &TestServer, headers: &[(&str, &str)]| {
        let mut request = at
            .request(Method::POST, TOKEN)
            .header("content-type", "application/x-www-form-urlencoded");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let fields = [("grant_type", "client_credentials"), ("client_id", "agent")];
        at.send(request.body(crate::support::form(&fields)).unwrap()).await
    };
    let answer = ask(&server, &[("client-cert", &holder.header())]).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(claims(&answer.json()["access_token"])["cnf"], holder.confirmation());
    ask(&server, &[]).await.refused(401, "invalid_client");
    ask(&server, &[("client-cert", &partners.issue("b").header())])
        .await
        .refused(401, "invalid_client");
    ask(&server, &[("client-cert", ":AAAA:")]).await.refused(400, "invalid_request");
    // Another installation, to which the same caller is no proxy.
    let suspicious =
        server.beside(TestOptions { mtls: Some(partners.plan()), ..TestOptions::default() }).await;
    ask(&suspicious, &[("client-cert", &holder.header())]).await.refused(400, "invalid_request");
    let over = partners.connect(&suspicious, &holder);
    let forged = over
        .request(Method::GET, USERINFO)
        .header("client-cert", partners.issue("agent").header())
        .body(Full::default())
        .unwrap();
    over.send(forged).await.refused(400, "invalid_request");
    suspicious.stop().await;
    server.stop().await;
}

#[tokio::test]
async fn an_idle_connection_does_not_outlive_its_certificate() {
    let partners = Partners::new();
    let server = partners.open().await;
    let method = "token_endpoint_auth_method = \"self_signed_tls_client_auth\"";
    let ends = rcgen::date_time_ymd(2035, 1, 1);
    let holder = partners.issue_with("agent", |params| params.not_after = ends);
    machine(&server, "agent", &format!("{method}\n{}", key_set(&[holder.jwk()]))).await;
    let over = partners.connect(&server, &holder);
    assert_eq!(over.ask("agent", "invoices:read").await.status, 200);
    // The handshake goes by the machine's clock, requests by the server's.
    server.clock.advance(Duration::from_hours(24 * 365 * 20));
    over.ask("agent", "invoices:read").await.refused(401, "invalid_client");
    server.stop().await;
}
