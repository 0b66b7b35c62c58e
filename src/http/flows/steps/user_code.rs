//! `user_code`: the code that a device shows.

use super::{Step, StepRequest, Taking};
use crate::http::{authorization::user_codes, flows::user_code, limits::purpose::Purpose};
use serde::Deserialize;

pub struct UserCode;

#[derive(Deserialize)]
struct Body {
    user_code: String,
}

impl Step for UserCode {
    fn path(&self) -> &'static str {
        "user_code"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { user_code } = request.body()?;
            request.charge(Purpose::Credential)?;
            request.offered(self).await?;
            let code = user_codes::sealed(request.app, &user_code);
            Ok(user_code::enter(request.app, request.opened, &code).await?.answer.into())
        })
    }
}
