//! `porteiro doctor`: looks for whatever would keep the server from working, and says what to mend.
//!
//! It changes nothing, and calls no host that the configuration does not name.

mod checks;
mod outside;

use super::{Failure, progress, say, settings::Given};
use checks::{Finding, Verdict};
use clap::Args;
use serde_json::json;

#[derive(Debug, Args)]
pub(super) struct Doctor {
    /// One JSON object a line
    #[arg(long)]
    json: bool,
}

pub(super) async fn run(Doctor { json }: Doctor, given: Given) -> Result<(), Failure> {
    let (survey, dev_keys) = given.survey_for_doctor()?;
    let waiting = progress::spinner("looking");
    let findings = checks::all(&survey, dev_keys).await;
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
