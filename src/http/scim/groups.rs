//! `/Groups`.

use super::{
    call::{ScimCall, ScimChange},
    group_members::{MOST_CHANGED, MemberChanges},
    group_view, listing,
    outcome::{Answer, Outcome},
    users::projection,
};
use crate::{
    actors::Bound,
    crypto::draw_uuid,
    domain::{
        client::{KnownClient, ORGANIZATION_CLIENTS},
        membership::{FORMER_ROLE_MEMBERS, ROLE_MEMBERS, role_of},
        organization::{
            self, Command, Draft, MOST_ROLES, Organization, Refusal, Role, is_role_name,
        },
        scim::{
            error::ScimError,
            group::{Group, GroupChange},
            projection::Projection,
            query::Query,
            schema::GROUP,
        },
    },
    http::{answer::scim::ScimRefusal, api::SUSPENDED},
};
use axum::http::StatusCode;

/// How many clients are looked at.
const CLIENTS: Bound = Bound::new(500);

/// How many random letters make a name unique.
const LETTERS: usize = 8;

pub async fn list(call: ScimCall) -> Answer {
    let query = Query::from_pairs(call.query(), &GROUP)?;
    listing::groups(&call, &query).await
}

pub async fn search(call: ScimCall) -> Answer {
    let query = Query::from_body(&call.body, &GROUP)?;
    listing::groups(&call, &query).await
}

pub async fn show(call: ScimCall) -> Answer {
    let projection = projection(&call, &GROUP)?;
    let name = call.param("id").to_owned();
    let shown = answer(&call, StatusCode::OK, &name, &projection).await?;
    if shown.version.as_deref().is_some_and(|version| call.has_seen(version)) {
        return Ok(Outcome { status: StatusCode::NOT_MODIFIED, body: None, ..shown });
    }
    Ok(shown)
}

pub async fn create(call: ScimCall) -> Answer {
    let projection = projection(&call, &GROUP)?;
    let Group { display_name, external_id, members } = Group::read(&call.body, MOST_CHANGED)?;
    let mut change = call.begin().await?;
    let mut roles = change.home.roles.clone();
    if roles.len() >= MOST_ROLES {
        let detail = format!("an organization has at most {MOST_ROLES} Groups");
        return Err(ScimError::conflict(detail).into());
    }
    check_external_id(&roles, None, external_id.as_deref())?;
    let name = free_name(&call, &change.home, &display_name).await?;
    let now = change.commit.at();
    let group = organization::Group {
        made: true,
        display_name: Some(display_name).filter(|display_name| *display_name != name),
        external_id,
        created_at: now,
        changed_at: now,
    };
    let group = Some(Box::new(group));
    roles.push(Role { name: name.clone(), permissions: Vec::new(), group });
    replace_roles(&mut change, roles).await?;
    let mut member_changes = MemberChanges::default();
    member_changes.take(&GroupChange::AddMembers(members));
    member_changes.carry_out(&call, &mut change, &name).await?;
    change.finish().await?;
    answer(&call, StatusCode::CREATED, &name, &projection).await
}

/// Returns a name for a new role: the `displayName` where it can be one, else one that is made of it once.
///
/// A name that memberships or clients still list was another role's: those who held it must not find themselves in this one.
async fn free_name(
    call: &ScimCall,
    home: &organization::Known,
    display_name: &str,
) -> Result<String, ScimRefusal> {
    if is_role_name(display_name) && !home.has_role(display_name) {
        let owner = role_of(call.slug(), display_name);
        let mut is_held = false;
        for list in [ROLE_MEMBERS, FORMER_ROLE_MEMBERS] {
            is_held = is_held || call.app.store.count(list, &owner, 1).await? > 0;
        }
        if !is_held && !is_of_a_client(call, display_name).await? {
            return Ok(display_name.to_owned());
        }
    }
    let letters = draw_uuid(&*call.app.dice);
    Ok(format!("{}-{}", slug_of(display_name), &letters[..LETTERS]))
}

