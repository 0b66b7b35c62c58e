//! A logout request: what a client asks of the logout endpoint, and how much of it is proved.

use crate::{
    domain::{client::LONGEST_ID, id_token::IdToken},
    http::{
        answer::error::{Code, OAuthError},
        app::App,
        extract::form::Form,
        flows::ticket::SignOutTarget,
        people::session::Present,
    },
};

/// Bytes.
const LONGEST_STATE: usize = 2_048;

/// The parameters that mean something here; others are ignored, as are `logout_hint` and `ui_locales`.
const PARAMETERS: [&str; 4] = ["id_token_hint", "client_id", "post_logout_redirect_uri", "state"];

const fn invalid(description: &'static str) -> OAuthError {
    OAuthError::new(Code::InvalidRequest, description)
}

/// A logout request, as far as it is proved; nothing of it, where there is no good hint.
#[derive(Default)]
pub struct LogoutRequest {
    /// An ID token of ours for a client that is known.
    hint: Option<IdToken<'static>>,
    /// Where that client wants the person to go, if it has registered that.
    leaving: Option<SignOutTarget>,
}

impl LogoutRequest {
    pub async fn read(app: &App, form: &Form) -> Result<Self, OAuthError> {
        if PARAMETERS.into_iter().any(|name| form.is_repeated(name)) {
            return Err(invalid("a parameter is repeated"));
        }
        let state = form.get("state");
        if state.is_some_and(|state| state.len() > LONGEST_STATE) {
            return Err(invalid("the state has more than 2048 bytes"));
        }
        let hint = form.get("id_token_hint").and_then(|token| app.read_id_token_hint(token));
        // RP-Initiated Logout §2: a client that is named must be the one that the token is for.
        let agrees = |hint: &IdToken<'_>| form.get("client_id").is_none_or(|id| hint.aud == id);
        let Some(hint) = hint.filter(agrees).filter(|hint| hint.aud.len() <= LONGEST_ID) else {
            return Ok(Self::default());
        };
        let seen = app.views.clients.look(&hint.aud).await?;
        let Some(client) = seen.machine.known() else { return Ok(Self::default()) };
        let uri = form.get("post_logout_redirect_uri");
        let uri = uri.filter(|uri| client.has_post_logout_redirect_uri(uri));
        let leaving = uri.map(|uri| SignOutTarget {
            client_id: client.client_id.clone(),
            redirect_to: with_state(uri, state),
        });
        Ok(Self { hint: Some(hint), leaving })
    }

    /// Returns where the person goes, if this very session may be ended without a question.
    pub fn at_once(&self, present: &Present) -> Option<&SignOutTarget> {
        let hint = self.hint.as_ref()?;
        self.leaving.as_ref().filter(|_| hint.sid.as_deref() == Some(&*present.id))
    }

    /// Returns where the person goes once they have confirmed: nowhere, if the token of another
    /// person was shown.
    pub fn once_confirmed(self, present: &Present) -> Option<SignOutTarget> {
        let hint = self.hint.as_ref()?;
        let theirs =
            hint.sub == present.person.account || hint.sid.as_deref() == Some(&*present.id);
        self.leaving.filter(|_| theirs)
    }

    /// Returns where a person could go who is not signed in; they are not sent there.
    pub fn leaving(self) -> Option<SignOutTarget> {
        self.leaving
    }
}

/// Returns the URI with the client's `state` in its query, and nothing else.
fn with_state(uri: &str, state: Option<&str>) -> String {
    let Some(state) = state else { return uri.to_owned() };
    let mut query = url::form_urlencoded::Serializer::new(String::new());
    let query = query.append_pair("state", state).finish();
    let joint = match uri.split_once('?') {
        None => "?",
        Some((_, "")) => "",
        Some((_, held)) if held.ends_with('&') => "",
        Some(_) => "&",
    };
    [uri, joint, &query].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_added_to_whatever_query_there_is_and_nothing_else_is() {
        for (uri, state, to) in [
            ("https://rp.example/bye", None, "https://rp.example/bye"),
            ("https://rp.example/bye", Some("a b"), "https://rp.example/bye?state=a+b"),
            ("https://rp.example/bye?x=1", Some("s"), "https://rp.example/bye?x=1&state=s"),
            ("https://rp.example/bye?", Some("s"), "https://rp.example/bye?state=s"),
            ("com.example.app:/bye", Some("&#\r\n"), "com.example.app:/bye?state=%26%23%0D%0A"),
        ] {
            assert_eq!(with_state(uri, state), to);
        }
    }
}
