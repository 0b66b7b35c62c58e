//! `organization`: the one that tokens will speak for.

use super::{Step, StepRequest, Taking};
use crate::http::flows::{
    ending::{AnsweredStep, StepAnswer},
    problems::NOT_NOW,
};
use serde::Deserialize;

pub struct Organization;

#[derive(Deserialize)]
struct Body {
    /// The slug.
    organization: String,
}

impl Step for Organization {
    fn path(&self) -> &'static str {
        "organization"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { organization } = request.body()?;
            let person = request.offered(self).await?.person.ok_or(NOT_NOW)?;
            let chosen = Some(organization.as_str());
            let answer = StepAnswer::Chose(organization.clone());
            request.proceed(AnsweredStep { account: &person.account, chosen, answer }).await
        })
    }
}