/// Tells whether a client of the organization lists a role, or may: not all of very many are looked at.
async fn is_of_a_client(call: &ScimCall, role: &str) -> Result<bool, ScimRefusal> {
    let clients = call.app.views.clients.page(ORGANIZATION_CLIENTS, call.slug(), ("", ""), CLIENTS);
    let clients = clients.await?;
    let lists = |client: &KnownClient| client.roles.iter().any(|held| held == role);
    let found = clients.iter().filter_map(|(_, entry)| entry.machine.held()).any(lists);
    Ok(found || clients.len() >= CLIENTS.most() as usize)
}

/// Makes of a text what the name of a role may begin with.
fn slug_of(text: &str) -> String {
    let mut slug = String::new();
    for letter in text.chars().flat_map(char::to_lowercase) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
        if slug.len() >= 40 {
            break;
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "group".to_owned() } else { slug.to_owned() }
}

pub async fn replace(call: ScimCall) -> Answer {
    let Group { display_name, external_id, members } = Group::read(&call.body, MOST_CHANGED)?;
    let changes = [
        GroupChange::DisplayName(display_name),
        GroupChange::ExternalId(external_id),
        GroupChange::ReplaceMembers(members),
    ];
    update(&call, &changes).await?;
    let projection = projection(&call, &GROUP)?;
    answer(&call, StatusCode::OK, call.param("id"), &projection).await
}

/// A Group that is changed is not shown unless the client asks for attributes: it may have very many members.
pub async fn patch(call: ScimCall) -> Answer {
    let changes = GroupChange::read(&call.body, MOST_CHANGED)?;
    let projection = projection(&call, &GROUP)?;
    update(&call, &changes).await?;
    let asks = |(name, _): &(String, String)| {
        ["attributes", "excludedAttributes"].iter().any(|known| known.eq_ignore_ascii_case(name))
    };
    if call.query().iter().any(asks) {
        return answer(&call, StatusCode::OK, call.param("id"), &projection).await;
    }
    Ok(Outcome::gone())
}

async fn update(call: &ScimCall, changes: &[GroupChange]) -> Result<(), ScimRefusal> {
    let name = call.param("id");
    let mut change = call.begin().await?;
    let mut roles = change.home.roles.clone();
    let place = roles.iter().position(|role| role.name == name).ok_or_else(missing)?;
    let known = roles[place].clone();
    expect(call, &known).await?;
    let mut member_changes = MemberChanges::default();
    for one in changes {
        relabel(&mut roles, place, one)?;
        member_changes.take(one);
    }
    let is_relabelled = roles[place] != change.home.roles[place];
    if is_relabelled {
        let now = change.commit.at();
        let group = roles[place].group.get_or_insert_default();
        group.changed_at = now;
        replace_roles(&mut change, roles).await?;
    }
    let has_moved = member_changes.carry_out(call, &mut change, name).await?;
    if call.expects_version() && (is_relabelled || has_moved) {
        // Of two that expect one version the second must see what the first has made of it; and what others have changed
        // since it was read above.
        expect(call, &known).await?;
        change.commit.touch::<Organization>(call.slug()).await?;
    }
    change.finish().await
}

/// Gives a role another label, if the change is one.
fn relabel(roles: &mut [Role], place: usize, change: &GroupChange) -> Result<(), ScimRefusal> {
    match change {
        GroupChange::DisplayName(name) if *name != roles[place].display_name() => {
            let role = &mut roles[place];
            if !role.is_made_by_directory() {
                let detail = "this Group was not made by SCIM: its displayName stays";
                return Err(ScimError::plain(403, detail).into());
            }
            let display_name = Some(name.clone()).filter(|name| *name != role.name);
            role.group.get_or_insert_default().display_name = display_name;
        }
        GroupChange::ExternalId(external_id) => {
            check_external_id(roles, Some(place), external_id.as_deref())?;
            let held = roles[place].group.as_ref().and_then(|group| group.external_id.as_ref());
            if held != external_id.as_ref() {
                let group = roles[place].group.get_or_insert_default();
                group.external_id.clone_from(external_id);
            }
        }
        _ => {}
    }
    Ok(())
}

