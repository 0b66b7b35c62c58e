//! `porteiro log list`: what the security log says, a line a row.

use crate::cli::{
    Failure,
    output::{or_dash, visible},
    say,
    settings::{CommandSettings, open_workbench},
};
use crate::{
    domain::Timestamp,
    http::time::rfc3339,
    provisioning,
    store::{LogPlace, LogRow},
    system::Workbench,
};
use clap::Args;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub(in crate::cli) struct List {
    /// What the customer of this organization may read
    #[arg(long, value_name = "SLUG")]
    organization: Option<String>,
    /// From this time on, as in 2026-01-31T12:00:00Z
    #[arg(long, value_name = "TIME", value_parser = time)]
    since: Option<Timestamp>,
    /// These events alone, as docs/events.md names them; may be repeated
    #[arg(long = "event", value_name = "EVENT")]
    events: Vec<String>,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

fn time(text: &str) -> Result<Timestamp, &'static str> {
    Timestamp::from_rfc3339(text).ok_or("it is written as in 2026-01-31T12:00:00Z")
}

pub(in crate::cli) async fn run(command: List, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let listed = list(&workbench, &command).await;
    workbench.close().await;
    listed
}

async fn list(workbench: &Workbench, command: &List) -> Result<(), Failure> {
    let List { organization, since, events, json } = command;
    if let Some(slug) = organization {
        provisioning::organization_existed(workbench, slug).await?;
    }
    let mut place = LogPlace::before(since.unwrap_or(Timestamp::NEVER));
    loop {
        let page = workbench.store().log_after(organization.as_deref(), &place).await?;
        let Some(last) = page.last() else { return Ok(()) };
        place = LogPlace::of(last);
        let wanted = |row: &&LogRow| events.is_empty() || events.contains(&row.event);
        for row in page.iter().filter(wanted) {
            say(&if *json { object(row).to_string() } else { line(row) })?;
        }
    }
}

fn object(row: &LogRow) -> Value {
    let detail: Value = serde_json::from_str(&row.detail).unwrap_or_default();
    json!({
        "at": rfc3339(row.at),
        "event": row.event,
        "organization": row.organization,
        "kind": row.kind,
        "id": row.id,
        "detail": detail,
        "lane": row.lane,
        "seq": row.seq,
    })
}

fn line(row: &LogRow) -> String {
    let LogRow { event, kind, id, detail, .. } = row;
    let (at, organization) = (rfc3339(row.at), or_dash(row.organization.as_deref()));
    visible(&format!("{at} {event:<28} {organization:<12} {kind} {id} {detail}"))
}
