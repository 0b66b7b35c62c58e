//! How much memory a flow and a session take while people are in the middle of them.

use crate::{
    Outcome,
    connection::Connection,
    portal::Portal,
    report::Section,
    request::post_json,
    servers::{Server, Stage, Who},
};
use serde_json::{Value, json};
use std::time::Duration;

pub const NAME: &str = "live";

const FLOWS: usize = 20_000;
const SESSIONS: usize = 500;
const REST: Duration = Duration::from_secs(2);

pub async fn measure(stage: &Stage) -> Outcome<Section> {
    let mut section = Section::new("Live flows and sessions");
    section.line(
        "Growth of Porteiro's resident memory for each flow in which a name was given, and for each \
         session that was begun by a password and used once; two seconds after the last of them, and after \
         as many requests for discovery have warmed the process up.",
    );
    section.table(&["what", "how many", "KiB each"]);
    let server = stage.start(Who::Porteiro).await?;
    let mut connection = Connection::open(server.address).await?;
    for _ in 0..200 {
        begin(&server, &mut connection).await?;
    }
    tokio::time::sleep(REST).await;
    let rest = server.process.resident()?;
    for _ in 0..FLOWS {
        begin(&server, &mut connection).await?;
    }
    tokio::time::sleep(REST).await;
    let grown = (server.process.resident()? - rest) / FLOWS as f64 / 1024.0;
    section.row(&["flow", &FLOWS.to_string(), &format!("{grown:.2}")]);
    server.process.stop().await?;
    let server = stage.start(Who::Porteiro).await?;
    let (portal, email) = (Portal::at(&server, &stage.scene), &stage.scene.people[0]);
    for _ in 0..50 {
        portal.sign_in(&stage.scene, email).await?;
    }
    tokio::time::sleep(REST).await;
    let rest = server.process.resident()?;
    for _ in 0..SESSIONS {
        portal.sign_in(&stage.scene, email).await?;
    }
    tokio::time::sleep(REST).await;
    let grown = (server.process.resident()? - rest) / SESSIONS as f64 / 1024.0;
    section.row(&["session", &SESSIONS.to_string(), &format!("{grown:.2}")]);
    server.process.stop().await?;
    Ok(section)
}

/// Begins a flow and says a name, so that it is more than an id.
async fn begin(server: &Server, connection: &mut Connection) -> Outcome<()> {
    let flow = post(server, connection, "/flows", &json!({ "kind": "sign_in" })).await?;
    let id = flow["id"].as_str().ok_or("this is no flow")?;
    let path = format!("/flows/{id}/identifier");
    post(server, connection, &path, &json!({ "identifier": "person@bench.test" })).await?;
    Ok(())
}

async fn post(
    server: &Server,
    connection: &mut Connection,
    path: &str,
    document: &Value,
) -> Outcome<Value> {
    let answer = connection.exchange(&post_json(server.address, path, &[], document)).await?;
    answer.success()?;
    Ok(serde_json::from_slice(answer.body)?)
}
