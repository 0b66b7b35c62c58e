//! What the holder of an alert's link decides: that it was not them, or that it was (adr/0142).

use super::{Event, Flow, Open, Over, Refusal, Reply, Stage, commands};
use crate::domain::Decision;

impl Open {
    /// Ends what the account is signed in by and goes on as a recovery, or ends. The link is spent either way.
    ///
    /// `identifier` is the address of the account, where the alert went to that very address: the person need not say it.
    pub(super) fn report(mut self, allow: bool, identifier: Option<&String>) -> Decision<Flow> {
        let Some(report) = self.seed.report.clone() else {
            return Decision::refuse(Refusal::NotNow);
        };
        let spend = commands::decide_report(&report, allow);
        if !allow {
            let over = Over { seed: self.seed, person: None, denial: None, finished: None };
            let reply = Reply::over(over.clone());
            return Decision::accept(vec![Event::Ended(Box::new(over))], reply).commanding(spend);
        }
        self.identifier = identifier.cloned();
        self.stage = if identifier.is_some() { Stage::Proof } else { Stage::Identify };
        self.moved().commanding(spend).commanding(commands::end_everything(&report))
    }
}
