//! The playbooks of docs/bad-days.md: their commands, run as they are printed, do what the page says.

use crate::{
    binary::{Installation, Serving, free_port, printed},
    held::{ANA, Held, SCOPE, invitation_in},
    levers::me,
    outside::Outside,
    person::text,
    programs::{blocks, first_blocks, run_script},
    support::ACME,
};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    time::Duration,
};

const PAGE: &str = "docs/bad-days.md";

/// A playbook of the page that an operator follows, block by block.
struct Playbook<'a> {
    folder: &'a Path,
    /// How the page calls `porteiro`.
    preamble: String,
    blocks: std::vec::IntoIter<String>,
}

impl<'a> Playbook<'a> {
    fn open(installation: &'a Installation, heading: &str) -> Self {
        let preamble = first_blocks(PAGE).concat();
        assert!(preamble.contains("/etc/porteiro/porteiro.toml"), "{preamble}");
        let preamble = preamble.replace("/etc/porteiro/porteiro.toml", "porteiro.toml");
        let blocks = blocks(PAGE, heading).into_iter();
        Self { folder: installation.path(), preamble, blocks }
    }

    fn next(&mut self) -> String {
        self.blocks.next().expect("the page has another block")
    }

    /// Runs the next block with what the operator fills in, and returns what it says.
    #[track_caller]
    fn run(&mut self, filled_in: &[(&str, &str)]) -> String {
        let block = self.next();
        let mut script = self.preamble.clone();
        for (name, value) in filled_in {
            assert!(block.contains(&format!("\"${name}\"")), "{name} is not filled in: {block}");
            let _ = writeln!(script, "{name}='{value}'");
        }
        run_script(self.folder, &(script + &block))
    }

    #[track_caller]
    fn end(mut self) {
        assert_eq!(self.blocks.next(), None, "a block that was not rehearsed");
    }
}

async fn running() -> (Installation, Serving, Outside) {
    let installation = Installation::new().await;
    installation.configure("[limits]\nenabled = false\n");
    installation.apply(ACME);
    let serving = installation.serve();
    let node = Outside { address: installation.address };
    (installation, serving, node)
}

/// Waits until it is so; a server that another process commands notices within seconds.
async fn soon(what: &str, most: Duration, mut is_so: impl AsyncFnMut() -> bool) {
    let waits = tokio::time::timeout(most, async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    });
    assert!(waits.await.is_ok(), "{what}: not within {most:?}");
}

fn kid(token: &str) -> String {
    jsonwebtoken::decode_header(token).unwrap().kid.unwrap()
}

#[tokio::test]
async fn a_leaked_key() {
    let (installation, _serving, node) = running().await;
    let tokens = node.tokens(ANA, "web", SCOPE).await;
    let access = text(&tokens["access_token"]);
    let leaked = kid(access);
    let mut playbook = Playbook::open(&installation, "## A leaked key");
    let listed = playbook.run(&[]);
    assert!(listed.contains(&leaked), "{listed}");
    assert_eq!(node.introspect("invoices-api", access).await["active"], true);
    let said = playbook.run(&[("KID", &leaked)]);
    assert!(said.contains("is current"), "the dry run says what the key is: {said}");
    soon("a refusal", Duration::from_secs(20), async || {
        node.introspect("invoices-api", access).await["active"] == false
    })
    .await;
    // No family ends, and the successor signs.
    let refreshed = node.refresh("web", text(&tokens["refresh_token"])).await;
    assert_eq!(refreshed.status, 200, "{refreshed:?}");
    let refreshed = refreshed.json();
    let access = text(&refreshed["access_token"]);
    assert_ne!(kid(access), leaked);
    assert_eq!(node.introspect("invoices-api", access).await["active"], true);
    let looked = playbook.run(&[]);
    let is_told = |line: &str| line.contains(&leaked) && line.contains("revoked");
    assert!(looked.lines().any(is_told), "{looked}");
    assert!(looked.contains("ticket 4711"), "{looked}");
    playbook.end();
}

