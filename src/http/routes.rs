//! The paths of the public listener, one constant each: what is listed is what is served.

pub const OPENID_CONFIGURATION: &str = "/.well-known/openid-configuration";
pub const AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";
pub const PROTECTED_RESOURCE: &str = "/.well-known/oauth-protected-resource";
pub const PROTECTED_API: &str = "/.well-known/oauth-protected-resource/api";
pub const PROTECTED_OTHER: &str = "/.well-known/oauth-protected-resource/resources/{*address}";
pub const RELATED_ORIGINS: &str = "/.well-known/webauthn";
pub const JWKS: &str = "/connect/jwks";
pub const AUTHORIZE: &str = "/connect/authorize";
pub const PAR: &str = "/connect/par";
pub const DEVICE: &str = "/connect/device";
pub const CIBA: &str = "/connect/ciba";
/// The page that posts an authorization response to a client.
pub const FORM_POST: &str = "/connect/form_post";
pub const USERINFO: &str = "/connect/userinfo";
pub const TOKEN: &str = "/connect/token";
pub const INTROSPECT: &str = "/connect/introspect";
pub const LOGOUT: &str = "/connect/logout";
pub const REVOKE: &str = "/connect/revoke";
pub const REGISTER: &str = "/connect/register";
pub const REGISTERED: &str = "/connect/register/{client_id}";

/// Under `dev` only.
pub const MAILBOX: &str = "/mailbox";
/// Under `dev` only, like its script and the address of the server itself.
pub const PLAYGROUND: &str = "/playground";
pub const PLAYGROUND_FILE: &str = "/playground/{file}";
pub const ROOT: &str = "/";

/// The screen on which people sign in.
pub const SIGN_IN: &str = "/sign-in";
/// The screen on which people make an account, or accept an invitation.
pub const SIGN_UP: &str = "/sign-up";
/// The page on which an account is recovered.
pub const RESET_PASSWORD: &str = "/reset-password";

/// The screen on which people prove that an address is theirs.
pub const VERIFY_EMAIL: &str = "/verify-email";
pub const CONSENT: &str = "/consent";
/// The screen on which people approve what a client asks of them.
pub const APPROVE: &str = "/approve";
/// The screen on which people enter the code of a device.
pub const DEVICE_SCREEN: &str = "/device";
pub const SIGN_OUT: &str = "/sign-out";
/// The screens of a person's own account.
pub const ACCOUNT: &str = "/account";
pub const ACCOUNT_SECURITY: &str = "/account/security";
pub const ACCOUNT_SESSIONS: &str = "/account/sessions";
pub const ACCOUNT_APPLICATIONS: &str = "/account/applications";
pub const ACCOUNT_ORGANIZATIONS: &str = "/account/organizations";
pub const ACCOUNT_HISTORY: &str = "/account/history";
pub const ACCOUNT_DATA: &str = "/account/data";
pub const ORGANIZATION: &str = "/organization";
pub const ASSETS: &str = "/assets/{file}";
/// The style sheet and the logo of an organization.
pub const BRAND_ASSETS: &str = "/assets/brand/{file}";
/// The logos of clients.
pub const CLIENT_ASSETS: &str = "/assets/client/{file}";

pub const FLOWS: &str = "/flows";
pub const FLOW_STOP: &str = "/flows/stop";
pub const FLOW: &str = "/flows/{id}";
pub const FLOW_STEP: &str = "/flows/{id}/{*step}";

pub const ME: &str = "/me";
pub const MY_SESSIONS: &str = "/me/sessions";
pub const MY_SESSION: &str = "/me/sessions/{id}";
pub const MY_PASSKEYS: &str = "/me/passkeys";
pub const MY_PASSKEY: &str = "/me/passkeys/{id}";
pub const MY_RECOVERY_CODES: &str = "/me/recovery-codes";
pub const MY_TOTP: &str = "/me/totp";

