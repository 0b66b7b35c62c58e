//! A client, as people are told of it.

use crate::{
    domain::Locale,
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
    pub fn of(client: &ClientTold, locale: Locale) -> Self {
        let said = |member: &str, plain: &Option<String>| {
            said_in(client, member, locale).or(plain.as_deref()).map(str::to_owned)
        };
        let name = said("client_name", &client.client_name);
        let name = quotable(name.as_deref().unwrap_or(&client.client_id));
        let name = if name.is_empty() { client.client_id.clone() } else { name };
        // A page is all that a link of ours opens.
        let page = |uri: Option<String>| uri.filter(|uri| uri.starts_with("https://"));
        Self {
            logo: None,
            initials: initials(&name),
            name,
            host: client.host.clone(),
            self_registered: client.self_registered,
            policy_uri: page(said("policy_uri", &client.policy_uri)),
            tos_uri: page(said("tos_uri", &client.tos_uri)),
        }
    }

    /// Shows its logo, if it was fetched by now. A client that registered itself could show the logo of
    /// another (adr/0076).
    pub fn with_logo(mut self, app: &App, client: &ClientTold) -> Self {
        let uri = client.logo_uri.as_ref().filter(|_| !client.self_registered);
        let logo = uri.and_then(|uri| app.documents.logos.look(uri));
        self.logo =
            logo.map(|logo| format!("/assets/client/{}.{}", logo.hash, logo.format.ending()));
        self
    }
}

/// Returns what a client says of itself in a language, such as `client_name#pt` (RFC 7591 §2.2).
fn said_in<'a>(client: &'a ClientTold, member: &str, locale: Locale) -> Option<&'a str> {
    let in_it = |name: &str| {
        let (of, tag) = name.split_once('#').unwrap_or((name, ""));
        of == member && Locale::of_tag(tag) == Some(locale)
    };
    client.localized.iter().find(|(name, _)| in_it(name)).map(|(_, said)| said.as_str())
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

    fn told(name: &str, localized: &[(&str, &str)], policy_uri: &str) -> ClientTold {
        let owned = |(name, said): &(&str, &str)| ((*name).to_owned(), (*said).to_owned());
        ClientTold {
            organization: None,
            client_id: "app".to_owned(),
            client_name: Some(name.to_owned()),
            logo_uri: None,
            policy_uri: Some(policy_uri.to_owned()),
            tos_uri: None,
            localized: localized.iter().map(owned).collect(),
            self_registered: true,
            redirect_host: None,
            host: None,
        }
    }

    #[test]
    fn a_client_speaks_the_language_of_the_page_where_it_can() {
        let names = [("client_name#pt-BR", "Recreio"), ("client_name#de", "Spielplatz")];
        let client = told("Playground", &names, "https://a.example/");
        assert_eq!(ClientShown::of(&client, Locale::Portuguese).name, "Recreio");
        assert_eq!(ClientShown::of(&client, Locale::English).name, "Playground");
    }

    #[test]
    fn what_a_client_says_is_cut_made_visible_and_links_to_pages_alone() {
        let long = "W".repeat(5_000);
        let cases = [
            ("\u{202e}\u{200b}", "app"),
            ("<b>\u{202e}x</b>", "<b>x</b>"),
            ("\r\n", "app"),
            (&*long, &*format!("{}…", "W".repeat(80))),
        ];
        for (name, shown) in cases {
            assert_eq!(ClientShown::of(&told(name, &[], ""), Locale::English).name, shown);
        }
        let hostile =
            ["javascript:alert(1)", "data:text/html,x", "http://a.example/", "//a.example", ""];
        for uri in hostile {
            assert_eq!(ClientShown::of(&told("a", &[], uri), Locale::English).policy_uri, None);
        }
    }

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
