//! `account`: one of those that are signed in where the flow is taken (adr/0087). The cookies of this very
//! request tell which they are.

use super::{Step, StepRequest, Taking};
use crate::{
    domain::flow::Selected,
    http::{
        flows::{
            ending::{AnsweredStep, StepAnswer},
            problems::ACCOUNT_NOT_HELD,
        },
        limits::purpose::Purpose,
        people::session::{self, Lookup},
    },
};
use serde::Deserialize;

pub struct Account;

#[derive(Deserialize)]
struct Body {
    /// Its id, as the document has it.
    account: String,
}

impl Step for Account {
    fn path(&self) -> &'static str {
        "account"
    }

    fn take<'a>(&'a self, mut request: StepRequest<'a>) -> Taking<'a> {
        Box::pin(async move {
            let Body { account } = request.body()?;
            request.charge(Purpose::Flow)?;
            request.offered(self).await?;
            let (app, opened) = (request.app, request.opened);
            let held = session::held(app, &opened.context, &opened.source, Lookup::Anew).await?;
            let mut held = held.into_iter();
            let chosen = held.find(|one| one.present.person.account == account);
            let present = chosen.ok_or(ACCOUNT_NOT_HELD)?.present;
            let seen = app.views.accounts.look(&account).await?;
            let identifier = seen.machine.known().map(|known| known.email.clone());
            let identifier = identifier.ok_or(ACCOUNT_NOT_HELD)?;
            let selected =
                Selected { person: present.person.clone(), session: present.id, identifier };
            let answer = StepAnswer::Selected(Box::new(selected));
            request.proceed(AnsweredStep { account: &account, chosen: None, answer }).await
        })
    }
}
