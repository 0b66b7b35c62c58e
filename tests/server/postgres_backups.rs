//! Backups of PostgreSQL: the commands of docs/operating.md, run as they are printed, bring a store back, and end what was
//! alive in it.

use crate::{
    binary::{Installation, Serving, printed},
    held::{ANA, Held, Load, SCOPE, invitation_in},
    levers::me,
    outside::Outside,
    own_postgres::{OwnPostgres, filled},
    person::text,
    programs::{blocks, run_script, shell},
    support::ACME,
};
use serde_json::{Value, json};
use std::{
    fs,
    path::{Path, PathBuf},
};

const PAGE: &str = "docs/operating.md";
const LATE: &str = "late@acme.test";

/// The commands of the page, each found by what it is about.
struct Page {
    preamble: String,
    blocks: Vec<String>,
}

impl Page {
    fn read(installation: &Installation) -> Self {
        let mut blocks = blocks(PAGE, "### PostgreSQL");
        assert_eq!(blocks.len(), 8, "each block of the section is rehearsed: {blocks:?}");
        let (named, config) = ("/etc/porteiro/porteiro.toml", installation.config());
        let preamble = blocks.remove(0);
        assert!(preamble.contains(named), "{preamble}");
        Self { preamble: preamble.replace(named, config.to_str().unwrap()), blocks }
    }

    fn block(&self, about: &str) -> &str {
        let mut found = self.blocks.iter().filter(|block| block.contains(about));
        let block = found.next().unwrap_or_else(|| panic!("no block is about {about}"));
        assert_eq!(found.next(), None, "two blocks are about {about}");
        block
    }

    /// A block that calls our program, as a script.
    fn script(&self, about: &str, filled_in: &[(&str, &str)]) -> String {
        format!("{}{}", self.preamble, filled(filled_in, self.block(about)))
    }
}

/// What the page has an operator write into `postgresql.conf`.
fn archiving(archive: &Path) -> String {
    let page = fs::read_to_string(PAGE).unwrap();
    let (_, settings) = page.split_once("\n```\narchive_mode = ").unwrap();
    let settings = format!("archive_mode = {}", settings.split("```").next().unwrap());
    assert!(settings.contains("/backup/wal/"), "{settings}");
    settings.replace("/backup/wal", archive.to_str().unwrap())
}

#[test]
fn a_file_is_archived_once_and_whole_however_often_the_server_asks() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("wal")).unwrap();
    let settings = archiving(&at("wal"));
    let (_, command) = settings.split_once("archive_command = '").unwrap();
    let command = command.split('\'').next().unwrap();
    let archive = |file: &str| {
        let command = command.replace("%p", file).replace("%f", "000000010000000000000001");
        shell(folder.path(), &command).status().unwrap().success()
    };
    fs::write(at("whole"), "a segment").unwrap();
    fs::write(at("other"), "another").unwrap();
    fs::write(at("wal/000000010000000000000001.part"), "of one that died").unwrap();
    assert!(archive("whole") && archive("whole"), "a server that died before it knew asks again");
    assert!(!archive("other"), "no file is replaced");
    let files: Vec<_> = fs::read_dir(at("wal")).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files, [at("wal/000000010000000000000001")]);
    assert_eq!(fs::read_to_string(&files[0]).unwrap(), "a segment");
}

/// A store on a server of its own, and what of it a person held when it was copied.
struct Scene {
    postgres: OwnPostgres,
    installation: Installation,
    node: Outside,
    page: Page,
}

impl Scene {
    fn open() -> Option<Self> {
        let postgres = OwnPostgres::start(|folder| archiving(&folder.join("wal")))?;
        postgres.run(&[], "mkdir wal");
        let folder = tempfile::tempdir().unwrap();
        let installation = Installation::with_database(folder, postgres.url("porteiro"));
        installation.configure("[limits]\nenabled = false\n");
        installation.apply(ACME);
        let node = Outside { address: installation.address };
        let page = Page::read(&installation);
        Some(Self { postgres, installation, node, page })
    }

    fn path(&self, name: &str) -> PathBuf {
        self.postgres.path(name)
    }

    /// Does what the copy does not know: a token is spent, sessions are ended, an account is made. Stops the server, and
    /// returns the file of what it has printed.
    async fn go_on_after_the_copy(&self, serving: Serving, held: &Held) -> PathBuf {
        let next = self.node.refresh("web", &held.refresh).await;
        assert_eq!(next.status, 200, "{next:?}");
        let ended = ["session", "end", "--account", ANA, "--reason", "ticket 4711"];
        printed(&self.installation.run(&ended));
        assert_eq!(me(self.node, &held.session).await.status, 401);
        self.installation.apply(&format!(
            "[[account]]\nemail = \"{LATE}\"\npassword = \"correct horse battery staple\"\n"
        ));
        let heads = self.installation.path().join("heads");
        fs::write(&heads, serving.stop().await.join("\n")).unwrap();
        heads
    }

    /// Insists that the chain of a database holds, that what is gone is seen by the heads alone, and that what was ended
    /// later is alive in it.
    fn assert_copied(&self, url: &str, heads: &Path) {
        let whole = printed(&self.installation.run(&["log", "verify", "--store", url]));
        assert!(whole.contains(" 0 findings"), "{whole}");
        let filled_in = [("RESTORED", url), ("HEADS", heads.to_str().unwrap())];
        let script = self.page.script("--heads", &filled_in);
        let against = shell(self.installation.path(), &script).output().unwrap();
        let found = String::from_utf8_lossy(&against.stdout);
        assert_eq!(against.status.code(), Some(1), "{found}");
        assert!(found.lines().any(|line| line.starts_with("! ")), "a loss is shown: {found}");
        self.lead_to(url);
        let would = ["session", "end", "--everyone", "--dry-run", "--json", "--reason", "drill"];
        let would: Value = serde_json::from_str(&printed(&self.installation.run(&would))).unwrap();
        let alive = |name: &str| would[name].as_u64().unwrap() >= 1;
        assert!(alive("sessions") && alive("families"), "{would}");
    }

