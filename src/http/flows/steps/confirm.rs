//! `confirm`: whether a person wants what the flow is for.

use super::{Step, StepRequest, Taking, consent::decide};

pub struct Confirm;

impl Step for Confirm {
    fn path(&self) -> &'static str {
        "confirm"
    }

    fn take<'a>(&'a self, request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(decide(self, request))
    }
}
