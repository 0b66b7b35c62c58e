//! What becomes of a User: a member with an account, or one who is asked to become one (adr/0133).

use super::{
    call::{ScimCall, ScimChange},
    invite::{self, InvitationCharge, Invitee},
    user_view::{self, Member},
};
use crate::{
    actors::DomainHolder,
    crypto::draw_uuid,
    domain::{
        Timestamp,
        account::{self, Account, EMAIL_ADDRESSES, normalise_email},
        membership::{
            Command, DirectoryEntry, Draft, Invitations, Known, MEMBERSHIP_PAIRS, Membership,
            Pending, Proposal, Refusal, Word, pair,
        },
        scim::{error::ScimError, resource::User},
    },
    http::{answer::scim::ScimRefusal, api::SUSPENDED},
};

/// What the address of a new User leads to.
enum Person {
    /// No account has the address, and the organization has proved its domain.
    AtProvedDomain { address: String, by: DomainHolder },
    /// The person is asked; without an address no person can be.
    Invitee { address: Option<String> },
}

/// Makes a User, and returns its id.
pub async fn create(call: &ScimCall, user: User) -> Result<String, ScimRefusal> {
    let mut change = call.begin().await?;
    check_user_name(call, user.user_name(), None).await?;
    let id = draw_uuid(&*call.app.dice);
    let mut entry = DirectoryEntry {
        active: user.is_active(),
        changed_at: change.commit.at(),
        came_with: None,
        invitations: Invitations::default(),
        user,
    };
    let mut charged = None;
    match person(call, &entry.user).await? {
        Person::AtProvedDomain { address, by } => {
            by.requirements().into_iter().for_each(|fact| change.commit.require(fact));
            entry.came_with = entry.user.external_id().map(str::to_owned);
            let account = draw_uuid(&*call.app.dice);
            make_account(&mut change, &account, address).await?;
            let draft = Draft {
                id: id.clone(),
                account,
                organization: call.slug().to_owned(),
                roles: None,
                enabled: Some(entry.active),
                mapped: None,
                entry: Some(Box::new(entry)),
                word: Word::Directory,
            };
            provision(&mut change, &id, draft).await?;
        }
        Person::Invitee { address } => {
            if let Some(address) = address.as_deref().filter(|_| entry.active) {
                let invitee = Invitee { membership: &id, address };
                charged = invite(call, &mut change, &invitee).await?;
                entry.invitations = first_of(charged.as_ref(), change.commit.at());
            }
            let organization = call.slug().to_owned();
            let proposal =
                Proposal { id: id.clone(), organization, roles: Some(Vec::new()), address, entry };
            propose(&mut change, &id, proposal).await?;
        }
    }
    change.finish().await?;
    charged.into_iter().for_each(InvitationCharge::keep);
    Ok(id)
}

/// Invites a person in the same commit, where mail is sent and the allowance permits; else it is done later. Who is
/// invited by an administrator is invited.
async fn invite(
    call: &ScimCall,
    change: &mut ScimChange,
    invitee: &Invitee<'_>,
) -> Result<Option<InvitationCharge>, ScimRefusal> {
    if invite::stands(&call.app, &change.home, invitee.address).await? {
        return Ok(Some(InvitationCharge::default()));
    }
    let (context, slug) = (&call.caller.context, call.slug());
    let Some(charged) = invite::charge(&call.app, context, slug, invitee.address).await else {
        return Ok(None);
    };
    withdraw(call, change, invitee.address).await?;
    let made = invite::make(&call.app, &mut change.commit, &change.home, invitee).await?;
    Ok(made.then_some(charged))
}

/// Returns what is noted of an invitation that was just made, if it was.
fn first_of(charged: Option<&InvitationCharge>, at: Timestamp) -> Invitations {
    charged.map(|_| Invitations::default().and_one(at)).unwrap_or_default()
}

async fn withdraw(
    call: &ScimCall,
    change: &mut ScimChange,
    address: &str,
) -> Result<(), ScimRefusal> {
    Ok(invite::withdraw(&call.app, &mut change.commit, (call.slug(), address)).await?)
}

/// Finds out what the address of a new User leads to.
async fn person(call: &ScimCall, user: &User) -> Result<Person, ScimRefusal> {
    let address = user.address().and_then(|address| Some((address, normalise_email(address)?)));
    let Some((address, normal)) = address else { return Ok(Person::Invitee { address: None }) };
    let address = address.to_owned();
    let found = call.app.store.find(EMAIL_ADDRESSES, &normal).await?;
    let Some((_, account)) = found else {
        let vouching = call.app.domain_holders().of_address(&normal).await?;
        return Ok(match vouching.filter(|one| one.organization == call.slug()) {
            Some(by) => Person::AtProvedDomain { address, by },
            None => Person::Invitee { address: Some(address) },
        });
    };
    let held = call.app.store.find(MEMBERSHIP_PAIRS, &pair(&account, call.slug())).await?;
    if held.is_some() {
        let detail = "the person with this address is a User already";
        return Err(ScimError::uniqueness(detail).into());
    }
    Ok(Person::Invitee { address: Some(address) })
}

