//! The step and the kind of `CONTRIBUTING.md`, run as they are written there.

use crate::{
    person::text,
    support::{TestOptions, TestServer},
};
use porteiro::{http::flows::steps::Steps, server::Flows};
use serde_json::json;
use std::fs;

// [the step]
use porteiro::{
    domain::{
        assurance::Worth,
        flow::{ProofStep, Role},
    },
    http::flows::steps::{Step, StepRequest, Taking},
};
use serde::Deserialize;

/// `sesame`: a person who knows the word is let in. Never ship this.
pub struct Sesame;

#[derive(Deserialize)]
struct Body {
    word: String,
}

impl Step for Sesame {
    fn path(&self) -> &'static str {
        "sesame"
    }

    fn proof(&self) -> Option<ProofStep> {
        let (preparing, roles): (&[&str], &[Role]) = (&[], &[Role::First]);
        Some(ProofStep { name: self.path(), preparing, worth: Worth::PASSWORD, roles })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { word } = request.body()?;
            let named = request.named(self).await?;
            match named.proved(self).filter(|_| word == "open sesame") {
                Some(proved) => request.prove(proved, named.attempt).await,
                None => request.disprove(self, named).await,
            }
        })
    }
}
// [/the step]

// [the kind]
use porteiro::domain::flow::{Case, Ending, Goal, Next, Open, SessionEnding};

/// `greet`: a person proves who they are, and nothing comes of it.
pub struct Greet;

impl Goal for Greet {
    fn kind(&self) -> &'static str {
        "greet"
    }

    fn next(&self, _open: &Open, _case: &Case<'_>) -> Next {
        Next::End(Ending::of(SessionEnding::Untouched))
    }
}
// [/the kind]

async fn open() -> TestServer {
    let flows = Flows {
        // The line of the step, and the line of the kind.
        steps: Steps::default().with(&Sesame),
        goals: vec![&Greet],
    };
    TestServer::open_in(TestOptions { flows, ..TestOptions::default() }).await
}

#[tokio::test]
async fn a_new_step_and_a_new_kind_take_a_file_and_a_line_each() {
    let server = open().await;
    let begun = server.post_json("/flows", &json!({ "kind": "greet" }), &[]).await;
    assert_eq!(begun.status, 201, "{begun:?}");
    let flow = begun.json();
    let named = json!({ "identifier": "ana@acme.test" });
    let asked = server.step(&flow, "identifier", named).await.json();
    let steps: Vec<&str> =
        asked["steps"].as_array().unwrap().iter().map(|step| text(&step["name"])).collect();
    let first = steps.iter().filter(|step| !step.starts_with("passkey"));
    assert!(first.eq(&["password", "sesame", "identifier"]), "{steps:?}");
    let wrong = server.step(&flow, "sesame", json!({ "word": "please" })).await;
    wrong.problem(401, "invalid_credentials");
    let done = server.step(&flow, "sesame", json!({ "word": "open sesame" })).await;
    assert_eq!((text(&done.json()["kind"]), text(&done.json()["state"])), ("greet", "done"));
    assert!(done.json()["result"].get("session_token").is_none(), "no session: {done:?}");
    // The step serves every other kind as well.
    let flow = server.authorize("web", &[]).await.json();
    server.step(&flow, "identifier", json!({ "identifier": "ana@acme.test" })).await;
    let done = server.step(&flow, "sesame", json!({ "word": "open sesame" })).await;
    assert!(text(&done.json()["result"]["redirect_to"]).contains("code=pac_"));
    server.stop().await;
}

#[test]
fn the_guide_shows_this_very_step_and_kind() {
    let guide = fs::read_to_string("CONTRIBUTING.md").unwrap();
    let this = fs::read_to_string(file!()).unwrap();
    for part in ["step", "kind"] {
        let (begin, end) = (format!("// [the {part}]\n"), format!("// [/the {part}]"));
        let shown = this.split(&*begin).nth(1).and_then(|rest| rest.split(&*end).next()).unwrap();
        assert!(guide.contains(shown.trim()), "CONTRIBUTING.md has another {part}");
    }
}
