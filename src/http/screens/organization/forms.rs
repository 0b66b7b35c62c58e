//! Forms of `/organization`: each names an operation, and has what that operation takes.
//!
//! 1. the person has proved a moment ago who they are, or is led to a flow in which they do;
//! 2. the operation is called as a program calls it;
//! 3. a redirect leads back to the section, which says what came of it. A key is the answer itself: it
//!    is shown once.

use super::{
    super::{leading::to, pages::leave_to, proving::prove, shell::Shell},
    Section, connection,
};
use crate::{
    domain::Context,
    http::{
        answer::error::Problem,
        api::{self, MemberInSession},
        extract::form::Form,
        me::{Caller, is_fresh},
        routes,
    },
    wording::quotable,
};
use askama::Template;
use axum::{
    http::{HeaderMap, Method, StatusCode},
    response::Response,
};
use serde_json::{Map, Value, json};

/// A key that is shown once.
#[derive(Template)]
#[template(path = "organization/key.html")]
struct KeyPage<'a> {
    page: &'a Shell<'a>,
    name: String,
    key: &'a str,
    back: String,
}

/// No id of an entry is longer; the way back travels in the id of a flow.
const LONGEST_ID: usize = 128;

/// Takes a form of the page.
pub async fn take(
    page: &Shell<'_>,
    context: Context,
    form: &Form,
    headers: &HeaderMap,
) -> Result<Response, Problem> {
    let app = page.app;
    let caller = match Caller::of(app, context, &Method::POST, headers).await {
        // The page is a sign-in then.
        Err(problem) if problem.code == "session_required" => {
            return Ok(to(routes::ORGANIZATION, &[]));
        }
        caller => caller?,
    };
    let step = form.get("step").unwrap_or_default();
    let slug = form.get("organization").unwrap_or_default();
    let belongings = caller.belongings(app).await?;
    let belonging = belongings.iter().find(|one| one.organization.slug == slug);
    let belonging = belonging.ok_or(Problem::NOT_FOUND)?;
    let section = form.get("section").and_then(Section::of_name).unwrap_or(Section::Members);
    let mut back = vec![("organization", slug), ("section", section.name())];
    // The page that the form is on, where it is about one entry.
    let is_one = ["changeMember", "putRole", "deleteRole", "endDelegation", "prove"]
        .contains(&step)
        || ["changeConnection", "testConnection", "deleteConnection"].contains(&step);
    let id =
        form.get("id").filter(|id| is_one && form.get("new").is_none() && id.len() <= LONGEST_ID);
    if step == "prove" {
        back.extend(id.map(|id| ("id", id)));
        return prove(app, caller, super::href(&back)).await;
    }
    let member = MemberInSession::of(app, caller.context.clone(), &caller.present, belonging)?;
    let known = caller.known(app).await?;
    // The guard refuses a person without the permission, fresh or not.
    if member.may(step) && !is_fresh(app, &caller, &known) {
        back.extend(id.map(|id| ("id", id)));
        return prove(app, caller, super::href(&back)).await;
    }
    let answered = match sent(page, &member, step, form).await {
        Ok(answered) => answered,
        Err(problem) => {
            back.push(("problem", problem.code));
            let pointer = problem.member.as_ref().map(|member| member.pointer.as_str());
            back.extend(pointer.map(|pointer| ("field", pointer)));
            let is_there = problem.code != "not_found";
            back.extend(id.filter(|_| is_there).map(|id| ("id", id)));
            return Ok(to(routes::ORGANIZATION, &back));
        }
    };
    if let Some(key) = answered.get("key").and_then(Value::as_str) {
        let name = answered.get("name").and_then(Value::as_str).unwrap_or_default();
        let drawn = KeyPage { page, name: quotable(name), key, back: super::href(&back) };
        return Ok(page.respond(StatusCode::OK, &drawn));
    }
    if let Some(to) = answered.get("redirect_to").and_then(Value::as_str) {
        return Ok(leave_to(page, &quotable(form.get("name").unwrap_or_default()), to));
    }
    back.push(("done", "1"));
    // Its page has more forms.
    back.extend(id.filter(|_| step == "changeConnection").map(|id| ("id", id)));
    Ok(to(routes::ORGANIZATION, &back))
}

