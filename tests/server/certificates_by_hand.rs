//! What the documents and the command line print about certificates works as printed, with openssl and curl.

use crate::{
    binary::{Installation, free_port, wait_until_it_listens},
    person::claims,
    programs::{blocks, run_script, shell, there_are},
};
use serde_json::{Value, json};
use std::{fs, net::SocketAddr, path::Path, process::Child};

/// A server that a test has started; it ends with the value.
struct Started(Child);

impl Drop for Started {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn at(port: u16) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], port))
}

#[tokio::test]
async fn the_document_works_as_printed() {
    if !there_are(&["openssl", "curl"]) {
        return;
    }
    let (public, mtls, operator) = (free_port(), free_port(), free_port());
    let ported = |block: &String| {
        block.replace("8443", &public.to_string()).replace("9443", &mtls.to_string())
    };
    let blocks: Vec<String> =
        blocks("docs/bound-tokens.md", "### Try it").iter().map(ported).collect();
    let [server, serve, client, ask, good, stolen] = &blocks[..] else { panic!("{blocks:?}") };
    let folder = tempfile::tempdir().unwrap();
    run_script(folder.path(), server);
    let mut serve = shell(folder.path(), &format!("exec {serve}"));
    serve.env("PORTEIRO_OPERATOR__LISTEN", at(operator).to_string());
    let _running = Started(serve.spawn().unwrap());
    wait_until_it_listens(at(mtls));
    let said = run_script(folder.path(), client);
    assert!(said.contains("created client agent"), "{said}");
    // One shell, since it keeps the token.
    let said = run_script(folder.path(), &format!("{ask}\necho; echo =; {good}\necho =; {stolen}"));
    let [token, good, stolen] = &said.split("\n=\n").collect::<Vec<_>>()[..] else {
        panic!("{said}")
    };
    let token: Value = serde_json::from_str(token).unwrap();
    let print = claims(&token["access_token"])["cnf"]["x5t#S256"].clone();
    let told =
        run_script(folder.path(), "porteiro client certificate agent --read agent.pem --json");
    let told: Value = serde_json::from_str(&told).unwrap();
    assert_eq!(print, told["x5t#S256"]);
    let (body, status) = good.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(status, "200", "{body}");
    let (body, status) = stolen.trim_end().rsplit_once('\n').unwrap();
    assert_eq!(status, "401", "{body}");
    assert!(body.contains("invalid_token"), "{body}");
}

/// Opens an installation with both listeners; the folder has an authority for clients.
async fn installation(mtls: u16) -> Installation {
    let installation = Installation::new().await;
    let own = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).unwrap();
    fs::write(installation.path().join("server.pem"), own.cert.pem()).unwrap();
    fs::write(installation.path().join("server.key"), own.signing_key.serialize_pem()).unwrap();
    installation.configure(&format!(
        "[tls]\ncert = \"server.pem\"\nkey = \"server.key\"\n\
         [mtls]\nlisten = \"127.0.0.1:{mtls}\"\nclient_ca = \"ca.pem\"\n"
    ));
    installation
}

const ACME: &str = "[[organization]]\nslug = \"acme\"\n\
    [[organization.role]]\nname = \"auditor\"\npermissions = [\"audit:read\"]\n\
    [[client]]\nclient_id = \"agent\"\norganization = \"acme\"\nroles = [\"auditor\"]\n";

/// Runs the commands that are printed, and returns the token that the last of them gets.
fn follow(folder: &Path, way: &str) -> (Value, String) {
    let guide = format!("porteiro client certificate agent {way} --config porteiro.toml");
    let printed = run_script(folder, &guide);
    assert!(printed.contains("porteiro --config porteiro.toml apply agent.toml"), "{printed}");
    let (make, ask) = printed.rsplit_once("curl ").unwrap();
    run_script(folder, make);
    let told = run_script(folder, "porteiro client certificate agent --read agent.pem --json");
    // The server's own certificate is one for tests, as the comment has it.
    let ask = format!("curl -sS --cacert server.pem {ask}");
    (serde_json::from_str(&told).unwrap(), ask)
}

#[tokio::test]
async fn the_commands_that_are_printed_lead_to_a_bound_token() {
    if !there_are(&["openssl", "curl"]) {
        return;
    }
    for way in ["--ca", "--self-signed"] {
        let mtls = free_port();
        let installation = installation(mtls).await;
        let folder = installation.path();
        if way == "--self-signed" {
            fs::copy(folder.join("server.pem"), folder.join("ca.pem")).unwrap();
        }
        let (told, ask) = follow(folder, way);
        let plan = installation.apply(ACME);
        assert!(!plan.contains('!'), "{plan}");
        let _serving = installation.serve();
        wait_until_it_listens(at(mtls));
        let answer = run_script(folder, &ask);
        let answer: Value = serde_json::from_str(&answer).unwrap_or_else(|_| panic!("{answer}"));
        let cnf = json!({ "x5t#S256": told["x5t#S256"] });
        assert_eq!(claims(&answer["access_token"])["cnf"], cnf, "{way}: {answer}");
        assert_eq!(told["concerns"], json!([]), "{way}");
    }
}

#[test]
fn a_weak_key_is_named() {
    if !there_are(&["openssl"]) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let said = run_script(
        folder.path(),
        "openssl req -x509 -newkey rsa:1024 -nodes -days 30 -subj /CN=weak -keyout weak.key -out weak.pem\n\
         if porteiro client certificate weak --read weak.pem; then exit 9; else test $? = 1; fi",
    );
    assert!(said.contains("# ! it cannot be registered:"), "{said}");
    assert!(said.contains("less than 2048 bits"), "{said}");
}
