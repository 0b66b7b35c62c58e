//! The table of operations.

use super::{
    accounts, activity, audit,
    call::{Answer, Call},
    clients, delegations, export, impersonation, invitations, keys, members, organizations,
    page::{PAGE_PARAMETERS, Page},
    roles, webhooks,
};
use crate::{
    domain::trail::Entry,
    http::{facts::delegation_tree::Branch, routes},
};
use axum::routing::MethodFilter;
use std::{future::Future, pin::Pin};
use utoipa::{
    PartialSchema, ToSchema,
    openapi::{RefOr, Schema},
};

/// A method of HTTP, as far as operations have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Get,
    Post,
    Put,
    Patch,
    Delete,
}

impl Verb {
    pub fn filter(self) -> MethodFilter {
        match self {
            Self::Get => MethodFilter::GET,
            Self::Post => MethodFilter::POST,
            Self::Put => MethodFilter::PUT,
            Self::Patch => MethodFilter::PATCH,
            Self::Delete => MethodFilter::DELETE,
        }
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Patch => "PATCH",
            Self::Delete => "DELETE",
        }
    }
}

type Answering = Pin<Box<dyn Future<Output = Answer> + Send>>;

/// One operation: what it needs, what it takes and gives, and what does it.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
pub struct Operation {
    pub verb: Verb,
    pub path: &'static str,
    /// Its name, in the OpenAPI document and in the security log.
    pub name: &'static str,
    pub summary: &'static str,
    /// The permission that a caller must hold.
    pub needs: &'static str,
    /// What its body is, if it takes one.
    pub takes: Option<Described>,
    pub status: u16,
    /// What it answers, if that has a body.
    pub gives: Option<Described>,
    /// Query parameters and what they are for.
    pub parameters: &'static [(&'static str, &'static str)],
    /// The media type of what it answers.
    pub media: &'static str,
    /// It is a page of a list.
    pub is_list: bool,
    /// It changes what exists, and takes `If-Match`.
    pub at_version: bool,
    /// It makes what is not there yet, and then answers 201.
    pub may_make: bool,
    /// It makes a credential, or acts as another person: not for a token that is held for another party.
    pub in_person: bool,
    /// The person must have proved two factors.
    pub at_aal2: bool,
    /// A holder of `organizations:administer` may call it for another organization.
    pub reaches_across: bool,
    pub handle: fn(Call) -> Answering,
}

/// The media type of bodies, unless an operation says another.
pub const JSON: &str = "application/json";

/// How a type looks in the OpenAPI document.
pub type Described = fn() -> Schemas;

/// A schema, its name, and those it refers to.
pub struct Schemas {
    pub name: String,
    pub schema: RefOr<Schema>,
    pub others: Vec<(String, RefOr<Schema>)>,
}

fn described<T: ToSchema + PartialSchema>() -> Schemas {
    let mut others = Vec::new();
    T::schemas(&mut others);
    Schemas { name: T::name().into_owned(), schema: T::schema(), others }
}

/// A page has the name of what it lists: a schema has one name, whatever it is of.
fn described_page<T: ToSchema + PartialSchema>() -> Schemas {
    let Schemas { schema, mut others, .. } = described::<Page<T>>();
    let Schemas { name, schema: listed, others: more } = described::<T>();
    others.extend(more);
    others.push((name.clone(), listed));
    Schemas { name: format!("PageOf{name}"), schema, others }
}

