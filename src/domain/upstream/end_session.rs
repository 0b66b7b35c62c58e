//! The address to which a browser is sent to sign out at a provider (OpenID Connect RP-Initiated Logout 1.0 §2).

use crate::domain::Secret;
use url::Url;

/// A request to end the session at the provider.
pub struct EndSessionRequest<'a> {
    pub endpoint: &'a Url,
    pub client_id: &'a str,
    /// The ID token by which the person was signed in.
    pub id_token_hint: Option<&'a Secret>,
    pub post_logout_redirect_uri: Option<&'a str>,
    pub state: Option<&'a str>,
}

impl EndSessionRequest<'_> {
    pub fn url(&self) -> Url {
        let hint = self.id_token_hint.map(|hint| String::from_utf8_lossy(hint.expose()));
        let mut url = self.endpoint.clone();
        let mut pairs = url.query_pairs_mut();
        pairs.append_pair("client_id", self.client_id);
        for (name, value) in [
            ("id_token_hint", hint.as_deref()),
            ("post_logout_redirect_uri", self.post_logout_redirect_uri),
            ("state", self.state),
        ] {
            if let Some(value) = value {
                pairs.append_pair(name, value);
            }
        }
        drop(pairs);
        url
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_out_names_client_token_and_the_way_back() {
        let endpoint = Url::parse("https://login.acme.test/logout?p=1").unwrap();
        let hint = Secret::new("a.b.c");
        let mut request = EndSessionRequest {
            endpoint: &endpoint,
            client_id: "porteiro",
            id_token_hint: Some(&hint),
            post_logout_redirect_uri: Some("https://id.example.com/signed-out"),
            state: Some("st"),
        };
        let back = "post_logout_redirect_uri=https%3A%2F%2Fid.example.com%2Fsigned-out";
        let expected = format!(
            "https://login.acme.test/logout?p=1&client_id=porteiro&id_token_hint=a.b.c&{back}&state=st"
        );
        assert_eq!(request.url().as_str(), expected);
        request.id_token_hint = None;
        request.post_logout_redirect_uri = None;
        request.state = None;
        assert_eq!(request.url().as_str(), "https://login.acme.test/logout?p=1&client_id=porteiro");
    }
}