    /// Writes another database into the configuration.
    fn lead_to(&self, url: &str) {
        let config = fs::read_to_string(self.installation.config()).unwrap();
        let (before, rest) = config.split_once("[store]\nurl = \"").unwrap();
        let (_, after) = rest.split_once('"').unwrap();
        let config = format!("{before}[store]\nurl = \"{url}\"{after}");
        fs::write(self.installation.config(), config).unwrap();
    }

    /// Ends what was alive in a copy by way of a file, and insists that nothing of it is good in the other database.
    async fn end_by_way_of_a_file(&self, restored: &str, held: &Held) {
        let other = self.postgres.create("ended");
        self.lead_to(&other);
        let folder = self.installation.path().to_str().unwrap();
        let filled_in = [("RESTORED", restored), ("FOLDER", folder), ("DATABASE", &*other)];
        let told =
            run_script(self.installation.path(), &self.page.script("porteiro move", &filled_in));
        assert!(told.contains(" 0 findings"), "{told}");
        assert!(told.contains("of kind invitation") && told.contains("of kind flow"), "{told}");
        let log = printed(&self.installation.run(&["log", "list", "--json"]));
        assert!(log.contains("installation.restored"), "{log}");
        let serving = self.installation.serve();
        held.assert_spent(&self.node).await;
        self.assert_ended(held).await;
        serving.stop().await;
    }

    /// Insists that what was ended is refused, that the account that came later is not there, and that people come back.
    async fn assert_ended(&self, held: &Held) {
        let node = self.node;
        assert_eq!(me(node, &held.session).await.status, 401);
        node.refresh("web", &held.refresh).await.refused(400, "invalid_grant");
        let flow = node.post_json("/flows", &json!({ "kind": "sign_in" }), &[]).await.json();
        let late = node.prove(&flow, LATE).await;
        assert_eq!(late.status, 401, "the account is younger than the copy: {late:?}");
        let tokens = node.tokens(ANA, "web", SCOPE).await;
        assert_eq!(node.refresh("web", text(&tokens["refresh_token"])).await.status, 200);
        let verified = printed(&self.installation.run(&["log", "verify"]));
        assert!(verified.contains(" 0 findings"), "{verified}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_dump_under_load_comes_back_without_what_was_alive_in_it() {
    let Some(scene) = Scene::open() else { return };
    let Scene { postgres, installation, node, page } = &scene;
    let serving = installation.serve();
    let held = Held::by_ana(installation, node).await;
    let load = Load::begin(*node).await;
    let (source, dump) = (postgres.url("porteiro"), postgres.path("porteiro.dump"));
    let dump = dump.to_str().unwrap();
    postgres.run(&[("DATABASE", &*source), ("DUMP", dump)], page.block("pg_dump"));
    load.goes_on().await;
    load.end().await;
    let heads = scene.go_on_after_the_copy(serving, &held).await;

    // Into an empty database, and once more over what is there.
    let restored = postgres.create("restored");
    for _ in 0..2 {
        postgres.run(&[("RESTORED", &*restored), ("DUMP", dump)], page.block("pg_restore"));
        scene.assert_copied(&restored, &heads);
    }
    scene.end_by_way_of_a_file(&restored, &held).await;

    // Where it stays: one commit, and by name what that does not end.
    scene.lead_to(&restored);
    let told = run_script(installation.path(), &page.script("session end", &[]));
    assert!(told.contains("account.recovery_issued"), "{told}");
    printed(&installation.run(&["account", "uninvite", invitation_in(&told)]));
    printed(&installation.run(&["account", "recover", ANA]));
    let serving = installation.serve();
    held.assert_spent_but_for_the_flow(node).await;
    scene.assert_ended(&held).await;
    serving.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lost_server_comes_back_as_it_was_at_a_moment() {
    let Some(scene) = Scene::open() else { return };
    let Scene { postgres, installation, node, page } = &scene;
    let serving = installation.serve();
    let load = Load::begin(*node).await;
    let url = postgres.url("porteiro");
    let path = |name: &str| scene.path(name).to_str().unwrap().to_owned();
    let (base, recovered, archive) = (path("base"), path("recovered"), path("wal"));
    postgres.run(&[("DATABASE", &*url), ("BASE", &*base)], page.block("pg_basebackup"));
    load.goes_on().await;
    load.end().await;
    // Younger than the base copy: it comes from the archive.
    let held = Held::by_ana(installation, node).await;
    let moment = postgres.ask("SELECT clock_timestamp()");
    let heads = scene.go_on_after_the_copy(serving, &held).await;
    postgres.archive(Path::new(&archive)).await;
    postgres.kill();

    let filled_in = [
        ("BASE", &*base),
        ("RECOVERED", &*recovered),
        ("WAL", &*archive),
        ("MOMENT", &*moment),
        ("DATABASE", &*url),
    ];
    postgres.run(&filled_in, page.block("recovery_target_time"));
    scene.assert_copied(&url, &heads);
    scene.end_by_way_of_a_file(&url, &held).await;
}
