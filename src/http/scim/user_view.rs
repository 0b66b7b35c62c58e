//! A membership as a User.

use super::{call::ScimCall, version};
use crate::{
    domain::{
        Timestamp,
        membership::{Known, Membership, Pending},
        organization,
        scim::{
            resource::{Meta, User},
            schema::USER,
        },
    },
    http::{answer::scim::ScimRefusal, time::rfc3339},
};
use serde_json::{Map, Value, json};

/// What a directory sees of a membership: those of an organization that are not removed.
pub enum Member<'a> {
    Known(&'a Known),
    Pending(&'a Pending),
}

impl<'a> Member<'a> {
    /// Finds what a directory of this organization sees.
    pub fn of(machine: &'a Membership, slug: &str) -> Option<Self> {
        let known = machine.known().filter(|known| known.organization == slug);
        let pending = machine.pending().filter(|pending| pending.organization == slug);
        known.map(Self::Known).or(pending.map(Self::Pending))
    }

    /// The Groups that they are in. An ended member of whom no directory has said anything is in none.
    pub fn roles(&self) -> &'a [String] {
        match self {
            Self::Known(Known { enabled: false, entry: None, .. }) => &[],
            Self::Known(known) => &known.roles,
            Self::Pending(pending) => &pending.roles,
        }
    }

    fn is_active(&self) -> bool {
        match self {
            Self::Known(known) => known.is_active(),
            Self::Pending(pending) => pending.entry.active,
        }
    }

    /// When it was made, and last changed.
    fn times(&self) -> (Timestamp, Timestamp) {
        match self {
            Self::Known(Known { created_at, entry, .. }) => {
                (*created_at, entry.as_ref().map_or(*created_at, |entry| entry.changed_at))
            }
            Self::Pending(Pending { created_at, entry, .. }) => (*created_at, entry.changed_at),
        }
    }
}

/// Returns the User as the directory sent it, or as the account is known where none did. Whether it is active is said as
/// it is: others may have ended the membership, or begun it again.
pub async fn sent(call: &ScimCall, member: &Member<'_>) -> Result<User, ScimRefusal> {
    let mut user = match member {
        Member::Pending(pending) => pending.entry.user.clone(),
        Member::Known(Known { entry: Some(entry), .. }) => entry.user.clone(),
        Member::Known(known) => of_account(call, known).await?,
    };
    user.set_active(member.is_active());
    Ok(user)
}

async fn of_account(call: &ScimCall, known: &Known) -> Result<User, ScimRefusal> {
    // As it is now: what it says is in the version.
    let account = call.app.views.accounts.peek(&known.account).await?;
    let email = account.machine.known().map(|account| account.email.clone());
    // Of an account that is erased its id is left.
    let user_name = email.as_ref().unwrap_or(&known.account);
    let emails =
        email.iter().map(|email| json!({ "value": email, "type": "work", "primary": true }));
    let body = json!({
        "schemas": [USER.schema.id],
        "userName": user_name,
        "active": true,
        "emails": emails.collect::<Vec<_>>(),
    });
    Ok(User::read(body.as_object().unwrap_or(&Map::new()))?)
}

/// Returns the document of a User. Its version is that of all that is shown: also of what is the account's, where no
/// directory has said anything, and of the names of Groups.
pub async fn document(
    call: &ScimCall,
    home: &organization::Known,
    id: &str,
    member: &Member<'_>,
) -> Result<Map<String, Value>, ScimRefusal> {
    let user = sent(call, member).await?;
    let (created, changed) = member.times();
    let location = format!("{}/Users/{id}", call.base);
    let meta = Meta {
        created: &rfc3339(created),
        last_modified: &rfc3339(changed),
        location: &location,
        version: "",
    };
    let mut document = user.show(id, &meta);
    let groups: Vec<Value> = groups(&call.base, home, member.roles()).collect();
    if !groups.is_empty() {
        document.insert("groups".to_owned(), groups.into());
    }
    let version = version::of(&document);
    if let Some(Value::Object(meta)) = document.get_mut("meta") {
        meta.insert("version".to_owned(), version.into());
    }
    Ok(document)
}

/// Returns the version that a document has.
pub fn version_of(document: &Map<String, Value>) -> &str {
    document.get("meta").and_then(|meta| meta["version"].as_str()).unwrap_or_default()
}

/// The Groups that a User is in, as far as the organization has them.
fn groups(base: &str, home: &organization::Known, roles: &[String]) -> impl Iterator<Item = Value> {
    let held = home.roles.iter().filter(|role| roles.contains(&role.name));
    held.map(move |role| {
        json!({
            "value": role.name,
            "$ref": format!("{base}/Groups/{}", role.name),
            "display": role.display_name(),
            "type": "direct",
        })
    })
}
