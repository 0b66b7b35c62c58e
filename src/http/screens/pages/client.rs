//! A client, as people are told of it.

use crate::{
    http::{app::App, flows::ClientTold},
    wording::quotable,
};

/// A client, as people are told of it.
pub struct ClientShown {
    pub name: String,
    /// For the picture of a client without one.
    pub initials: String,
    /// The path of its logo, if we have it.
    pub logo: Option<String>,
    /// Where it leads, if that is known.
    pub host: Option<String>,
    pub self_registered: bool,
    pub policy_uri: Option<String>,
    pub tos_uri: Option<String>,
}

impl ClientShown {
    pub fn of(app: &App, client: &ClientTold) -> Self {
        let name = quotable(client.client_name.as_deref().unwrap_or(&client.client_id));
        let name = if name.is_empty() { client.client_id.clone() } else { name };
        // A page is all that a link of ours opens.
        let page = |uri: &Option<String>| uri.clone().filter(|uri| uri.starts_with("https://"));
        // A client that registered itself could show the logo of another (adr/0076).
        let logo = client.logo_uri.as_ref().filter(|_| !client.self_registered);
        let logo = logo.and_then(|uri| app.client_logos.look(uri));
        let path = |hash: &str, ending: &str| format!("/assets/client/{hash}.{ending}");
        Self {
            logo: logo.map(|logo| path(&logo.hash, logo.format.ending())),
            initials: initials(&name),
            name,
            host: client.redirect_host.clone(),
            self_registered: client.self_registered,
            policy_uri: page(&client.policy_uri),
            tos_uri: page(&client.tos_uri),
        }
    }
}

/// Returns the first letters of the first two words.
pub fn initials(name: &str) -> String {
    let words = name.split(|letter: char| !letter.is_alphanumeric());
    let letters = words.filter_map(|word| word.chars().next()).take(2);
    letters.flat_map(char::to_uppercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn initials_are_those_of_the_first_two_words() {
        for (name, letters) in [
            ("Acme Billing", "AB"),
            ("ledger", "L"),
            ("água & Sol, Lda", "ÁS"),
            ("", ""),
            ("-", ""),
        ] {
            assert_eq!(initials(name), letters);
        }
    }
}
