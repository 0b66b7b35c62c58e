//! `/Users`.

use super::{
    call::ScimCall,
    listing,
    outcome::{Answer, Outcome},
    user_change,
    user_view::{self, Member},
};
use crate::{
    domain::scim::{
        patch::Patch,
        projection::Projection,
        query::Query,
        resource::User,
        schema::{ResourceType, USER},
    },
    http::answer::scim::ScimRefusal,
};
use axum::http::StatusCode;

pub async fn list(call: ScimCall) -> Answer {
    let query = Query::from_pairs(call.query(), &USER)?;
    listing::users(&call, &query).await
}

pub async fn search(call: ScimCall) -> Answer {
    let query = Query::from_body(&call.body, &USER)?;
    listing::users(&call, &query).await
}

pub async fn create(call: ScimCall) -> Answer {
    let projection = projection(&call, &USER)?;
    let user = User::read(&call.body)?;
    let id = user_change::create(&call, user).await?;
    answer(&call, StatusCode::CREATED, &id, &projection).await
}

pub async fn show(call: ScimCall) -> Answer {
    let projection = projection(&call, &USER)?;
    let id = call.param("id").to_owned();
    let shown = answer(&call, StatusCode::OK, &id, &projection).await?;
    if shown.version.as_deref().is_some_and(|version| call.has_seen(version)) {
        return Ok(Outcome { status: StatusCode::NOT_MODIFIED, body: None, ..shown });
    }
    Ok(shown)
}

pub async fn replace(call: ScimCall) -> Answer {
    let projection = projection(&call, &USER)?;
    let user = User::read(&call.body)?;
    let id = call.param("id").to_owned();
    user_change::update(&call, &id, async |_former| Ok(user)).await?;
    answer(&call, StatusCode::OK, &id, &projection).await
}

pub async fn patch(call: ScimCall) -> Answer {
    let projection = projection(&call, &USER)?;
    let patch = Patch::read(&call.body, &USER)?;
    let id = call.param("id").to_owned();
    let edit = async |mut user: User| {
        patch.apply(&mut user)?;
        Ok(user)
    };
    user_change::update(&call, &id, edit).await?;
    answer(&call, StatusCode::OK, &id, &projection).await
}

pub async fn delete(call: ScimCall) -> Answer {
    user_change::remove(&call, call.param("id")).await?;
    Ok(Outcome::gone())
}

/// Reads which attributes are to be shown.
pub fn projection(
    call: &ScimCall,
    resource_type: &'static ResourceType,
) -> Result<Projection, ScimRefusal> {
    Ok(Query::from_pairs(call.query(), resource_type)?.projection)
}

async fn answer(call: &ScimCall, status: StatusCode, id: &str, projection: &Projection) -> Answer {
    let seen = call.app.views.memberships.peek(id).await?;
    let member = Member::of(&seen.machine, call.slug()).ok_or_else(user_change::missing)?;
    let home = call.app.views.organizations.look_anew(call.slug()).await?;
    let home = home.machine.known().ok_or_else(user_change::missing)?;
    let document = user_view::document(call, home, id, &member).await?;
    let shown = projection.apply(document.clone());
    Ok(Outcome::resource(status, document).showing(shown))
}