impl Operation {
    const fn new(
        (verb, path): (Verb, &'static str),
        name: &'static str,
        needs: &'static str,
        summary: &'static str,
        handle: fn(Call) -> Answering,
    ) -> Self {
        Self {
            verb,
            path,
            name,
            summary,
            needs,
            takes: None,
            status: 200,
            gives: None,
            parameters: &[],
            media: JSON,
            is_list: false,
            at_version: false,
            may_make: false,
            reaches_across: false,
            in_person: false,
            at_aal2: false,
            handle,
        }
    }

    const fn takes<T: ToSchema + PartialSchema>(mut self) -> Self {
        self.takes = Some(described::<T>);
        self
    }

    const fn gives<T: ToSchema + PartialSchema>(mut self, status: u16) -> Self {
        self.status = status;
        self.gives = Some(described::<T>);
        self
    }

    const fn gives_nothing(mut self) -> Self {
        self.status = 204;
        self
    }

    /// A page of a list, which may be filtered.
    const fn lists<T: ToSchema + PartialSchema>(
        mut self,
        parameters: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.gives = Some(described_page::<T>);
        self.is_list = true;
        self.parameters = parameters;
        self
    }

    /// The whole of a list, a line an entry.
    const fn exports<T: ToSchema + PartialSchema>(
        mut self,
        parameters: &'static [(&'static str, &'static str)],
    ) -> Self {
        self.gives = Some(described::<T>);
        self.media = export::LINES;
        self.parameters = parameters;
        self
    }

    const fn may_make(mut self) -> Self {
        self.may_make = true;
        self
    }

    const fn reaches_across(mut self) -> Self {
        self.reaches_across = true;
        self
    }

    const fn in_person(mut self) -> Self {
        self.in_person = true;
        self
    }

    const fn at_aal2(mut self) -> Self {
        self.at_aal2 = true;
        self
    }

    const fn at_version(mut self) -> Self {
        self.at_version = true;
        self
    }

    /// Lists the query parameters it takes.
    pub fn query_parameters(&self) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
        let paging: &'static [_] = if self.is_list { &PAGE_PARAMETERS } else { &[] };
        paging.iter().chain(self.parameters)
    }
}

macro_rules! handled {
    ($handler:path) => {
        |call| Box::pin($handler(call))
    };
}

const BY_ROLE: [(&str, &str); 3] = [
    ("email", "Of the account with this address alone."),
    ("role", "Of those who hold this role."),
    ("enabled", "`true` or `false`."),
];