/// Calls the operation that the form names.
async fn sent(
    page: &Shell<'_>,
    member: &MemberInSession,
    step: &str,
    form: &Form,
) -> Result<Value, Problem> {
    let id = form.get("id").unwrap_or_default().to_owned();
    let given = |name: &str| form.get(name).unwrap_or_default();
    let (param, body) = match step {
        "changeMember" => {
            let body = match form.get("enabled") {
                Some(enabled) => json!({ "enabled": enabled == "true" }),
                None => json!({ "roles": roles(form) }),
            };
            ("membership", body)
        }
        "createInvitation" => {
            let locale = page.locale.tag();
            ("", json!({ "email": given("email"), "roles": roles(form), "locale": locale }))
        }
        "withdrawInvitation" => ("invitation", Value::Null),
        "putRole" => {
            if form.get("new").is_some() {
                is_new(member, &id).await?;
            }
            ("role", json!({ "permissions": listed(given("permissions")) }))
        }
        "deleteRole" => ("role", Value::Null),
        "createApiKey" => {
            let permissions = listed(given("permissions"));
            let mut body = json!({ "name": given("name"), "permissions": permissions });
            if let Some(day) = form.get("expires_at") {
                body["expires_at"] = format!("{day}T00:00:00Z").into();
            }
            ("", body)
        }
        "rotateApiKey" => {
            let overlap: Option<u32> = given("overlap").parse().ok();
            ("key", json!({ "overlap": overlap }))
        }
        "revokeApiKey" => ("key", Value::Null),
        "endDelegation" => ("delegation", Value::Null),
        "addDomain" => ("", json!({ "domain": given("domain").trim() })),
        "verifyDomain" | "removeDomain" => ("domain", Value::Null),
        "createConnection" => ("", connection::new(form)),
        "changeConnection" => ("connection", connection::change(form)),
        "deleteConnection" | "testConnection" => ("connection", Value::Null),
        "deleteOrganization" => {
            // A person who deletes the wrong one would notice it here.
            if given("confirmation").trim() != given("organization") {
                return Err(Problem::wrong_member("#/confirmation", "is not the slug"));
            }
            ("", Value::Null)
        }
        _ => return Err(Problem::NOT_FOUND),
    };
    let body = match body {
        Value::Object(members) => members,
        _ => Map::new(),
    };
    let params = match step {
        // The entry of the page is a client; what is ended may be held by another.
        "endDelegation" => {
            let named = [("client_id", given("holder")), (param, given("delegation"))];
            named.map(|(name, value)| (name.to_owned(), value.to_owned())).into()
        }
        _ => vec![(param.to_owned(), id)],
    };
    let if_match = form.get("tag").map(str::to_owned);
    let reason = (step == "deleteOrganization").then(|| given("reason").to_owned());
    let asked = api::PageCall { params, body, if_match, reason, ..api::PageCall::default() };
    let refused = |problem: Problem| match (step, problem.code) {
        // What is no name of a role is not found.
        ("putRole", "not_found") => Problem::wrong_member("#/name", "is no name of a role"),
        _ => problem,
    };
    Ok(member.call(step, asked).await.map_err(refused)?.body)
}

/// Refuses a new role of a name that is there: the operation would replace it.
async fn is_new(member: &MemberInSession, name: &str) -> Result<(), Problem> {
    let params = vec![("role".to_owned(), name.to_owned())];
    match member.call("getRole", api::PageCall { params, ..api::PageCall::default() }).await {
        Ok(_) => Err(api::EXISTS),
        Err(problem) if problem.code == "not_found" => Ok(()),
        Err(problem) => Err(problem),
    }
}

/// The roles that a form gives: by a box each, or by a text.
fn roles(form: &Form) -> Vec<String> {
    let boxes = form.pairs().filter_map(|(name, _)| name.strip_prefix("role."));
    let texts = form.get("roles").unwrap_or_default().split_whitespace();
    boxes.chain(texts).map(str::to_owned).collect()
}

/// The words of a text, which may stand on several lines.
fn listed(text: &str) -> Vec<&str> {
    text.split_whitespace().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_come_as_boxes_and_as_text() {
        let form = Form::parse(b"role.clerk=on&role.a-b=&roles=x++y%0Az&rule.no=on").unwrap();
        assert_eq!(roles(&form), ["clerk", "a-b", "x", "y", "z"]);
    }
}