/// Makes an account with an address that the organization vouches for, and nothing else: SCIM writes no more of it.
async fn make_account(change: &mut ScimChange, id: &str, email: String) -> Result<(), ScimRefusal> {
    let draft = account::Draft {
        id: id.to_owned(),
        email,
        email_verified: Some(true),
        ..account::Draft::default()
    };
    let command = account::Command::Provision(draft);
    let made = change.commit.decide::<Account>(id, &command).await?;
    made.map(drop).map_err(|_| ScimError::invalid_value("the address cannot be taken").into())
}

/// Refuses where the User is at another version than the caller has seen, if they say which. The commit requires what the
/// version is of to be as it was read.
async fn expect(
    call: &ScimCall,
    change: &mut ScimChange,
    id: &str,
    member: &Member<'_>,
) -> Result<(), ScimRefusal> {
    if !call.expects_version() {
        return Ok(());
    }
    if let Member::Known(Known { account, entry: None, .. }) = member {
        change.commit.look::<Account>(account).await?;
    }
    let document = user_view::document(call, &change.home, id, member).await?;
    call.expect(user_view::version_of(&document))
}

/// Changes a User by what `edit` makes of what the directory sent before.
pub async fn update(
    call: &ScimCall,
    id: &str,
    edit: impl AsyncFnOnce(User) -> Result<User, ScimRefusal>,
) -> Result<(), ScimRefusal> {
    let mut change = call.begin().await?;
    let machine = change.commit.look::<Membership>(id).await?.clone();
    let member = Member::of(&machine, call.slug()).ok_or_else(missing)?;
    expect(call, &mut change, id, &member).await?;
    let former = user_view::sent(call, &member).await?;
    let user = edit(former.clone()).await?;
    if user == former {
        // Nothing is written, and the version stays.
        return Ok(());
    }
    if user.user_name() != former.user_name() {
        check_user_name(call, user.user_name(), Some(id)).await?;
    }
    let charged = match member {
        Member::Known(known) => change_member(call, &mut change, known, user).await?,
        Member::Pending(pending) => change_pending(call, &mut change, pending, user).await?,
    };
    change.finish().await?;
    charged.into_iter().for_each(InvitationCharge::keep);
    Ok(())
}

async fn change_member(
    call: &ScimCall,
    change: &mut ScimChange,
    known: &Known,
    user: User,
) -> Result<Option<InvitationCharge>, ScimRefusal> {
    let held = known.entry.as_deref();
    let active = user.is_active();
    let is_wanted_again = known.left && active && !known.is_active();
    let mut entry = DirectoryEntry {
        active,
        changed_at: change.commit.at(),
        came_with: held.and_then(|held| held.came_with.clone()),
        invitations: held
            .filter(|_| !is_wanted_again)
            .map(|held| held.invitations)
            .unwrap_or_default(),
        user,
    };
    let mut charged = None;
    let account = call.app.views.accounts.peek(&known.account).await?;
    let address = account.machine.known().map(|account| account.email.clone());
    if let Some(address) = address {
        if is_wanted_again {
            let invitee = Invitee { membership: &known.id, address: &address };
            charged = invite(call, change, &invitee).await?;
            entry.invitations = first_of(charged.as_ref(), change.commit.at());
        } else if known.is_active() && !active {
            // What was sent before would bring them back.
            withdraw(call, change, &address).await?;
        }
    }
    // Who comes back holds what the organization still has.
    let comes_back = !known.enabled && active;
    let roles = known.roles_at(&change.home).into_iter().map(str::to_owned).collect();
    let draft = Draft {
        id: known.id.clone(),
        account: known.account.clone(),
        organization: known.organization.clone(),
        roles: comes_back.then_some(roles),
        enabled: Some(active),
        mapped: None,
        entry: Some(Box::new(entry)),
        word: Word::Directory,
    };
    provision(change, &known.id, draft).await?;
    Ok(charged)
}

