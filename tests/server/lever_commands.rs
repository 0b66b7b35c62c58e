//! The commands by which an operator pulls levers: what they say, what they refuse, and what the log keeps.

use crate::{
    binary::{Installation, printed, said},
    outside::Outside,
    person::text,
    support::ACME,
};
use serde_json::Value;
use std::process::Output;

const WHY: [&str; 2] = ["--reason", "ticket 4711"];

fn run(installation: &Installation, arguments: &[&str]) -> Output {
    installation.run(&[arguments, &WHY].concat())
}

/// Runs a command that must succeed, and reads what it prints.
fn json(installation: &Installation, arguments: &[&str]) -> Value {
    let output = run(installation, &[arguments, &["--json"]].concat());
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn commands_say_what_they_end_and_the_log_says_why() {
    let installation = Installation::new().await;
    installation.configure("[limits]\nenabled = false\n");
    installation.apply(ACME);
    let serving = installation.serve();
    let node = Outside { address: installation.address };
    let scope = "openid offline_access invoices:read";
    let tokens = node.tokens("ana@acme.test", "web", scope).await;
    node.sign_in("clara@nowhere.test").await;

    // A dry run says what would end, and ends nothing.
    let of_ana = ["session", "end", "--account", "ana@acme.test"];
    let of_acme = ["session", "end", "--organization", "acme"];
    let of_all = ["session", "end", "--everyone"];
    for (whose, sessions) in [(&of_ana[..], 1), (&of_acme[..], 1), (&of_all[..], 2)] {
        let would = json(&installation, &[whose, &["--dry-run"]].concat());
        assert_eq!(would, serde_json::json!({ "sessions": sessions, "families": 1 }), "{whose:?}");
        let told = printed(&run(&installation, &[whose, &["--dry-run"]].concat()));
        assert!(
            told.contains("would end") && told.contains("access tokens have no rows"),
            "{told}"
        );
    }
    let suspends = ["client", "suspend", "web"];
    let would = json(&installation, &[&suspends[..], &["--dry-run"]].concat());
    assert_eq!((&would["families"], &would["state"]), (&1.into(), &"enabled".into()), "{would}");
    let refresh = node.refresh("web", text(&tokens["refresh_token"])).await;
    assert_eq!(refresh.status, 200, "{refresh:?}");

    // What is wrong is refused, and ends nothing.
    let unasked = run(&installation, &of_all);
    assert_eq!(unasked.status.code(), Some(1));
    assert!(said(&unasked).contains("--yes"), "{}", said(&unasked));
    for (arguments, code) in [
        (&["session", "end", "--everyone", "--yes"][..], 2),
        (&["session", "end", "--reason", "x"], 2),
        (&["session", "end", "--everyone", "--account", "a@b.test", "--reason", "x"], 2),
        (&["session", "end", "--everyone", "--yes", "--reason", " "], 1),
        (&["session", "end", "--account", "nobody@acme.test", "--reason", "x"], 1),
        (&["session", "end", "--organization", "nowhere", "--reason", "x"], 1),
        (&["registration", "close"], 2),
        (&["client", "suspend", "nowhere", "--dry-run"], 1),
        (&["keys", "revoke", "nonsense", "--dry-run"], 1),
    ] {
        let output = installation.run(arguments);
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {}", said(&output));
    }
    assert_eq!(json(&installation, &[&of_all[..], &["--dry-run"]].concat())["sessions"], 2);

    // They act on the server that runs.
    assert_eq!(json(&installation, &of_acme)["families"], 1);
    let rotated = refresh.json();
    node.refresh("web", text(&rotated["refresh_token"])).await.refused(400, "invalid_grant");
    assert_eq!(json(&installation, &of_ana)["sessions"], 1);
    let ended = json(&installation, &[&of_all[..], &["--yes"]].concat());
    assert_eq!(ended, serde_json::json!({ "sessions": 1, "families": 0 }));
    let closed = json(&installation, &["sign-up", "close"]);
    assert_eq!(closed, serde_json::json!({ "state": "closed", "changed": true }));
    let closes = ["registration", "close"];
    let told = printed(&run(&installation, &[&closes[..], &["--dry-run"]].concat()));
    assert!(told.contains("would change"), "{told}");
    assert_eq!(json(&installation, &closes)["changed"], true);
    // The configuration opens registration, and never opened sign-up.
    let closed = || {
        let looked = installation.run(&["doctor"]).stdout;
        let lines = String::from_utf8(looked).unwrap();
        let named = lines.lines().filter(|line| line.contains("an operator has closed it"));
        named.map(str::to_owned).collect::<Vec<_>>()
    };
    let named = closed();
    assert!(named.len() == 1 && named[0].contains("`porteiro registration open"), "{named:?}");
    let opened = json(&installation, &["registration", "open"]);
    assert_eq!(opened, serde_json::json!({ "state": "open", "changed": true }));
    assert_eq!(closed(), Vec::<String>::new());
    node.tokens("ana@acme.test", "web", scope).await;
    let suspended = json(&installation, &suspends);
    assert_eq!((&suspended["families"], &suspended["state"]), (&1.into(), &"suspended".into()));

    // A key, of which nothing is a row.
    let keys = printed(&installation.run(&["keys", "list", "--json"]));
    let keys = keys.lines().map(|line| serde_json::from_str(line).unwrap());
    let key = keys.into_iter().find(|key: &Value| key["use"] == "ES256").unwrap();
    let revoke = ["keys", "revoke", text(&key["kid"]), "--replace"];
    let told = printed(&run(&installation, &[&revoke[..], &["--dry-run"]].concat()));
    assert!(told.contains("no row ends") && told.contains("is current"), "{told}");
    let files = || std::fs::read_dir(installation.path().join("keys")).unwrap().count();
    let before = files();
    let would = json(&installation, &[&revoke[..], &["--dry-run"]].concat());
    assert_eq!((&would["state"], files()), (&"current".into(), before), "nothing was made");
    assert_eq!(json(&installation, &revoke)["state"], "revoked");

    let log = printed(&installation.run(&["log", "list", "--json"]));
    let rows: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for event in [
        "organization.sessions_ended",
        "account.sessions_ended",
        "installation.sessions_ended",
        "sign_up.closed",
        "registration.closed",
        "registration.opened",
        "client.suspended",
        "signing_key.revoked",
    ] {
        let row = rows.iter().find(|row| row["event"] == event);
        let row = row.unwrap_or_else(|| panic!("{event}: {log}"));
        assert!(row.to_string().contains("ticket 4711"), "{row}");
    }
    let trail = printed(&installation.run(&["log", "list", "--organization", "acme", "--json"]));
    assert!(trail.contains("organization.sessions_ended"), "{trail}");
    serving.signal("-TERM");
    tokio::task::spawn_blocking(move || serving.end()).await.unwrap();
}