#[tokio::test]
async fn a_stolen_database() {
    let (installation, _serving, node) = running().await;
    let tokens = node.tokens(ANA, "web", SCOPE).await;
    let session = node.sign_in(ANA).await;
    assert_eq!(me(node, &session).await.status, 200);
    let mut playbook = Playbook::open(&installation, "## A stolen database");
    let said = playbook.run(&[]);
    assert!(said.contains("would end"), "{said}");
    assert_eq!(me(node, &session).await.status, 401);
    node.refresh("web", text(&tokens["refresh_token"])).await.refused(400, "invalid_grant");
    let access = text(&tokens["access_token"]);
    assert_eq!(node.introspect("invoices-api", access).await, json!({ "active": false }));
    playbook.run(&[]);
    let told = playbook.run(&[]);
    assert!(told.contains("installation.sessions_ended") && told.contains("4711"), "{told}");
    playbook.end();
    // People come back.
    node.tokens(ANA, "web", SCOPE).await;
}

#[tokio::test]
async fn a_lost_node() {
    let (installation, lost, node) = running().await;
    let other = SocketAddr::from(([127, 0, 0, 1], free_port()));
    let _goes_on = installation.serve_at(other);
    let other = Outside { address: other };
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let load = tokio::spawn({
        let acknowledged = acknowledged.clone();
        async move {
            loop {
                let tokens = node.tokens(ANA, "web", SCOPE).await;
                acknowledged.lock().unwrap().push(tokens);
            }
        }
    });
    let granted = || acknowledged.lock().unwrap().len();
    soon("grants", Duration::from_secs(5), async || granted() >= 5).await;
    lost.signal("-KILL");
    assert!(load.await.is_err(), "its clients cannot reach it");
    // The other node goes on with all that was acknowledged.
    let acknowledged = std::mem::take(&mut *acknowledged.lock().unwrap());
    for tokens in acknowledged {
        let refreshed = other.refresh("web", text(&tokens["refresh_token"])).await;
        assert_eq!(refreshed.status, 200, "{refreshed:?}");
    }
    let session = other.sign_in(ANA).await;
    let mut playbook = Playbook::open(&installation, "## A lost node");
    playbook.run(&[]);
    assert_eq!(playbook.next(), "porteiro serve\n");
    let _found = installation.serve();
    let operator = Outside { address: installation.operator };
    soon("it is ready", Duration::from_secs(20), async || {
        operator.get("/readyz").await.status == 200
    })
    .await;
    assert_eq!(me(node, &session).await.status, 200, "it knows what the others know");
    playbook.end();
}

#[tokio::test]
async fn a_lost_store() {
    let installation = Installation::on_sqlite();
    installation.configure("[limits]\nenabled = false\n");
    installation.apply(ACME);
    let serving = installation.serve();
    let node = Outside { address: installation.address };
    let session = node.sign_in(ANA).await;
    let tokens = node.tokens(ANA, "web", SCOPE).await;
    let backup = installation.path().join("backup.db");
    let made = installation.run(&["backup", backup.to_str().unwrap()]);
    assert!(made.status.success(), "{made:?}");
    serving.signal("-KILL");
    drop(serving);
    for name in ["porteiro.db", "porteiro.db-wal", "porteiro.db-shm"] {
        let _ = std::fs::remove_file(installation.path().join(name));
    }
    let mut playbook = Playbook::open(&installation, "## A lost store");
    playbook.run(&[("BACKUP", backup.to_str().unwrap())]);
    let _serving = installation.serve();
    assert_eq!(me(node, &session).await.status, 401);
    node.refresh("web", text(&tokens["refresh_token"])).await.refused(400, "invalid_grant");
    let looked = playbook.run(&[]);
    assert!(looked.contains("installation.restored"), "{looked}");
    playbook.end();
    node.tokens(ANA, "web", SCOPE).await;
}

/// A small file system; it is taken away again with the value.
struct SmallDisk(PathBuf);