/// Every operation; what is not here is not served.
pub static OPERATIONS: &[Operation] = {
    use Verb::{Delete, Get, Patch, Post, Put};
    &[
        Operation::new(
            (Get, routes::API_ORGANIZATIONS),
            "listOrganizations",
            "organizations:read",
            "The organization that the caller speaks for; all of them for a holder of organizations:administer.",
            handled!(organizations::list),
        )
        .lists::<organizations::Organization>(&[]),
        Operation::new(
            (Post, routes::API_ORGANIZATIONS),
            "createOrganization",
            "organizations:administer",
            "Makes an organization.",
            handled!(organizations::create),
        )
        .takes::<organizations::NewOrganization>()
        .gives::<organizations::Organization>(201),
        Operation::new(
            (Get, routes::API_ORGANIZATION),
            "getOrganization",
            "organizations:read",
            "Shows the organization.",
            handled!(organizations::show),
        )
        .gives::<organizations::Organization>(200),
        Operation::new(
            (Patch, routes::API_ORGANIZATION),
            "changeOrganization",
            "organizations:write",
            "Changes the organization; what is not given stays as it is.",
            handled!(organizations::change),
        )
        .takes::<organizations::OrganizationChange>()
        .gives::<organizations::Organization>(200)
        .at_version()
        .reaches_across(),
        Operation::new(
            (Get, routes::API_ROLES),
            "listRoles",
            "roles:read",
            "Lists the roles and what they confer.",
            handled!(roles::list),
        )
        .lists::<roles::Role>(&[]),
        Operation::new(
            (Get, routes::API_ROLE),
            "getRole",
            "roles:read",
            "Shows a role.",
            handled!(roles::show),
        )
        .gives::<roles::Role>(200),
        Operation::new(
            (Put, routes::API_ROLE),
            "putRole",
            "roles:write",
            "Makes a role, or replaces what it confers. The caller must hold every permission in it.",
            handled!(roles::put),
        )
        .takes::<roles::RolePermissions>()
        .gives::<roles::Role>(200)
        .at_version()
        .may_make(),
        Operation::new(
            (Delete, routes::API_ROLE),
            "deleteRole",
            "roles:write",
            "Removes a role; members who held it lose what it conferred at once.",
            handled!(roles::delete),
        )
        .gives_nothing()
        .at_version(),
        Operation::new(
            (Get, routes::API_MEMBERS),
            "listMembers",
            "memberships:read",
            "Lists the memberships, ended ones among them.",
            handled!(members::list),
        )
        .lists::<members::Member>(&BY_ROLE),
        Operation::new(
            (Get, routes::API_MEMBER),
            "getMember",
            "memberships:read",
            "Shows a membership.",
            handled!(members::show),
        )
        .gives::<members::Member>(200),
        Operation::new(
            (Patch, routes::API_MEMBER),
            "changeMember",
            "memberships:write",
            "Changes the roles of a member, ends the membership or begins it again. The caller must hold everything that added roles confer.",
            handled!(members::change),
        )
        .takes::<members::MemberChange>()
        .gives::<members::Member>(200)
        .at_version(),
        Operation::new(
            (Post, routes::API_IMPERSONATION),
            "impersonateMember",
            "accounts:write",
            "Issues a token to act as a member, where the organization allows it. The caller must hold everything that the member holds; the token names the caller in `act`.",
            handled!(impersonation::begin),
        )
        .takes::<impersonation::Wanted>()
        .gives::<impersonation::Impersonation>(201)
        .in_person()
        .at_aal2(),
        Operation::new(
            (Get, routes::API_INVITATIONS),
            "listInvitations",
            "memberships:read",
            "Lists the invitations that can still be accepted.",
            handled!(invitations::list),
        )
        .lists::<invitations::Invitation>(&[]),
        Operation::new(
            (Post, routes::API_INVITATIONS),
            "createInvitation",
            "memberships:write",
            "Invites the holder of an address by mail. The caller must hold everything that the roles confer.",
            handled!(invitations::create),
        )
        .takes::<invitations::NewInvitation>()
        .gives::<invitations::Invitation>(201),
        Operation::new(
            (Delete, routes::API_INVITATION),
            "withdrawInvitation",
            "memberships:write",
            "Withdraws an invitation.",
            handled!(invitations::withdraw),
        )
        .gives_nothing(),
        Operation::new(
            (Get, routes::API_CLIENTS),
            "listClients",
            "clients:read",
            "Lists the clients of the organization.",
            handled!(clients::list),
        )
        .lists::<clients::Client>(&[]),
        Operation::new(
            (Post, routes::API_CLIENTS),
            "createClient",
            "clients:write",
            "Makes a client of the organization, which serves its members only. A secret is shown in this answer alone.",
            handled!(clients::create),
        )
        .takes::<clients::NewClient>()
        .gives::<clients::Client>(201)
        .in_person(),
        Operation::new(
            (Get, routes::API_CLIENT),
            "getClient",
            "clients:read",
            "Shows a client.",
            handled!(clients::show),
        )
        .gives::<clients::Client>(200),
        Operation::new(
            (Patch, routes::API_CLIENT),
            "changeClient",
            "clients:write",
            "Changes a client; what is not given stays as it is. The caller must hold everything that added roles confer.",
            handled!(clients::change),
        )
        .takes::<clients::ClientChange>()
        .gives::<clients::Client>(200)
        .at_version(),
        Operation::new(
            (Delete, routes::API_CLIENT),
            "deleteClient",
            "clients:write",
            "Deletes a client; what was issued to it is good no more.",
            handled!(clients::delete),
        )
        .gives_nothing()
        .at_version(),
        Operation::new(
            (Post, routes::API_CLIENT_SECRET),
            "rotateClientSecret",
            "clients:write",
            "Gives a client another secret, shown in this answer alone; the former is good no more.",
            handled!(clients::rotate),
        )
        .gives::<clients::Client>(200)
        .in_person()
        .at_version(),
        Operation::new(
            (Get, routes::API_DELEGATIONS),
            "listDelegations",
            "clients:read",
            "Lists what a client holds for others in the organization now, and what stands above it.",
            handled!(delegations::list),
        )
        .lists::<delegations::Delegation>(&[]),
        Operation::new(
            (Delete, routes::API_DELEGATION),
            "endDelegation",
            "clients:write",
            "Ends what a client holds for another, and everything below it.",
            handled!(delegations::end),
        )
        .gives_nothing(),
        Operation::new(
            (Get, routes::API_DELEGATION_TREE),
            "listDelegationTrees",
            "clients:read",
            "Shows what a client holds for others in the organization now as trees: what it came from, and what others hold through it. A page is of what the client holds.",
            handled!(delegations::trees),
        )
        .lists::<Branch>(&[]),
        Operation::new(
            (Get, routes::API_CLIENT_ACTIVITY),
            "listClientActivity",
            "audit:read",
            "Lists what the trail says of a client and of what it did for others, the newest first. A page may be short, or empty, and still be followed by another.",
            handled!(activity::list),
        )
        .lists::<Entry>(&audit::FILTERS),
        Operation::new(
            (Get, routes::API_KEYS),
            "listApiKeys",
            "apikeys:read",
            "Lists the API keys, revoked ones for thirty days more.",
            handled!(keys::list),
        )
        .lists::<keys::ApiKey>(&[]),
        Operation::new(
            (Post, routes::API_KEYS),
            "createApiKey",
            "apikeys:write",
            "Makes an API key, shown in this answer alone. The caller must hold every permission in it, and stands behind it.",
            handled!(keys::create),
        )
        .takes::<keys::NewApiKey>()
        .gives::<keys::ApiKey>(201)
        .in_person(),
        Operation::new(
            (Get, routes::API_KEY),
            "getApiKey",
            "apikeys:read",
            "Shows an API key.",
            handled!(keys::show),
        )
        .gives::<keys::ApiKey>(200),
        Operation::new(
            (Delete, routes::API_KEY),
            "revokeApiKey",
            "apikeys:write",
            "Revokes an API key.",
            handled!(keys::revoke),
        )
        .gives_nothing(),
        Operation::new(
            (Post, routes::API_KEY_ROTATE),
            "rotateApiKey",
            "apikeys:write",
            "Gives an API key another secret, shown in this answer alone; the former may be good for some time yet.",
            handled!(keys::rotate),
        )
        .takes::<keys::Rotation>()
        .in_person()
        .gives::<keys::ApiKey>(200),
        Operation::new(
            (Get, routes::API_ACCOUNTS),
            "listAccounts",
            "accounts:read",
            "Lists the accounts of members.",
            handled!(accounts::list),
        )
        .lists::<accounts::Account>(&[("email", "The account with this address alone.")]),
        Operation::new(
            (Get, routes::API_ACCOUNT),
            "getAccount",
            "accounts:read",
            "Shows the account of a member.",
            handled!(accounts::show),
        )
        .gives::<accounts::Account>(200),
        Operation::new(
            (Get, routes::API_AUDIT),
            "listAuditTrail",
            "audit:read",
            "Lists what happened in the organization, the newest first.",
            handled!(audit::list),
        )
        .lists::<Entry>(&audit::FILTERS),
        Operation::new(
            (Get, routes::API_AUDIT_EXPORT),
            "exportAuditTrail",
            "audit:read",
            "Exports what happened in the organization as lines of JSON, the newest first.",
            handled!(export::get),
        )
        .exports::<Entry>(&audit::FILTERS),
        Operation::new(
            (Get, routes::API_WEBHOOKS),
            "listWebhooks",
            "audit:read",
            "Lists the endpoints that the trail is sent to.",
            handled!(webhooks::list),
        )
        .lists::<webhooks::Webhook>(&[]),
        Operation::new(
            (Post, routes::API_WEBHOOKS),
            "createWebhook",
            "audit:write",
            "Makes an endpoint, which is sent the trail from now on. Its secret is shown in this answer alone. The caller needs audit:read as well.",
            handled!(webhooks::create),
        )
        .takes::<webhooks::NewWebhook>()
        .gives::<webhooks::Webhook>(201),
        Operation::new(
            (Get, routes::API_WEBHOOK),
            "getWebhook",
            "audit:read",
            "Shows an endpoint.",
            handled!(webhooks::show),
        )
        .gives::<webhooks::Webhook>(200),
        Operation::new(
            (Patch, routes::API_WEBHOOK),
            "changeWebhook",
            "audit:write",
            "Changes an endpoint, disables it or enables it again; what is not given stays as it is. The caller needs audit:read as well.",
            handled!(webhooks::change),
        )
        .takes::<webhooks::WebhookChange>()
        .gives::<webhooks::Webhook>(200)
        .at_version(),
        Operation::new(
            (Delete, routes::API_WEBHOOK),
            "deleteWebhook",
            "audit:write",
            "Deletes an endpoint; what waits for it is not sent.",
            handled!(webhooks::delete),
        )
        .gives_nothing()
        .at_version(),
        Operation::new(
            (Post, routes::API_WEBHOOK_ROTATE),
            "rotateWebhookSecret",
            "audit:write",
            "Gives an endpoint another secret, shown in this answer alone; the former may sign as well for some time yet. The caller needs audit:read as well.",
            handled!(webhooks::rotate),
        )
        .takes::<webhooks::SecretRotation>()
        .gives::<webhooks::Webhook>(200),
        Operation::new(
            (Post, routes::API_WEBHOOK_TEST),
            "testWebhook",
            "audit:write",
            "Sends an endpoint a message of the type webhook.test. The caller needs audit:read as well.",
            handled!(webhooks::test),
        )
        .gives_nothing(),
    ]
};
