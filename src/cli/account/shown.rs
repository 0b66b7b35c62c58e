//! `porteiro account list` and `show`.

use crate::cli::{
    Failure,
    output::{ListPrinter, show},
    settings::{CommandSettings, open_workbench},
};
use crate::{
    actors::hydrate,
    domain::{
        account::{ACCOUNTS, Account, AccountStatus, EMAIL_ADDRESSES, Known, normalise_email},
        membership::{MEMBERSHIPS, Membership},
    },
    http::time::rfc3339,
    provisioning::Entries,
    system::Workbench,
};
use serde_json::{Value, json};

pub(super) async fn list(json: bool, given: CommandSettings) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let listed = list_all(&workbench, json).await;
    workbench.close().await;
    listed
}

async fn list_all(workbench: &Workbench, json: bool) -> Result<(), Failure> {
    let mut printed = ListPrinter::new(json);
    let mut entries = Entries::<Account>::of(workbench, ACCOUNTS, "");
    while let Some((_, account)) = entries.next().await? {
        let Some(known) = account.known() else { continue };
        let verified = if known.email_verified { "verified" } else { "unverified" };
        let cells = || {
            // Most are active: what is not stands out.
            let state = match known.standing() {
                AccountStatus::Active => verified,
                _ => state(known),
            };
            [known.id.clone(), state.to_owned(), known.email.clone(), known.profile.full_name()]
        };
        printed.entry(|| summary(known), cells)?;
    }
    printed.end("There is no account.")?;
    Ok(())
}

pub(super) async fn show_one(
    email: &str,
    json: bool,
    given: CommandSettings,
) -> Result<(), Failure> {
    let loaded = given.load(&["store.url", "keys.dir"])?;
    let workbench = open_workbench(&loaded).await?;
    let described = describe(&workbench, email).await;
    workbench.close().await;
    show(json, &described?)?;
    Ok(())
}

async fn describe(workbench: &Workbench, email: &str) -> Result<Value, Failure> {
    let missing = || Failure::Failed("there is no account with this address or id".into());
    let id = match normalise_email(email) {
        Some(address) => {
            let found = workbench.store().find(EMAIL_ADDRESSES, &address).await?;
            found.ok_or_else(missing)?.1
        }
        // No address is an id, and nothing but its id is left of an account that was erased.
        None => email.to_owned(),
    };
    let account = hydrate::<Account>(workbench.store(), &id).await?.machine;
    if let Account::Deleted { id, at } = &account {
        return Ok(json!({ "id": id, "state": "deleted", "deleted_at": rfc3339(*at) }));
    }
    let known = account.known().ok_or_else(missing)?;
    let mut described = summary(known);
    for (name, value) in known.profile.claims() {
        described[name] = value.clone();
    }
    let credentials = &known.credentials;
    described["password"] = credentials.password().is_some().into();
    described["totp"] = credentials.totp().is_some().into();
    described["passkeys"] = credentials.passkeys().count().into();
    described["recovery_codes"] = credentials.has_recovery_codes().into();
    let mut memberships = Vec::new();
    let mut entries = Entries::<Membership>::of(workbench, MEMBERSHIPS, &id);
    while let Some((_, membership)) = entries.next().await? {
        memberships.extend(membership.known().map(|held| {
            json!({
                "id": held.id,
                "organization": held.organization,
                "roles": held.roles,
                "enabled": held.enabled,
            })
        }));
    }
    described["memberships"] = memberships.into();
    Ok(described)
}

/// What is told of each in a list.
fn summary(known: &Known) -> Value {
    let mut told = json!({
        "id": known.id,
        "state": state(known),
        "email": known.email,
        "email_verified": known.email_verified,
        "name": known.profile.full_name(),
        "created_at": rfc3339(known.created_at),
        "updated_at": rfc3339(known.updated_at),
    });
    if let AccountStatus::Deleting { until } = known.standing() {
        told["deleted_after"] = rfc3339(until).into();
    }
    told
}

/// Whether it can be used.
fn state(known: &Known) -> &'static str {
    match known.standing() {
        AccountStatus::Active => "active",
        AccountStatus::Suspended => "suspended",
        AccountStatus::Deleting { .. } => "deleting",
    }
}
