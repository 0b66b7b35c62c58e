//! What the OpenAPI document says of `/flows` and `/me`, whose handlers have shapes of their own.

use super::openapi::{path_parameters, refused};
use crate::http::routes;
use serde_json::{Map, Value, json};

/// An operation that is not in the table of the management API.
struct Other {
    method: &'static str,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    status: u16,
    /// It takes a body of JSON.
    takes: bool,
    /// It needs a session.
    in_session: bool,
    /// It renews the session: a caller with `X-Session-Token` gets the new token instead.
    renews: bool,
}

const fn of_flows(
    method: &'static str,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    status: u16,
) -> Other {
    Other { method, path, name, summary, status, takes: true, in_session: false, renews: false }
}

const fn mine(
    method: &'static str,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    status: u16,
) -> Other {
    Other { method, path, name, summary, status, takes: false, in_session: true, renews: false }
}

/// The same with a body.
const fn mine_by(
    method: &'static str,
    path: &'static str,
    name: &'static str,
    summary: &'static str,
    status: u16,
) -> Other {
    Other { takes: true, ..mine(method, path, name, summary, status) }
}

const OTHERS: [Other; 34] = [
    of_flows("post", routes::FLOWS, "beginFlow", "Begins a flow of a kind.", 201),
    of_flows(
        "post",
        routes::FLOW_STOP,
        "stopRecovery",
        "Stops a recovery by the link of a mail.",
        200,
    ),
    Other {
        takes: false,
        ..of_flows("get", routes::FLOW, "getFlow", "Shows the document of a flow.", 200)
    },
    of_flows("post", routes::FLOW_STEP, "takeStep", "Takes a step that the document offers.", 200),
    mine("get", routes::ME, "getMe", "Shows the account of the person.", 200),
    mine_by("patch", routes::ME, "changeMe", "Changes standard claims of the person.", 200),
    mine("delete", routes::ME, "deleteMe", "Asks for the account to be deleted in 30 days.", 202),
    mine("get", routes::MY_SESSIONS, "listMySessions", "Lists where the person is signed in.", 200),
    mine("delete", routes::MY_SESSIONS, "endMySessions", "Ends all sessions and grants.", 204),
    mine("delete", routes::MY_SESSION, "endMySession", "Ends a session.", 204),
    mine("get", routes::MY_PASSKEYS, "listMyPasskeys", "Lists the passkeys of the person.", 200),
    mine_by("patch", routes::MY_PASSKEY, "renameMyPasskey", "Names a passkey.", 200),
    mine("delete", routes::MY_PASSKEY, "removeMyPasskey", "Removes a passkey.", 204),
    mine(
        "post",
        routes::MY_RECOVERY_CODES,
        "makeMyRecoveryCodes",
        "Makes a new set of recovery codes, shown in this answer alone.",
        200,
    ),
    mine("delete", routes::MY_TOTP, "removeMyTotp", "Removes the authenticator application.", 204),
    Other {
        renews: true,
        ..mine_by("put", routes::MY_PASSWORD, "setMyPassword", "Sets or changes the password.", 204)
    },
    mine("delete", routes::MY_PASSWORD, "removeMyPassword", "Removes the password.", 204),
    mine_by("post", routes::MY_EMAIL, "proposeMyEmail", "Sends a code to another address.", 202),
    mine_by(
        "post",
        routes::MY_EMAIL_CONFIRMED,
        "confirmMyEmail",
        "Proves that address by the code, and uses it.",
        204,
    ),
    mine_by("post", routes::MY_PHONE, "proposeMyPhone", "Sends a code to a phone number.", 202),
    mine("delete", routes::MY_PHONE, "removeMyPhone", "Removes the phone number.", 204),
    mine_by(
        "post",
        routes::MY_PHONE_CONFIRMED,
        "confirmMyPhone",
        "Proves that number by the code, and uses it.",
        204,
    ),
    mine("get", routes::MY_CONSENTS, "listMyConsents", "Lists the connected applications.", 200),
    mine("delete", routes::MY_CONSENT, "withdrawMyConsent", "Disconnects an application.", 204),
    mine(
        "get",
        routes::MY_DELEGATIONS,
        "listMyDelegations",
        "Shows what clients hold of the person now, as a tree.",
        200,
    ),
    mine(
        "delete",
        routes::MY_DELEGATION,
        "endMyDelegation",
        "Ends what a client holds, and everything below it.",
        204,
    ),
    mine("get", routes::MY_APPROVALS, "listMyApprovals", "Lists what clients ask for.", 200),
    mine_by("post", routes::MY_APPROVAL, "decideMyApproval", "Approves or denies it.", 204),
    mine("get", routes::MY_BLOCKED_CLIENTS, "listMyBlockedClients", "Lists blocked clients.", 200),
    mine("delete", routes::MY_BLOCKED_CLIENT, "unblockMyClient", "Lets a client ask again.", 204),
    mine("get", routes::MY_ORGANIZATIONS, "listMyOrganizations", "Lists the memberships.", 200),
    mine("delete", routes::MY_ORGANIZATION, "leaveOrganization", "Leaves an organization.", 204),
    mine("get", routes::MY_HISTORY, "listMyHistory", "Lists what happened, the newest first.", 200),
    mine("get", routes::MY_EXPORT, "exportMe", "Everything that is held of the person.", 200),
];

/// Describes them by path and method.
pub(super) fn others() -> impl Iterator<Item = (&'static str, Map<String, Value>)> {
    OTHERS.iter().map(|other| {
        let mut answer = json!({ "description": "Done." });
        if other.status != 204 {
            let object = json!({ "type": "object" });
            answer["content"] = json!({ "application/json": { "schema": object } });
        }
        let mut answers = Map::new();
        answers.insert(other.status.to_string(), answer);
        if other.renews {
            answers.insert("200".to_owned(), renewed());
        }
        answers.insert("default".to_owned(), refused());
        let security = if other.in_session {
            json!([{ "session": [] }])
        } else {
            json!([{ "session": [] }, {}])
        };
        let mut described = json!({
            "operationId": other.name,
            "summary": other.summary,
            "parameters": path_parameters(other.path).collect::<Vec<_>>(),
            "responses": answers,
            "security": security,
        });
        if other.takes {
            let object = json!({ "type": "object" });
            let content = json!({ "application/json": { "schema": object } });
            described["requestBody"] = json!({ "required": true, "content": content });
        }
        (other.path, [(other.method.to_owned(), described)].into_iter().collect())
    })
}

/// What a caller gets who presented the former token in a header.
fn renewed() -> Value {
    let schema = json!({
        "type": "object",
        "required": ["session_token"],
        "properties": { "session_token": { "type": "string" } },
    });
    json!({
        "description": "Done; to callers with `X-Session-Token`. The former token is good no more.",
        "content": { "application/json": { "schema": schema } },
    })
}
