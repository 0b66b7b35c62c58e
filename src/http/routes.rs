//! The one table of endpoints of the public listener. What is listed is what is served, and a path is said once.
//!
//! A row is a name, a path, and what its section says of it:
//!
//! | section | a row says | read by |
//! |---|---|---|
//! | `standards`, `pages`, `change_password`, `security_txt`, `playground`, `mailbox` | who may call it, how its refusals are worded, what it takes of its caller, its methods and handlers | `router` |
//! | `flows`, `me` | each operation: method, handler, name, status, body and summary | `router`, `me`, the OpenAPI document |
//! | `api` | nothing: the operations of a path are rows of `api::OPERATIONS` | `router`, the OpenAPI document |
//! | `scim` | nothing: the operations of a path are rows of `scim::OPERATIONS` | `router` |
//! | `screens` | the kind of flow that begins where it is opened without one | `router`, `screens` |
//!
//! Metrics, and `docs/endpoints.md`, are read from what the router makes of it. The table is a macro that hands its
//! rows to another one, so that this file knows no handler: `endpoints!(constants)` makes the constants below.

macro_rules! endpoints {
    ($read:ident) => { $read! {
        standards {
            /// Metadata of the issuer (OIDC Discovery §4).
            OPENID_CONFIGURATION "/.well-known/openid-configuration" (AnySite Problem Open, GET metadata::get)
            /// The same (RFC 8414 §3).
            AUTHORIZATION_SERVER "/.well-known/oauth-authorization-server" (AnySite Problem Open, GET metadata::get)
            /// The issuer as a resource (RFC 9728 §3).
            PROTECTED_RESOURCE "/.well-known/oauth-protected-resource" (AnySite Problem Open, GET protected_resource::of_issuer)
            /// The management API as a resource.
            PROTECTED_API "/.well-known/oauth-protected-resource/api" (AnySite Problem Open, GET protected_resource::of_api)
            /// SCIM of an organization as a resource.
            PROTECTED_SCIM "/.well-known/oauth-protected-resource/scim/v2/{organization}" (AnySite Problem Open, GET protected_resource::of_scim)
            /// An API that tokens are for, as a resource.
            PROTECTED_OTHER "/.well-known/oauth-protected-resource/resources/{*address}" (AnySite Problem Open, GET protected_resource::of_resource)
            /// Origins that share the passkeys (WebAuthn §5.11).
            RELATED_ORIGINS "/.well-known/webauthn" (AnySite Problem Open, GET related_origins::get)
            /// The public keys (RFC 7517 §5).
            JWKS "/connect/jwks" (AnySite OAuth Open, GET jwks::get)
            /// Authorization requests (OAuth 2.1 §4.1.1).
            AUTHORIZE "/connect/authorize" (NoPage OAuth Open, by authorize::methods, GET, HEAD, POST)
            /// Pushed authorization requests (RFC 9126).
            PAR "/connect/par" (NoPage OAuth Client, POST par::post)
            /// Device authorization (RFC 8628 §3.1).
            DEVICE "/connect/device" (AnySite OAuth Client, POST device::post)
            /// Backchannel authentication (CIBA Core §7).
            CIBA "/connect/ciba" (NoPage OAuth Client, POST ciba::post)
            /// The page that posts an authorization response to a client.
            FORM_POST "/connect/form_post" (NoPage OAuth Open, GET form_post::get)
            /// Tokens for grants (OAuth 2.1 §3.2).
            TOKEN "/connect/token" (AnySite OAuth Client, POST token::post)
            /// What a token is worth (RFC 7662).
            INTROSPECT "/connect/introspect" (NoPage OAuth Client, POST introspect::post)
            /// The end of a token (RFC 7009).
            REVOKE "/connect/revoke" (AnySite OAuth Client, POST revoke::post)
            /// Claims of the person (OIDC Core §5.3).
            USERINFO "/connect/userinfo" (AnySite OAuth Token, GET userinfo::get, POST userinfo::post)
            /// The end of a session (OIDC RP-Initiated Logout §2).
            LOGOUT "/connect/logout" (NoPage OAuth Open, by logout::methods, GET, HEAD, POST)
            /// Clients register themselves (RFC 7591).
            REGISTER "/connect/register" (AnySite OAuth Registration, POST register::post)
            /// A registered client looks after itself (RFC 7592).
            REGISTERED "/connect/register/{client_id}" (
                AnySite OAuth Registration, GET register::read, PUT register::replace, DELETE register::delete
            )
            /// Another provider sends the browser back (OIDC Core §3.1.2.5).
            SSO_CALLBACK "/connect/sso/{connection}/callback" (NoPage Problem Open, by sso::callback::methods, GET, HEAD, POST)
            /// Another provider tells of a logout (OIDC Back-Channel Logout §2.5).
            SSO_LOGOUT "/connect/sso/{connection}/logout" (NoPage OAuth Open, POST sso::logout::post)
            /// The OpenAPI document of `/flows`, `/me` and `/api`.
            API_OPENAPI "/api/openapi.json" (AnySite Problem Open, GET api::openapi)
        }
        flows {
            FLOWS "/flows" {
                POST flows::begin: "beginFlow", 201, [takes], "Begins a flow of a kind.";
            }
            FLOW_STOP "/flows/stop" {
                POST flows::stop: "stopRecovery", 200, [takes], "Stops a recovery by the link of a mail.";
            }
            FLOW "/flows/{id}" {
                GET flows::show: "getFlow", 200, [], "Shows the document of a flow.";
            }
            FLOW_STEP "/flows/{id}/{*step}" {
                POST flows::step: "takeStep", 200, [takes], "Takes a step that the document offers.";
            }
        }
        me {
            ME "/me" {
                GET overview: "getMe", 200, [], "Shows the account of the person.";
                PATCH describe: "changeMe", 200, [takes], "Changes standard claims of the person.";
                DELETE delete_account: "deleteMe", 202, [], "Asks for the account to be deleted in 30 days.";
            }
            MY_SESSIONS "/me/sessions" {
                GET sessions: "listMySessions", 200, [], "Lists where the person is signed in.";
                DELETE end_sessions: "endMySessions", 204, [], "Ends all sessions and grants.";
            }
            MY_SESSION "/me/sessions/{id}" {
                DELETE end_session: "endMySession", 204, [], "Ends a session.";
            }
            MY_CONNECTIONS "/me/connections" {
                GET linkable_connections: "listMyConnections", 200, [],
                    "Lists the other providers of which the person may link an identity.";
            }
            MY_IDENTITIES "/me/identities" {
                GET identities: "listMyIdentities", 200, [], "Lists the identities of other providers that are linked.";
            }
            MY_IDENTITY "/me/identities/{id}" {
                DELETE unlink_identity: "unlinkMyIdentity", 204, [], "Unlinks an identity.";
            }
            MY_PASSKEYS "/me/passkeys" {
                GET passkeys: "listMyPasskeys", 200, [], "Lists the passkeys of the person.";
            }
            MY_PASSKEY "/me/passkeys/{id}" {
                PATCH rename_passkey: "renameMyPasskey", 200, [takes], "Names a passkey.";
                DELETE remove_passkey: "removeMyPasskey", 204, [], "Removes a passkey.";
            }
            MY_RECOVERY_CODES "/me/recovery-codes" {
                POST make_recovery_codes: "makeMyRecoveryCodes", 200, [],
                    "Makes a new set of recovery codes, shown in this answer alone.";
            }
            MY_TOTP "/me/totp" {
                DELETE remove_totp: "removeMyTotp", 204, [], "Removes the authenticator application.";
            }
            MY_PASSWORD "/me/password" {
                PUT set_password: "setMyPassword", 204, [takes renews], "Sets or changes the password.";
                DELETE remove_password: "removeMyPassword", 204, [], "Removes the password.";
            }
            MY_EMAIL "/me/email" {
                POST propose_email: "proposeMyEmail", 202, [takes], "Sends a code to another address.";
            }
            MY_EMAIL_CONFIRMED "/me/email/confirm" {
                POST confirm_email: "confirmMyEmail", 204, [takes], "Proves that address by the code, and uses it.";
            }
            MY_PHONE "/me/phone" {
                POST propose_phone: "proposeMyPhone", 202, [takes], "Sends a code to a phone number.";
                DELETE remove_phone: "removeMyPhone", 204, [], "Removes the phone number.";
            }
            MY_PHONE_CONFIRMED "/me/phone/confirm" {
                POST confirm_phone: "confirmMyPhone", 204, [takes], "Proves that number by the code, and uses it.";
            }
            MY_CONSENTS "/me/consents" {
                GET consents: "listMyConsents", 200, [], "Lists the connected applications.";
            }
            MY_CONSENT "/me/consents/{id}" {
                DELETE withdraw_consent: "withdrawMyConsent", 204, [], "Disconnects an application.";
            }
            MY_DELEGATIONS "/me/delegations" {
                GET delegations: "listMyDelegations", 200, [], "Shows what clients hold of the person now, as a tree.";
            }
            MY_DELEGATION "/me/delegations/{id}" {
                DELETE end_delegation: "endMyDelegation", 204, [], "Ends what a client holds, and everything below it.";
            }
            MY_APPROVALS "/me/approvals" {
                GET approvals: "listMyApprovals", 200, [], "Lists what clients ask for.";
            }
            MY_APPROVAL "/me/approvals/{id}" {
                POST decide_approval: "decideMyApproval", 204, [takes], "Approves or denies it.";
            }
            MY_BLOCKED_CLIENTS "/me/blocked-clients" {
                GET blocked_clients: "listMyBlockedClients", 200, [], "Lists blocked clients.";
            }
            MY_BLOCKED_CLIENT "/me/blocked-clients/{id}" {
                DELETE unblock_client: "unblockMyClient", 204, [], "Lets a client ask again.";
            }
            MY_ORGANIZATIONS "/me/organizations" {
                GET organizations: "listMyOrganizations", 200, [], "Lists the memberships.";
            }
            MY_ORGANIZATION "/me/organizations/{id}" {
                DELETE leave_organization: "leaveOrganization", 204, [], "Leaves an organization.";
            }
            MY_HISTORY "/me/history" {
                GET history: "listMyHistory", 200, [], "Lists what happened, the newest first.";
            }
            MY_EXPORT "/me/export" {
                GET export: "exportMe", 200, [], "Everything that is held of the person.";
            }
        }
        api {
            API_ORGANIZATIONS "/api/organizations" ()
            API_ORGANIZATION "/api/organizations/{organization}" ()
            API_ORGANIZATION_EXPORT "/api/organizations/{organization}/export" ()
            API_ROLES "/api/organizations/{organization}/roles" ()
            API_ROLE "/api/organizations/{organization}/roles/{role}" ()
            API_MEMBERS "/api/organizations/{organization}/members" ()
            API_MEMBER "/api/organizations/{organization}/members/{membership}" ()
            API_IMPERSONATION "/api/organizations/{organization}/members/{membership}/impersonation" ()
            API_INVITATIONS "/api/organizations/{organization}/invitations" ()
            API_INVITATION "/api/organizations/{organization}/invitations/{invitation}" ()
            API_CLIENTS "/api/organizations/{organization}/clients" ()
            API_CLIENT "/api/organizations/{organization}/clients/{client_id}" ()
            API_CLIENT_SECRET "/api/organizations/{organization}/clients/{client_id}/secret" ()
            API_DELEGATIONS "/api/organizations/{organization}/clients/{client_id}/delegations" ()
            API_DELEGATION "/api/organizations/{organization}/clients/{client_id}/delegations/{delegation}" ()
            API_DELEGATION_TREE "/api/organizations/{organization}/clients/{client_id}/tree" ()
            API_CLIENT_ACTIVITY "/api/organizations/{organization}/clients/{client_id}/activity" ()
            API_ACCOUNTS "/api/organizations/{organization}/accounts" ()
            API_ACCOUNT "/api/organizations/{organization}/accounts/{account}" ()
            API_KEYS "/api/organizations/{organization}/apikeys" ()
            API_KEY "/api/organizations/{organization}/apikeys/{key}" ()
            API_KEY_ROTATE "/api/organizations/{organization}/apikeys/{key}/rotate" ()
            API_AUDIT "/api/organizations/{organization}/audit" ()
            API_AUDIT_EXPORT "/api/organizations/{organization}/audit/export" ()
            API_WEBHOOKS "/api/organizations/{organization}/webhooks" ()
            API_WEBHOOK "/api/organizations/{organization}/webhooks/{webhook}" ()
            API_WEBHOOK_ROTATE "/api/organizations/{organization}/webhooks/{webhook}/rotate" ()
            API_WEBHOOK_TEST "/api/organizations/{organization}/webhooks/{webhook}/test" ()
            API_DOMAINS "/api/organizations/{organization}/domains" ()
            API_DOMAIN "/api/organizations/{organization}/domains/{domain}" ()
            API_DOMAIN_VERIFY "/api/organizations/{organization}/domains/{domain}/verify" ()
            API_CONNECTIONS "/api/organizations/{organization}/connections" ()
            API_CONNECTION "/api/organizations/{organization}/connections/{connection}" ()
            API_CONNECTION_TEST "/api/organizations/{organization}/connections/{connection}/test" ()
        }
        scim {
            SCIM_USERS "/scim/v2/{organization}/Users" ()
            SCIM_USER_SEARCH "/scim/v2/{organization}/Users/.search" ()
            SCIM_USER "/scim/v2/{organization}/Users/{id}" ()
            SCIM_GROUPS "/scim/v2/{organization}/Groups" ()
            SCIM_GROUP_SEARCH "/scim/v2/{organization}/Groups/.search" ()
            SCIM_GROUP "/scim/v2/{organization}/Groups/{id}" ()
            SCIM_SEARCH "/scim/v2/{organization}/.search" ()
            SCIM_REST "/scim/v2/{organization}/{*rest}" ()
            SCIM_BULK "/scim/v2/{organization}/Bulk" ()
            SCIM_ME "/scim/v2/{organization}/Me" ()
            SCIM_CONFIG "/scim/v2/{organization}/ServiceProviderConfig" ()
            SCIM_SCHEMAS "/scim/v2/{organization}/Schemas" ()
            SCIM_SCHEMA "/scim/v2/{organization}/Schemas/{id}" ()
            SCIM_TYPES "/scim/v2/{organization}/ResourceTypes" ()
            SCIM_TYPE "/scim/v2/{organization}/ResourceTypes/{id}" ()
        }
        screens {
            /// People sign in.
            SIGN_IN "/sign-in" ("sign_in")
            /// People make an account, or accept an invitation.
            SIGN_UP "/sign-up" ("sign_up")
            /// People prove that an address is theirs.
            VERIFY_EMAIL "/verify-email" ("verify_email")
            /// An account is recovered.
            RESET_PASSWORD "/reset-password" ("recovery")
            /// People say that an alert was about another person.
            REPORT "/report" ("report")
            /// People let a client act for them.
            CONSENT "/consent" ("sign_in")
            /// People enter the code of a device.
            DEVICE_SCREEN "/device" ("device")
            /// People sign out.
            SIGN_OUT "/sign-out" ("sign_out")
            /// People approve what a client asks of them.
            APPROVE "/approve" ("approval")
            /// The person, and their addresses.
            ACCOUNT "/account" ("sign_in")
            /// Passkeys, password and other ways in.
            ACCOUNT_SECURITY "/account/security" ("sign_in")
            /// Where the person is signed in.
            ACCOUNT_SESSIONS "/account/sessions" ("sign_in")
            /// Applications, and what they hold.
            ACCOUNT_APPLICATIONS "/account/applications" ("sign_in")
            /// Organizations of the person.
            ACCOUNT_ORGANIZATIONS "/account/organizations" ("sign_in")
            /// What happened to the account.
            ACCOUNT_HISTORY "/account/history" ("sign_in")
            /// Everything that is held, and the end of the account.
            ACCOUNT_DATA "/account/data" ("sign_in")
            /// Members look after their organization.
            ORGANIZATION "/organization" ("sign_in")
        }
        pages {
            /// Where passkeys are made and looked after (Passkey Endpoints).
            PASSKEY_ENDPOINTS "/.well-known/passkey-endpoints" (AnySite Problem Open, GET well_known::passkey_endpoints)
            /// Leads to the account, under `dev` to the playground.
            ROOT "/" (NoPage Problem Open, GET screens::home)
            /// Style sheet, script and pictures.
            ASSETS "/assets/{file}" (NoPage Problem Open, GET screens::assets::get)
            /// The style sheet and the logo of an organization.
            BRAND_ASSETS "/assets/brand/{file}" (NoPage Problem Open, GET screens::brand::get)
            /// The logos of clients.
            CLIENT_ASSETS "/assets/client/{file}" (NoPage Problem Open, GET screens::brand::get_of_client)
        }
        change_password {
            /// Leads to the page on which a password is changed.
            CHANGE_PASSWORD "/.well-known/change-password" (NoPage Problem Open, GET well_known::change_password)
        }
        security_txt {
            /// Where a weakness is reported (RFC 9116).
            SECURITY_TXT "/.well-known/security.txt" (AnySite Problem Open, GET well_known::security_txt)
        }
        playground {
            /// An application inside a page.
            PLAYGROUND "/playground" (NoPage Problem Open, GET playground::get)
            /// Its scripts, also for a frame without an origin.
            PLAYGROUND_FILE "/playground/{file}" (AnySite Problem Open, GET playground::file)
        }
        mailbox {
            /// Every message that was sent.
            MAILBOX "/mailbox" (NoPage Problem Open, GET mailbox::get)
        }
    } };
}

/// Makes a constant of each path.
macro_rules! constants {
    ($($section:ident { $($(#[doc = $about:literal])* $name:ident $path:literal $row:tt)* })*) => {
        $($($(#[doc = $about])* pub const $name: &str = $path;)*)*
    };
}

endpoints!(constants);

/// Returns the address of a path of ours that each connection has for itself.
pub fn of_connection(issuer: &str, path: &str, connection: &str) -> String {
    format!("{issuer}{}", path.replace("{connection}", connection))
}

/// Where the metadata of SCIM as a resource lies, for each organization.
pub const PROTECTED_SCIM_PREFIX: &str = "/.well-known/oauth-protected-resource/scim/v2";

pub(in crate::http) use endpoints;
