//! What alerts cost a sign-in (adr/0141): by password, with alerts and without, in one run.
//!
//! Two servers stand beside each other. Sign-ins are made in turn, in random order, so that what the machine does
//! meanwhile falls on both alike; the medians of the step that ends the flow are compared: once from a device that is
//! known, and once from another device each time, of which a record and at times a mail are written.

use crate::{
    Outcome,
    connection::Connection,
    figures::{Bound, Spread},
    report::Section,
    request::post_json,
    servers::{DISCOVERY, Stage, loopback, porteiro::Installation, until_ready},
};
use porteiro::crypto::{SystemDice, draw};
use serde_json::{Value, json};
use std::{
    net::SocketAddr,
    time::{Duration, Instant},
};

pub const NAME: &str = "alerts";

/// What is asked of a sign-in with alerts, in parts of one without.
const WANTED: f64 = 0.9;

/// Sign-ins that count for nothing.
const WARM: usize = 10;

const EMAIL: &str = "alerts@bench.test";
const PASSWORD: &str = "correct horse battery staple";

struct Visitor {
    connection: Connection,
    address: SocketAddr,
}

pub async fn measure(stage: &Stage, pairs: usize) -> Outcome<Section> {
    let account = format!("\n[[account]]\nemail = \"{EMAIL}\"\npassword = \"{PASSWORD}\"\n");
    let mail =
        format!("[mail]\ntransport = \"file://{}\"\nfrom = \"a@bench.test\"\n", mails(stage)?);
    let with = Installation::prepare_with(stage, "alerts-on", (None, &mail))?;
    let without = format!("{mail}[alerts]\nenabled = false\n");
    let without = Installation::prepare_with(stage, "alerts-off", (None, &without))?;
    let (mut processes, mut visitors) = (Vec::new(), Vec::new());
    for installation in [&with, &without] {
        installation.apply_with(&account)?;
        let (mut process, address) = (installation.serve()?, loopback(installation.port));
        until_ready(&mut process, address, DISCOVERY).await?;
        processes.push(process);
        visitors.push(Visitor { connection: Connection::open(address).await?, address });
    }
    let mut section = Section::new("Alerts");
    section.line(&format!(
        "One connection signs in by password at a server with alerts and at one without, in turn; medians of {pairs} \
         sign-ins of the step that ends the flow."
    ));
    section.table(&["device", "with alerts, ms", "without, ms"]);
    for (device, is_new) in [("known", false), ("new each time", true)] {
        let mut took = [Vec::new(), Vec::new()];
        for number in 0..WARM + pairs {
            let first = usize::from(draw::<1>(&SystemDice)[0].is_multiple_of(2));
            for side in [first, 1 - first] {
                let agent = if is_new { format!("bench/{number}") } else { "bench".to_owned() };
                let one = visitors[side].sign_in(&agent).await?;
                if number >= WARM {
                    took[side].push(one.as_secs_f64());
                }
            }
        }
        let [on, off] = took.map(Spread::of);
        let ms = |spread: &Spread| format!("{:.2}", spread.median * 1e3);
        section.row(&[device, &ms(&on), &ms(&off)]);
        let what = format!("{NAME}: sign-ins from a device that is {device} ÷ without alerts");
        section.verdicts.push(Bound::Floor(WANTED).judge(what, off.median / on.median, ""));
    }
    for process in processes {
        process.stop().await?;
    }
    Ok(section)
}

/// A folder for what is mailed.
fn mails(stage: &Stage) -> Outcome<String> {
    let folder = stage.file("alerts-mails");
    std::fs::create_dir(&folder)?;
    Ok(folder.display().to_string())
}

impl Visitor {
    /// Signs in, and says how long the last step took.
    async fn sign_in(&mut self, agent: &str) -> Outcome<Duration> {
        let (begun, _) = self.post("/flows", &json!({ "kind": "sign_in" }), agent).await?;
        let id = begun["id"].as_str().ok_or("a flow has no id")?;
        let named = json!({ "identifier": EMAIL });
        self.post(&format!("/flows/{id}/identifier"), &named, agent).await?;
        let password = json!({ "password": PASSWORD });
        let (done, took) = self.post(&format!("/flows/{id}/password"), &password, agent).await?;
        if done["state"] == "done" { Ok(took) } else { Err("a sign-in was not done".into()) }
    }

    async fn post(&mut self, path: &str, body: &Value, agent: &str) -> Outcome<(Value, Duration)> {
        let request = post_json(self.address, path, &[("User-Agent", agent)], body);
        let sent = Instant::now();
        let answer = self.connection.exchange(&request).await?;
        let took = sent.elapsed();
        if !(200..300).contains(&answer.status) {
            return Err(answer.unexpected());
        }
        Ok((serde_json::from_slice(answer.body)?, took))
    }
}
