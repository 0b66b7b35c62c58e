//! `sms_code/send` and `sms_code`: six digits that are sent to the person's verified phone.

use super::{Step, StepRequest, Taking, sent::OutgoingCode};
use crate::{
    domain::{
        assurance::Worth,
        flow::{ProofStep, Role},
        throttle,
    },
    http::people::one_time_code::typed,
};
use serde::Deserialize;

const SEND: &str = "sms_code/send";
const CODE: &str = throttle::SMS_CODE;

pub struct SmsCodeSend;
pub struct SmsCode;

#[derive(Deserialize)]
struct Body {
    code: String,
}

impl Step for SmsCodeSend {
    fn path(&self) -> &'static str {
        SEND
    }

    fn take<'a>(&'a self, request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let open = request.offered(self).await?;
            let lives = request.app.settings.lifetimes.one_time_code;
            request.send_sms(&open, OutgoingCode { by: SEND, step: CODE, lives }).await
        })
    }
}

impl Step for SmsCode {
    fn path(&self) -> &'static str {
        CODE
    }

    fn proof(&self) -> Option<ProofStep> {
        Some(ProofStep {
            name: CODE,
            preparing: &[SEND],
            worth: Worth::SMS_CODE,
            roles: &[Role::First, Role::Second],
        })
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { code } = request.body()?;
            request.take_code(self, &typed(&code)).await
        })
    }
}