async fn change_pending(
    call: &ScimCall,
    change: &mut ScimChange,
    pending: &Pending,
    user: User,
) -> Result<Option<InvitationCharge>, ScimRefusal> {
    let address = user.address().filter(|address| normalise_email(address).is_some());
    let address = address.map(str::to_owned);
    let normal = |address: &Option<String>| address.as_deref().and_then(normalise_email);
    let has_moved = normal(&address) != normal(&pending.address);
    let active = user.is_active();
    let mut entry = DirectoryEntry {
        active,
        changed_at: change.commit.at(),
        came_with: None,
        invitations: if has_moved || !active {
            Invitations::default()
        } else {
            pending.entry.invitations
        },
        user,
    };
    if let Some(former) = pending.address.as_deref().filter(|_| has_moved || !active) {
        withdraw(call, change, former).await?;
    }
    let mut charged = None;
    if let Some(address) = address.as_deref().filter(|_| active && entry.invitations.is_none()) {
        let invitee = Invitee { membership: &pending.id, address };
        charged = invite(call, change, &invitee).await?;
        entry.invitations = first_of(charged.as_ref(), change.commit.at());
    }
    let organization = pending.organization.clone();
    let proposal = Proposal { id: pending.id.clone(), organization, roles: None, address, entry };
    propose(change, &pending.id, proposal).await?;
    Ok(charged)
}

/// Deletes a User: the membership ends and does not come back; the account stays.
pub async fn remove(call: &ScimCall, id: &str) -> Result<(), ScimRefusal> {
    let mut change = call.begin().await?;
    let machine = change.commit.look::<Membership>(id).await?.clone();
    let member = Member::of(&machine, call.slug()).ok_or_else(missing)?;
    expect(call, &mut change, id, &member).await?;
    let address = match member {
        Member::Pending(pending) => pending.address.clone(),
        Member::Known(known) => {
            let account = call.app.views.accounts.peek(&known.account).await?;
            account.machine.known().map(|account| account.email.clone())
        }
    };
    if let Some(address) = address {
        withdraw(call, &mut change, &address).await?;
    }
    let remove = Command::Remove { home: Some(change.home.clone()) };
    let decided = change.decide(id, &remove).await?;
    decided.map_err(|why| refused(&why))?;
    change.finish().await
}

/// Refuses a `userName` that another member has by the address of their account, whom no directory looks after. Those
/// that a directory has named hold theirs as names.
async fn check_user_name(
    call: &ScimCall,
    user_name: &str,
    own: Option<&str>,
) -> Result<(), ScimRefusal> {
    let Some(normal) = normalise_email(user_name) else { return Ok(()) };
    let Some((_, account)) = call.app.store.find(EMAIL_ADDRESSES, &normal).await? else {
        return Ok(());
    };
    let held = call.app.store.find(MEMBERSHIP_PAIRS, &pair(&account, call.slug())).await?;
    let Some((_, id)) = held.filter(|(_, id)| Some(id.as_str()) != own) else { return Ok(()) };
    let seen = call.app.views.memberships.peek(&id).await?;
    match seen.machine.known() {
        Some(Known { entry: None, .. }) => {
            Err(ScimError::uniqueness("another User has this userName").into())
        }
        _ => Ok(()),
    }
}

/// Gives a membership what a draft says.
pub async fn provision(change: &mut ScimChange, id: &str, draft: Draft) -> Result<(), ScimRefusal> {
    let home = Some(change.home.clone());
    let command = Command::Provision { draft, home };
    let decided = change.decide(id, &command).await?;
    decided.map(drop).map_err(|why| refused(&why))
}

/// Keeps a User for a person who has not accepted yet.
pub async fn propose(
    change: &mut ScimChange,
    id: &str,
    proposal: Proposal,
) -> Result<(), ScimRefusal> {
    let (proposal, home) = (Box::new(proposal), Some(change.home.clone()));
    let command = Command::Propose { proposal, home };
    let decided = change.decide(id, &command).await?;
    decided.map(drop).map_err(|why| refused(&why))
}

pub fn missing() -> ScimRefusal {
    ScimError::not_found("there is no such User").into()
}

fn refused(refusal: &Refusal) -> ScimRefusal {
    match refusal {
        Refusal::Suspended(_) | Refusal::NoSuchOrganization(_) => SUSPENDED.into(),
        Refusal::NoSuchRole { .. } => ScimError::invalid_value("there is no such Group").into(),
        Refusal::OtherPair | Refusal::Left | Refusal::OtherState => missing(),
    }
}

/// Says which name another User holds.
pub fn taken(space: &str) -> ScimRefusal {
    use crate::domain::membership::{PENDING_ADDRESSES, SCIM_EXTERNAL_IDS, SCIM_USER_NAMES};
    let detail = match space {
        SCIM_USER_NAMES => "another User has this userName",
        SCIM_EXTERNAL_IDS => "another User has this externalId",
        PENDING_ADDRESSES => "another User has this address",
        // An account, a membership or an invitation was made meanwhile.
        _ => return ScimRefusal::conflict(),
    };
    ScimError::uniqueness(detail).into()
}