/// The management API; `{organization}` is a slug.
pub const API_OPENAPI: &str = "/api/openapi.json";
pub const API_ORGANIZATIONS: &str = "/api/organizations";
pub const API_ORGANIZATION: &str = "/api/organizations/{organization}";
pub const API_ROLES: &str = "/api/organizations/{organization}/roles";
pub const API_ROLE: &str = "/api/organizations/{organization}/roles/{role}";
pub const API_MEMBERS: &str = "/api/organizations/{organization}/members";
pub const API_MEMBER: &str = "/api/organizations/{organization}/members/{membership}";
pub const API_IMPERSONATION: &str =
    "/api/organizations/{organization}/members/{membership}/impersonation";
pub const API_INVITATIONS: &str = "/api/organizations/{organization}/invitations";
pub const API_INVITATION: &str = "/api/organizations/{organization}/invitations/{invitation}";
pub const API_CLIENTS: &str = "/api/organizations/{organization}/clients";
pub const API_CLIENT: &str = "/api/organizations/{organization}/clients/{client_id}";
pub const API_CLIENT_SECRET: &str = "/api/organizations/{organization}/clients/{client_id}/secret";
pub const API_DELEGATIONS: &str =
    "/api/organizations/{organization}/clients/{client_id}/delegations";
pub const API_DELEGATION: &str =
    "/api/organizations/{organization}/clients/{client_id}/delegations/{delegation}";
pub const API_DELEGATION_TREE: &str = "/api/organizations/{organization}/clients/{client_id}/tree";
pub const API_CLIENT_ACTIVITY: &str =
    "/api/organizations/{organization}/clients/{client_id}/activity";
pub const API_ACCOUNTS: &str = "/api/organizations/{organization}/accounts";
pub const API_ACCOUNT: &str = "/api/organizations/{organization}/accounts/{account}";
pub const API_KEYS: &str = "/api/organizations/{organization}/apikeys";
pub const API_KEY: &str = "/api/organizations/{organization}/apikeys/{key}";
pub const API_KEY_ROTATE: &str = "/api/organizations/{organization}/apikeys/{key}/rotate";
pub const API_AUDIT: &str = "/api/organizations/{organization}/audit";
pub const API_AUDIT_EXPORT: &str = "/api/organizations/{organization}/audit/export";
pub const API_WEBHOOKS: &str = "/api/organizations/{organization}/webhooks";
pub const API_WEBHOOK: &str = "/api/organizations/{organization}/webhooks/{webhook}";
pub const API_WEBHOOK_ROTATE: &str = "/api/organizations/{organization}/webhooks/{webhook}/rotate";
pub const API_WEBHOOK_TEST: &str = "/api/organizations/{organization}/webhooks/{webhook}/test";
pub const MY_PASSWORD: &str = "/me/password";
pub const MY_EMAIL: &str = "/me/email";
pub const MY_EMAIL_CONFIRMED: &str = "/me/email/confirm";
pub const MY_PHONE: &str = "/me/phone";
pub const MY_PHONE_CONFIRMED: &str = "/me/phone/confirm";
pub const MY_CONSENTS: &str = "/me/consents";
pub const MY_CONSENT: &str = "/me/consents/{id}";
pub const MY_DELEGATIONS: &str = "/me/delegations";
pub const MY_DELEGATION: &str = "/me/delegations/{id}";
pub const MY_ORGANIZATIONS: &str = "/me/organizations";
pub const MY_ORGANIZATION: &str = "/me/organizations/{id}";
pub const MY_HISTORY: &str = "/me/history";
pub const MY_EXPORT: &str = "/me/export";
pub const MY_APPROVALS: &str = "/me/approvals";
pub const MY_APPROVAL: &str = "/me/approvals/{id}";
pub const MY_BLOCKED_CLIENTS: &str = "/me/blocked-clients";
pub const MY_BLOCKED_CLIENT: &str = "/me/blocked-clients/{id}";
