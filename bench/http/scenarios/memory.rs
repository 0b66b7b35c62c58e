//! How much memory a server keeps: at rest, and after it has worked.

use super::{ClientCredentials, Load as _};
use crate::{
    Outcome,
    figures::{Bound, MIB, Spread},
    load::{Plan, press},
    report::Section,
    servers::{Stage, Who},
};
use std::time::Duration;

pub const NAME: &str = "memory";

/// Until what a start leaves behind is settled.
const REST: Duration = Duration::from_secs(2);

pub async fn measure(stage: &Stage, plan: Plan, times: usize) -> Outcome<Section> {
    let mut section = Section::new("Memory");
    section.line(
        "Resident memory of each server's process: two seconds after its first answer, and two \
         seconds after a round of client_credentials. A new process each time.",
    );
    section.table(&["server", "at rest, MiB", "after load, MiB"]);
    for who in &stage.cast {
        let (mut idle, mut worked) = (Vec::new(), Vec::new());
        for _ in 0..times {
            let server = stage.start(*who).await?;
            tokio::time::sleep(REST).await;
            idle.push(server.process.resident()? / MIB);
            let scripts = ClientCredentials.scripts(&stage.scene, &server, plan.connections);
            press(&server, scripts.await?, plan).await?;
            tokio::time::sleep(REST).await;
            worked.push(server.process.resident()? / MIB);
            server.process.stop().await?;
        }
        let (idle, worked) = (Spread::of(idle), Spread::of(worked));
        section.row(&[who.name(), &idle.text(1), &worked.text(1)]);
        if *who == Who::Porteiro {
            let what = "memory: resident at rest".to_owned();
            section.verdicts.push(Bound::Ceiling(25.0).judge(what, idle.median, " MiB"));
        }
    }
    Ok(section)
}
