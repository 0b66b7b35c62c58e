//! Forms of the account's pages: each names an act, and has the fields of its operation.
//!
//! 1. the operation is called as a program calls it;
//! 2. where it wants a fresh proof, the person is led to a flow, which comes back to the page;
//! 3. a redirect leads to the page that says what came of it. Recovery codes and the end of an account
//!    are the answer itself: they are shown once.

use super::{
    super::{leading::to, pages, proving::prove, shell::Shell},
    Visit,
    acts::{Act, Kind},
    ask::{OperationAnswer, OperationRefusal, OperationRequest, Operations},
    form_values::FormValues,
    way_back,
};
use crate::http::{
    answer::error::Problem,
    extract::{cookies::with_cookies, form::Form},
    me::Caller,
    routes,
};
use axum::{http::Method, response::Response};
use serde_json::{Map, Value};

/// No id of an entry is longer.
const LONGEST_ID: usize = 1_400;

/// Takes a form.
pub async fn take(page: &Shell<'_>, visit: Visit<'_>, form: &Form) -> Result<Response, Problem> {
    let named = form.get("step").and_then(|name| Act::find(visit.section, name));
    let act = named.ok_or(Problem::NOT_FOUND)?;
    let operations = Operations { app: page.app, head: visit.head };
    let asked = OperationRequest {
        id: Some(form.get("id").unwrap_or_default()),
        body: (!act.fields.is_empty()).then(|| body(act, form)),
        ..OperationRequest::default()
    };
    match operations.call(act.operation(), asked).await {
        Ok(answered) => done(page, act, visit, answered).await,
        Err(refused) => refuse(page, act, visit, (form, refused)).await,
    }
}

/// Makes a body of the fields of a form. A profile is a merge patch: what was emptied is taken away.
fn body(act: &Act, form: &Form) -> Map<String, Value> {
    let mut members = Map::new();
    for field in act.fields {
        let given = form.pairs().find(|(name, _)| *name == field.name).map(|(_, value)| value);
        let value = match (field.kind, given) {
            (Kind::Tick, given) => Value::Bool(given.is_some()),
            (_, None) => continue,
            (_, Some("")) if act.name == "describe" => Value::Null,
            (_, Some(text)) => text.into(),
        };
        members.insert(field.name.to_owned(), value);
    }
    members
}

/// Leads to what follows.
async fn done(
    page: &Shell<'_>,
    act: &Act,
    visit: Visit<'_>,
    OperationAnswer { body, cookies }: OperationAnswer,
) -> Result<Response, Problem> {
    let path = act.section.path();
    let next = match act.name {
        "new_email" => to(path, &[("do", "confirm_email")]),
        "new_phone" => to(path, &[("do", "confirm_phone")]),
        // A page that says so to a browser without a session.
        "end_sessions" => to(routes::SIGN_OUT, &[]),
        "new_codes" => {
            let codes = body["recovery_codes"].as_array().into_iter().flatten();
            let codes = codes.filter_map(Value::as_str).collect();
            let caller = Caller::of(page.app, visit.context, &Method::POST, &visit.head.headers);
            let known = caller.await?.known(page.app).await?;
            pages::codes(page, codes, &known.email, path.to_owned())
        }
        "delete" => {
            let day = page.date(body["erased_at"].as_str().unwrap_or_default());
            let text = page.with("deleted-text", "date", &day);
            let said = [page.t("deleted-title"), text, page.t("sign-in")];
            pages::say_so(page, said, routes::SIGN_IN.to_owned())
        }
        _ => to(path, &[("done", "1")]),
    };
    Ok(with_cookies(next, cookies))
}

/// Leads back to the page of the form, which says what was wrong and has what was typed.
async fn refuse(
    page: &Shell<'_>,
    act: &Act,
    visit: Visit<'_>,
    (form, refused): (&Form, OperationRefusal),
) -> Result<Response, Problem> {
    let (app, section) = (page.app, act.section);
    let caller = match Caller::of(app, visit.context, &Method::POST, &visit.head.headers).await {
        // The page is a sign-in then.
        Err(problem) if problem.code == "session_required" => return Ok(to(section.path(), &[])),
        caller => caller?,
    };
    let typed = FormValues::of(act, form).seal(app, caller.account(), act);
    // What is gone has no page that asks about it.
    let is_there = refused.code != Problem::NOT_FOUND.code;
    let asks = act.question.filter(|_| is_there).map(|_| act.name);
    let id = form.get("id").filter(|id| asks.is_some() && id.len() <= LONGEST_ID);
    let mut pairs = vec![("do", asks), ("id", id), ("typed", typed.as_deref())];
    if refused.code == "step_up_required" {
        let back = way_back(section, &given(&pairs));
        return prove(app, caller, back).await;
    }
    pairs.extend([
        ("problem", Some(&*refused.code)),
        ("field", refused.pointer.as_deref()),
        ("wait", refused.wait.as_deref()),
    ]);
    Ok(to(section.path(), &given(&pairs)))
}

fn given<'a>(pairs: &[(&'a str, Option<&'a str>)]) -> Vec<(&'a str, &'a str)> {
    pairs.iter().filter_map(|(name, value)| value.map(|value| (*name, value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::screens::account::section::Section;
    use serde_json::json;

    #[test]
    fn a_profile_takes_away_what_was_emptied_and_leaves_what_was_not_sent() {
        let describe = Act::find(Section::Profile, "describe").unwrap();
        let form =
            Form::parse(b"step=describe&given_name=Ana&nickname=&email=eva%40a.test").unwrap();
        let expected = json!({ "given_name": "Ana", "nickname": null });
        assert_eq!(Value::Object(body(describe, &form)), expected);
    }

    #[test]
    fn a_box_that_is_not_sent_is_not_checked() {
        let password = Act::find(Section::Security, "set_password").unwrap();
        let form = Form::parse(b"password=a+b").unwrap();
        let expected = json!({ "password": "a b", "keep_sessions": false });
        assert_eq!(Value::Object(body(password, &form)), expected);
        let form = Form::parse(b"password=&keep_sessions=on").unwrap();
        let expected = json!({ "password": "", "keep_sessions": true });
        assert_eq!(Value::Object(body(password, &form)), expected);
    }
}
