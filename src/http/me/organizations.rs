//! `/me/organizations`: where the person is a member, suspended organizations among them, and how they
//! leave one.
//!
//! Leaving is a change, so a suspended organization refuses it. The last member who can manage the
//! others stays: an organization without one could be helped by its operator only.

use super::{EntryId, Items, caller::SignedIn, step_up};
use crate::{
    actors::{Bound, Failure, ReadSet},
    domain::{
        account::Known,
        membership::{
            self, MEMBERS, MEMBERSHIP_PAIRS, Membership, ROLE_HOLDERS, Refusal, pair, role_of,
        },
        organization::{self, Organization},
    },
    http::{
        answer::error::Problem,
        app::App,
        people::{belonging::Belonging, inviter},
        time::rfc3339,
    },
};
use axum::{
    extract::State,
    http::StatusCode,
    response::{IntoResponse as _, Response},
};
use serde::Serialize;

/// A slug has at most so many characters.
const LONGEST_SLUG: usize = 63;

/// How often it is tried while the organization changes.
const TRIES: usize = 8;

/// What a member holds who can manage the others.
const MANAGES: &str = "memberships:write";

const SUSPENDED: Problem = Problem::new(
    StatusCode::FORBIDDEN,
    "organization_suspended",
    "the organization is suspended and accepts no change",
);

const LAST_ADMINISTRATOR: Problem = Problem::new(
    StatusCode::CONFLICT,
    "last_administrator",
    "no other member can manage the members: let another one do so first",
);

#[derive(Serialize)]
pub struct Member {
    /// As the path of an entry has it: the slug.
    id: String,
    slug: String,
    name: String,
    /// What tokens call `membership`.
    membership: String,
    roles: Vec<String>,
    /// The organization is not suspended.
    enabled: bool,
    created_at: String,
}

pub async fn list(
    State(app): State<App>,
    SignedIn { caller, .. }: SignedIn,
) -> Result<Items<Member>, Problem> {
    let known = caller.known(&app).await?;
    let mut items = of_account(&app, &known).await?;
    items.retain(|one| caller.reaches(Some(&one.slug)));
    Ok(Items::whole(items))
}

/// Lists the organizations of a person.
pub async fn of_account(app: &App, known: &Known) -> Result<Vec<Member>, Problem> {
    let member = |Belonging { organization, membership }: Belonging| Member {
        id: organization.slug.clone(),
        roles: membership.roles_at(&organization).into_iter().map(str::to_owned).collect(),
        slug: organization.slug,
        name: organization.name,
        membership: membership.id,
        enabled: organization.enabled,
        created_at: rfc3339(membership.created_at),
    };
    Ok(Belonging::of_account(app, &known.id).await?.into_iter().map(member).collect())
}

/// Lets the person leave an organization.
pub async fn delete(
    State(app): State<App>,
    SignedIn { mut caller, .. }: SignedIn,
    slug: EntryId,
) -> Result<Response, Problem> {
    let slug = slug.read(LONGEST_SLUG)?;
    if caller.present.person.evidence.sign_on_at(&slug).is_none()
        && let Some(refused) = step_up::demand_own(&app, &mut caller).await?
    {
        return Ok(refused);
    }
    for _ in 0..TRIES {
        let found = app.store.find(MEMBERSHIP_PAIRS, &pair(caller.account(), &slug)).await?;
        let (_, id) = found.ok_or(Problem::NOT_FOUND)?;
        let seen = app.views.memberships.look_anew(&id).await?;
        let mine = seen.machine.known().filter(|one| one.enabled).ok_or(Problem::NOT_FOUND)?;
        let leave = leave(&app, mine).await?;
        let asked =
            app.entities.memberships.ask_if(&caller.context, &id, seen.version, leave).await;
        app.views.memberships.forget(&id);
        match asked {
            Ok(_) => return Ok(StatusCode::NO_CONTENT.into_response()),
            Err(Failure::Refused(Refusal::Suspended(_))) => return Err(SUSPENDED),
            Err(Failure::Refused(_)) => return Err(Problem::NOT_FOUND),
            // Something that it rests on has changed: look again.
            Err(Failure::Unmet { .. } | Failure::OtherVersion { .. } | Failure::Contended) => {}
            Err(failure) if failure.may_have_happened() => return Err(Problem::OUTCOME_UNKNOWN),
            Err(_) => return Err(Problem::UNAVAILABLE),
        }
    }
    Err(Problem::UNAVAILABLE)
}

/// Reads what leaving rests on. Of two managers who leave at once each requires the other to stay: one looks again.
async fn leave(app: &App, mine: &membership::Known) -> Result<membership::Command, Problem> {
    let slug = &mine.organization;
    let mut reads = app.read_set();
    let home = reads.look::<Organization>(slug).await?.known().cloned();
    if let Some(home) = home.as_ref().filter(|home| home.enabled && manages(home, mine)) {
        insist_on_another(app, &mut reads, home, mine).await?;
    }
    let invitation = inviter::pending_for(app, slug, &mine.account).await?;
    let requirements = reads.requirements();
    Ok(membership::Command::Leave { home, invitation, requirements })
}

fn manages(home: &organization::Known, member: &membership::Known) -> bool {
    home.confers(&member.roles).covers(MANAGES)
}

/// As many holders of a role are looked at: one is the person who leaves, and others may have changed a moment ago.
const HOLDERS: Bound = Bound::new(10);

/// As many members are looked at who were stored before roles listed their holders.
const MEMBERS_READ: Bound = Bound::new(Bound::MOST);

/// Looks for another member who can manage the members, among those who hold a role that lets them.
async fn insist_on_another(
    app: &App,
    reads: &mut ReadSet,
    home: &organization::Known,
    mine: &membership::Known,
) -> Result<(), Problem> {
    let another = |member: &Membership| {
        let known = member.known().filter(|one| one.enabled && one.id != mine.id)?;
        manages(home, known).then(|| known.id.clone())
    };
    let mut found = None;
    for role in home
        .roles
        .iter()
        .filter(|role| home.confers(std::slice::from_ref(&role.name)).covers(MANAGES))
    {
        let owner = role_of(&home.slug, &role.name);
        let holders = app.views.memberships.page(ROLE_HOLDERS, &owner, ("", ""), HOLDERS).await?;
        found = holders.iter().find_map(|(_, entry)| another(&entry.machine));
        if found.is_some() {
            break;
        }
    }
    if found.is_none() {
        let members =
            app.views.memberships.page(MEMBERS, &home.slug, ("", ""), MEMBERS_READ).await?;
        found = members.iter().find_map(|(_, entry)| another(&entry.machine));
    }
    // They must still be so in the commit.
    reads.look::<Membership>(&found.ok_or(LAST_ADMINISTRATOR)?).await?;
    Ok(())
}
