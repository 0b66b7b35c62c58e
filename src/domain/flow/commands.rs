//! What a flow commands other entities to do in its own commit (adr/0124), and what their refusals mean.

use super::{Flow, Refusal, Reply};
use crate::domain::{
    Decision, Fingerprint, Requirement, SubCommand,
    account::{self, Account},
    account_alerts::{self, AccountAlerts, Report, SignIn},
    consent::{self, Consent, Parties},
    external_identity::{self, Cause, ExternalIdentity},
    grant::Grant,
    invitation::{self, Invitation},
    membership::{self, Membership},
    organization,
    person::Person,
    session::{self, Session},
};
use std::iter;

/// A membership that an accepted invitation gives, as far as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Joining {
    /// The address of the account; `None` where the flow makes it.
    pub email: Option<String>,
    pub organization: organization::Known,
    /// The id of the membership, which may be there already.
    pub membership: String,
    /// Those that the member holds already, and those of the invitation.
    pub roles: Vec<String>,
    /// What was read and must still be so.
    pub requirements: Vec<Requirement>,
}

/// Changes an account, and tells its person where the command says so.
pub(super) fn change(
    account: &str,
    command: account::Command,
) -> impl Iterator<Item = SubCommand<Flow>> {
    ask_account(account, command, |refusal| match refusal {
        account::Refusal::PasskeyRefused => Refusal::PasskeyRefused,
        _ => Refusal::AccountRefused,
    })
}

/// Commands an account, and its alerts where the command comes with a mail.
fn ask_account(
    account: &str,
    command: account::Command,
    refused: fn(account::Refusal) -> Refusal,
) -> impl Iterator<Item = SubCommand<Flow>> {
    let (command, mail) = command.parted();
    let asked = SubCommand::insisting::<Account>(account, command, refused);
    iter::once(asked).chain(mail.map(|mail| account_alerts::tell(account, &mail)))
}

/// Spends the link of an alert.
pub(super) fn decide_report(report: &Report, allow: bool) -> SubCommand<Flow> {
    let (account, report) = (report.account.clone(), report.clone());
    let decide = account_alerts::Command::DecideReport { account: account.clone(), report, allow };
    SubCommand::insisting::<AccountAlerts>(account, decide, |_| Refusal::ReportOver)
}

/// Ends every session and grant of the account that an alert was about.
pub(super) fn end_everything(report: &Report) -> SubCommand<Flow> {
    let end = account::Command::SignOutEverywhere;
    SubCommand::insisting::<Account>(&*report.account, end, |_| Refusal::ReportOver)
}

/// Alerts the person of a sign-in, if there is a reason to.
pub(super) fn watch(sign_in: &SignIn) -> SubCommand<Flow> {
    let watch = account_alerts::Command::SignIn(Box::new(sign_in.clone()));
    // What cannot be told of keeps no person out.
    SubCommand::to::<AccountAlerts>(&*sign_in.account, watch, |_, _| Ok(()))
}

/// Has each device of an account that is recovered be a new one.
pub(super) fn forget_devices(account: &str) -> SubCommand<Flow> {
    let forget = account_alerts::Command::ForgetDevices;
    SubCommand::to::<AccountAlerts>(account, forget, |_, _| Ok(()))
}

/// Unlinks an identity of another provider from an account that is recovered.
pub(super) fn unlink(identity: &str) -> SubCommand<Flow> {
    let unlink = external_identity::Command::Unlink { cause: Cause::Recovery };
    SubCommand::insisting::<ExternalIdentity>(identity, unlink, |_| Refusal::AccountRefused)
}

/// Writes down that a passkey was used, or that a code is spent, and tells the person where the command says so.
pub(super) fn spend(
    account: &str,
    command: account::Command,
) -> impl Iterator<Item = SubCommand<Flow>> {
    ask_account(account, command, |_| Refusal::Spent)
}

fn session(id: &str, command: session::Command) -> SubCommand<Flow> {
    SubCommand::insisting::<Session>(id, command, |_| Refusal::SessionOver)
}

/// Has a session go on under a new token.
pub(super) fn renew(id: &str, person: &Person, token: Fingerprint) -> SubCommand<Flow> {
    session(id, session::Command::Renew { person: person.clone(), token, former: None })
}

pub(super) fn end_session(id: &str) -> SubCommand<Flow> {
    session(id, session::Command::End)
}

/// Has a session tell the client when it ends.
pub(super) fn sign_into(id: &str, client_id: String) -> SubCommand<Flow> {
    session(id, session::Command::SignInto { session: id.to_owned(), client_id })
}

/// Accepts an invitation, and makes the account a member.
pub(super) fn join(
    decision: Decision<Flow>,
    invitation: &str,
    account: &str,
    (email, joining): (String, &Joining),
) -> Decision<Flow> {
    let Joining { organization, membership, roles, requirements, .. } = joining;
    let accept = invitation::Command::Accept { account: account.to_owned(), email };
    let draft = membership::Draft {
        id: membership.clone(),
        account: account.to_owned(),
        organization: organization.slug.clone(),
        roles: Some(roles.clone()),
        enabled: Some(true),
        mapped: None,
        entry: None,
        word: membership::Word::Person,
    };
    let provision = membership::Command::Provision { draft, home: Some(organization.clone()) };
    let refused = |refusal| match refusal {
        membership::Refusal::Suspended(_) => Refusal::Suspended,
        _ => Refusal::InvitationOver,
    };
    let decision = decision
        .commanding(SubCommand::insisting::<Invitation>(invitation, accept, |_| {
            Refusal::InvitationOver
        }))
        .commanding(SubCommand::insisting::<Membership>(&**membership, provision, refused));
    requirements.iter().cloned().fold(decision, Decision::requiring)
}

/// Remembers what the person has consented to. `redirects` is how often the redirect URIs of the client have changed.
pub(super) fn consent(grant: &Grant, redirects: u64) -> Option<SubCommand<Flow>> {
    let parties = Parties {
        account: grant.account.clone()?,
        client_id: grant.client_id.clone(),
        organization: grant.organization().map(str::to_owned),
    };
    let given = consent::ConsentTerms {
        scopes: grant.scopes.clone(),
        audience: grant.audience.clone(),
        claims: grant.claims.beyond(&grant.scopes),
    };
    let id = parties.id();
    let give = consent::Command::Give { parties, given, redirects };
    let fold = {
        let id = id.clone();
        move |outcome: Result<(), consent::Refusal>, reply: &mut Reply| {
            reply.consent = Some(id);
            outcome.map_err(|never| match never {})
        }
    };
    Some(SubCommand::to::<Consent>(id, give, fold))
}
