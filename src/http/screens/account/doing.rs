//! The page that comes before an act: it asks for what is needed, or whether it is meant.
//!
//! A person whose proof is not fresh enough for it is led to a flow first, and comes back here.

use super::{
    super::{leading::to, proving::prove, shell::Shell},
    acts::Act,
    fields::FieldShown,
    section_view::AccountSectionRequest,
    way_back,
};
use crate::{
    domain::account::{GRACE_PERIOD, Known},
    http::{
        answer::error::Problem,
        me::{Caller, is_fresh},
    },
};
use askama::Template;
use axum::{http::StatusCode, response::Response};

#[derive(Template)]
#[template(path = "account/act.html")]
struct ActPage<'a> {
    page: &'a Shell<'a>,
    act: &'static Act,
    title: String,
    /// As HTML.
    text: String,
    button: String,
    danger: bool,
    id: Option<&'a str>,
    fields: Vec<FieldShown>,
    /// What was wrong, where it belongs to no field.
    alert: Option<&'a str>,
    /// For programs that keep passwords.
    email: &'a str,
    back: &'static str,
}

const DAY: u64 = 24 * 60 * 60;

/// Draws it.
pub async fn draw(
    asking: &AccountSectionRequest<'_>,
    act: &'static Act,
    (caller, known): (Caller, &Known),
) -> Result<Response, Problem> {
    let (page, query) = (asking.page, asking.query);
    let Some(question) = act.question else { return Err(Problem::NOT_FOUND) };
    let Some(mut subject) = asking.subject(act).await? else {
        return match query.get("id") {
            Some(_) => Err(Problem::NOT_FOUND),
            // Nothing waits for it any more.
            None => Ok(to(act.section.path(), &[])),
        };
    };
    if act.fresh && !is_fresh(page.app, &caller, known) {
        let given = ["id", "typed"].into_iter().filter_map(|name| Some((name, query.get(name)?)));
        let pairs: Vec<(&str, &str)> = [("do", act.name)].into_iter().chain(given).collect();
        return prove(page.app, caller, way_back(act.section, &pairs)).await;
    }
    let held = if act.name == "rename_passkey" { subject.clone() } else { String::new() };
    let with = (asking.kept, asking.said);
    let mut fields: Vec<FieldShown> =
        act.fields.iter().map(|field| FieldShown::of(page, field, &held, with)).collect();
    let alert = asking.said.filter(|said| said.field.is_none());
    if let Some(first) = fields.first_mut().filter(|_| alert.is_none()) {
        first.is_first = true;
    }
    if act.name == "delete" {
        subject = (GRACE_PERIOD.as_secs() / DAY).to_string();
    }
    let drawn = ActPage {
        page,
        act,
        title: page.t(question.title),
        text: page.html(question.text, "name", &subject),
        button: page.t(question.button),
        danger: question.danger,
        id: query.get("id"),
        fields,
        alert: alert.map(|said| &*said.text),
        email: &known.email,
        back: act.section.path(),
    };
    Ok(page.respond(StatusCode::OK, &drawn))
}
