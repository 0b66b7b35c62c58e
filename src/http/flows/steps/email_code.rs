//! `email_code/send` and `email_code`: six digits that are sent to the person's address.

use super::{Step, StepRequest, Taking, recipient::CodeOrLink, sent::OutgoingCode};
use crate::{
    domain::{
        assurance::Worth,
        flow::{ProofStep, Role},
        throttle,
    },
    http::people::one_time_code::{draw_code, typed},
};
use serde::Deserialize;

const SEND: &str = "email_code/send";
const CODE: &str = throttle::EMAIL_CODE;

pub struct EmailCodeSend;
pub struct EmailCode;

#[derive(Deserialize)]
struct Body {
    code: String,
}

impl Step for EmailCodeSend {
    fn path(&self) -> &'static str {
        SEND
    }

    fn take<'a>(&'a self, request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let open = request.offered(self).await?;
            let lives = request.app.settings.lifetimes.one_time_code;
            let sending = OutgoingCode { by: SEND, step: CODE, lives };
            request.send_mail(&open, sending, draw_code, CodeOrLink::Code).await
        })
    }
}

impl Step for EmailCode {
    fn path(&self) -> &'static str {
        CODE
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep {
            name: CODE,
            preparing: &[SEND],
            worth: Worth::EMAIL_CODE,
            roles: &[Role::First, Role::Address],
        })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { code } = request.body()?;
            request.take_code(self, &typed(&code)).await
        })
    }
}