impl SmallDisk {
    fn mount(folder: PathBuf) -> Option<Self> {
        std::fs::create_dir(&folder).unwrap();
        let mut mount = Command::new("mount");
        let mounted = mount.args(["-t", "tmpfs", "-o", "size=8m", "tmpfs"]).arg(&folder).output();
        mounted.is_ok_and(|output| output.status.success()).then_some(Self(folder))
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}

#[tokio::test]
async fn a_full_disk() {
    let installation = Installation::on_sqlite();
    let Some(disk) = SmallDisk::mount(installation.path().join("data")) else {
        println!("skipped: a small file system cannot be mounted without privileges");
        return;
    };
    installation.configure("[limits]\nenabled = false\n");
    let config = std::fs::read_to_string(installation.config()).unwrap();
    let url = format!("sqlite://{}", disk.0.join("porteiro.db").display());
    std::fs::write(installation.config(), config.replace(installation.url(), &url)).unwrap();
    installation.apply(ACME);
    let serving = installation.serve();
    let node = Outside { address: installation.address };
    let session = node.sign_in(ANA).await;
    let token = node.token("billing", "invoices:read").await;
    // What is not the database fills it.
    let ballast = disk.0.join("dump.sql");
    let filled = std::fs::write(&ballast, vec![b'x'; 16 << 20]);
    assert!(filled.is_err(), "the disk is full");
    let begin = async || node.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await;
    let mut answer = begin().await;
    for _ in 0..2_000 {
        if answer.status == 201 {
            let named = json!({ "identifier": ANA });
            answer = node.step(&answer.json(), "identifier", named).await;
        }
        if answer.status != 200 {
            break;
        }
        answer = begin().await;
    }
    assert_eq!(answer.status, 503, "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
    assert_eq!(node.get("/connect/jwks").await.status, 200);
    assert_eq!(node.introspect("invoices-api", &token).await["active"], true);
    let mut playbook = Playbook::open(&installation, "## A full disk");
    let said = playbook.run(&[("DATA", disk.0.to_str().unwrap())]);
    assert!(said.contains("100%") && said.contains("dump.sql"), "{said}");
    std::fs::remove_file(&ballast).unwrap();
    soon("a sign-in", Duration::from_secs(20), async || begin().await.status == 201).await;
    assert_eq!(me(node, &session).await.status, 200, "what was acknowledged is there");
    node.sign_in(ANA).await;
    playbook.run(&[]);
    playbook.end();
    drop(serving);
}

#[tokio::test]
async fn mass_revocation() {
    let (installation, _serving, node) = running().await;
    let held = Held::by_ana(&installation, &node).await;
    let untrusted = node.token("billing", "invoices:read").await;
    let key = ["apikey", "create", "--organization", "acme", "--name", "old", "--json"];
    let made = installation.run(&[&key[..], &["--permission", "invoices:read"]].concat());
    let made: Value = serde_json::from_slice(&made.stdout).unwrap();
    let (id, api_key) = (text(&made["id"]), text(&made["key"]));
    assert_eq!(node.introspect("invoices-api", api_key).await["active"], true);
    let listed = printed(&installation.run(&["account", "invitations"]));
    let invitation = invitation_in(&listed);
    let mut playbook = Playbook::open(&installation, "## Mass revocation");
    let metadata = node.get("/.well-known/openid-configuration").await;
    playbook.run(&[]);
    soon("a closed registration", Duration::from_secs(5), async || {
        let metadata = node.get("/.well-known/openid-configuration").await.json();
        metadata["registration_endpoint"].is_null()
    })
    .await;
    playbook.run(&[]);
    assert_eq!(me(node, &held.session).await.status, 401);
    node.refresh("web", &held.refresh).await.refused(400, "invalid_grant");
    let withdrawn = playbook.run(&[("INVITATION", invitation), ("EMAIL", ANA)]);
    assert!(withdrawn.contains(invitation), "{withdrawn}");
    assert!(withdrawn.contains("account.recovery_issued"), "{withdrawn}");
    held.assert_spent_but_for_the_flow(&node).await;
    let listed = playbook.run(&[("CLIENT", "billing"), ("API_KEY", id)]);
    assert!(listed.contains(id), "{listed}");
    soon("an end of the key", Duration::from_secs(5), async || {
        node.introspect("invoices-api", api_key).await["active"] == false
    })
    .await;
    assert_eq!(node.introspect("invoices-api", &untrusted).await, json!({ "active": false }));
    // A command ran in another process: this one may know the client as it was for a second.
    soon("a refusal of the client", Duration::from_secs(5), async || {
        let refused = node.ask("billing", &[("scope", "invoices:read")]).await;
        [400, 401].contains(&refused.status.as_u16())
    })
    .await;
    let rotated = playbook.run(&[("TRUSTED", "web")]);
    assert!(!rotated.trim().is_empty(), "the secret is shown once");
    soon("an end of the old secret", Duration::from_secs(5), async || {
        let fields = [("token", api_key)];
        node.post_as("web", "/connect/introspect", &fields).await.status == 401
    })
    .await;
    let looked = playbook.run(&[]);
    assert!(looked.contains(r#"{"sessions":0,"families":0}"#), "{looked}");
    playbook.run(&[]);
    soon("an open registration", Duration::from_secs(5), async || {
        node.get("/.well-known/openid-configuration").await.json() == metadata.json()
    })
    .await;
    playbook.end();
}