fn check_external_id(
    roles: &[Role],
    own: Option<usize>,
    external_id: Option<&str>,
) -> Result<(), ScimRefusal> {
    let Some(external_id) = external_id else { return Ok(()) };
    let has_it = |role: &Role| {
        role.group.as_ref().and_then(|group| group.external_id.as_deref()) == Some(external_id)
    };
    let others = roles.iter().enumerate().filter(|(place, _)| Some(*place) != own);
    if others.into_iter().any(|(_, role)| has_it(role)) {
        return Err(ScimError::uniqueness("another Group has this externalId").into());
    }
    Ok(())
}

pub async fn delete(call: ScimCall) -> Answer {
    let name = call.param("id");
    let mut change = call.begin().await?;
    let mut roles = change.home.roles.clone();
    let place = roles.iter().position(|role| role.name == name).ok_or_else(missing)?;
    expect(&call, &roles[place]).await?;
    if !roles[place].is_made_by_directory() {
        let detail = "this Group was not made by SCIM: it stays";
        return Err(ScimError::plain(403, detail).into());
    }
    roles.remove(place);
    replace_roles(&mut change, roles).await?;
    change.finish().await?;
    Ok(Outcome::gone())
}

/// Refuses where the Group is at another version than the caller has seen, if they say which.
async fn expect(call: &ScimCall, role: &Role) -> Result<(), ScimRefusal> {
    if !call.expects_version() {
        return Ok(());
    }
    let members = group_view::all_members(call, &role.name).await?;
    call.expect(&group_view::version(role, &members))
}

async fn replace_roles(change: &mut ScimChange, roles: Vec<Role>) -> Result<(), ScimRefusal> {
    let slug = change.home.slug.clone();
    let draft =
        Draft { slug: slug.clone(), roles: Some(roles), by_directory: true, ..Draft::default() };
    let decided = change.commit.decide::<Organization>(&slug, &Command::Provision(draft)).await?;
    decided.map_err(|refusal| match refusal {
        Refusal::Suspended => ScimRefusal::from(SUSPENDED),
        other => ScimError::invalid_value(other.to_string()).into(),
    })?;
    let next = change.commit.look::<Organization>(&slug).await?.known().cloned();
    change.home = next.ok_or_else(missing)?;
    Ok(())
}

fn missing() -> ScimRefusal {
    ScimError::not_found("there is no such Group").into()
}

async fn answer(
    call: &ScimCall,
    status: StatusCode,
    name: &str,
    projection: &Projection,
) -> Answer {
    let home = call.app.views.organizations.look_anew(call.slug()).await?;
    let known = home.machine.known().ok_or_else(missing)?;
    let role = known.roles.iter().find(|role| role.name == name).ok_or_else(missing)?;
    let members = if projection.wants("members") {
        Some(group_view::all_members(call, name).await?)
    } else {
        None
    };
    let document = group_view::document(&call.base, role, members.as_deref());
    let shown = projection.apply(document.clone());
    Ok(Outcome::resource(status, document).showing(shown))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_display_name_becomes_the_beginning_of_a_role_name() {
        for (text, slug) in [
            ("Finance", "finance"),
            ("  Sales & Marketing (EU) ", "sales-marketing-eu"),
            ("Vendas São Paulo", "vendas-s-o-paulo"),
            ("日本", "group"),
            ("---", "group"),
            ("_x", "x"),
        ] {
            assert_eq!(slug_of(text), slug, "{text}");
            assert!(is_role_name(&format!("{}-abcdefgh", slug_of(text))));
        }
        assert!(is_role_name(&format!("{}-abcdefgh", slug_of(&"é1".repeat(500)))));
    }
}
