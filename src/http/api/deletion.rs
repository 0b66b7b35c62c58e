//! `DELETE /api/organizations/{organization}` and `…/export`: an organization is taken along, and deleted (adr/0136).

use super::{
    call::{Answer, Call},
    organizations::refused,
    parts::{self, Part, Parts, Reading},
};
use crate::{
    actors::OrganizationExport,
    domain::organization::{Command, Organization},
    http::{
        answer::{error::Problem, private_json},
        app::App,
        time::rfc3339,
    },
};
use axum::http::{HeaderValue, StatusCode};
use serde::Serialize;
use utoipa::ToSchema;

/// An organization that was deleted.
#[derive(Serialize, ToSchema)]
pub struct DeletedOrganization {
    /// When it is erased; until then the operator can take it back.
    erased_at: String,
}

pub async fn delete(mut call: Call) -> Answer {
    call.demand_person_at_aal2()?;
    let reason = call.reason()?;
    call.caller.context = call.caller.context.clone().because(reason);
    let slug = call.param("organization").to_owned();
    let mut change = call.begin().await?;
    let decided = change.commit.decide::<Organization>(&slug, &Command::RequestDeletion).await?;
    decided.map_err(|refusal| refused(&refusal))?;
    let held = change.commit.look::<Organization>(&slug).await?.known();
    let deletion = held.and_then(|held| held.deletion).ok_or(Problem::NOT_FOUND)?;
    change.finish().await?;
    call.app.views.organizations.forget(&slug);
    let mut response = private_json(&DeletedOrganization { erased_at: rfc3339(deletion.erase_at) });
    *response.status_mut() = StatusCode::ACCEPTED;
    Ok(response)
}

/// The media type of a provisioning file.
pub const TOML: &str = "application/toml";

const FILE: HeaderValue = HeaderValue::from_static("attachment; filename=\"organization.toml\"");

pub async fn export(call: Call) -> Answer {
    let export = call.app.organization_export(&call.caller.organization);
    parts::answer(&call, export, (TOML, FILE)).await
}

impl Parts for OrganizationExport {
    const NEEDS: &'static str = "organizations:write";

    fn next(mut self, _app: App) -> Reading<Self> {
        Box::pin(async move {
            let text = OrganizationExport::next(&mut self).await?;
            let rest = text.is_some().then_some(self);
            Ok(Part { bytes: text.unwrap_or_default().into(), rest })
        })
    }
}
