//! `porteiro doctor`: looks for whatever would keep the server from working, and says what to mend.
//!
//! It changes nothing, and calls no host that neither the configuration nor a connection names. It sends a message only
//! to an address that it is given.

mod checks;
mod connections;
mod domains;
mod messages;
mod outside;
mod self_service;

use super::{Failure, progress, say, settings::CommandSettings};
use checks::{Finding, Verdict};
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    tests: Tests,
}

/// Where to send messages that show whether they arrive.
#[derive(Debug, Args)]
pub(super) struct Tests {
    /// Sends a test mail there
    #[arg(long, value_name = "ADDRESS")]
    mail_to: Option<String>,
    /// Sends a test SMS there
    #[arg(long, value_name = "NUMBER")]
    sms_to: Option<String>,
}

pub(super) async fn run(
    Doctor { json, tests }: Doctor,
    given: CommandSettings,
) -> Result<(), Failure> {
    let (survey, dev_keys) = given.survey_for_doctor()?;
    let waiting = progress::spinner("looking");
    let findings = checks::all(&survey, dev_keys, &tests).await;
    waiting.finish_and_clear();
    for finding in &findings {
        let Finding { subject, verdict, text } = finding;
        if json {
            say(&json!({ "check": subject, "verdict": verdict.name(), "text": text }).to_string())?;
        } else {
            say(&format!("{:4}  {subject:14} {text}", verdict.name()))?;
        }
    }
    let ill = findings.iter().any(|finding| finding.verdict == Verdict::Bad);
    if ill { Err(Failure::Findings) } else { Ok(()) }
}
