//! Our cookies: their names, and how they are read and set.

use axum::{
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use zeroize::Zeroizing;

/// The names of our cookies.
#[derive(Clone, Copy)]
pub struct CookieNames {
    pub(super) session: &'static str,
    /// The tokens of the other sessions of a browser (adr/0087).
    pub(super) others: &'static str,
    pub(super) browser: &'static str,
    pub(super) known_browser: &'static str,
    /// Language and theme of our pages.
    pub(in crate::http) screen: &'static str,
    /// What a flow has come to at the callback of a provider, until its page is opened; sealed.
    pub(in crate::http) callback: &'static str,
    /// Says that a person was offered a passkey not long ago.
    pub(in crate::http) offered: &'static str,
    secure: bool,
}

impl CookieNames {
    /// On https the prefix keeps other hosts from setting them (RFC 6265bis §4.1.3.2).
    pub fn new(issuer: &str) -> Self {
        let secure = issuer.starts_with("https://");
        if secure {
            Self {
                session: "__Host-porteiro",
                others: "__Host-porteiro-others",
                browser: "__Host-porteiro-browser",
                known_browser: "__Host-porteiro-known",
                screen: "__Host-porteiro-screen",
                callback: "__Host-porteiro-callback",
                offered: "__Host-porteiro-offered",
                secure,
            }
        } else {
            Self {
                session: "porteiro",
                others: "porteiro-others",
                browser: "porteiro-browser",
                known_browser: "porteiro-known",
                screen: "porteiro-screen",
                callback: "porteiro-callback",
                offered: "porteiro-offered",
                secure,
            }
        }
    }

    /// Has the browser keep a session.
    pub fn keep_session(&self, token: &str, seconds: u64) -> HeaderValue {
        self.keep(self.session, token, seconds)
    }

    /// Has the browser forget its session.
    pub fn end_session(&self) -> HeaderValue {
        self.keep(self.session, "", 0)
    }

    /// Has the browser keep its other sessions, or forget them where there is none.
    pub fn keep_others(&self, tokens: &[&str], seconds: u64) -> HeaderValue {
        let seconds = if tokens.is_empty() { 0 } else { seconds };
        let joined = Zeroizing::new(tokens.join(DIVIDER));
        self.keep(self.others, &joined, seconds)
    }

    /// Has the browser keep that a person signed in here.
    pub fn keep_known_browser(&self, statement: &str, seconds: u64) -> HeaderValue {
        self.keep(self.known_browser, statement, seconds)
    }

    pub fn keep(&self, name: &str, value: &str, seconds: u64) -> HeaderValue {
        let secure = if self.secure { "; Secure" } else { "" };
        let cookie =
            format!("{name}={value}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Lax{secure}");
        let mut cookie = HeaderValue::try_from(cookie).expect("base64url is a cookie's value");
        cookie.set_sensitive(true);
        cookie
    }
}

/// Stands between the tokens of other sessions; no token has it.
const DIVIDER: &str = ".";

/// No cookie with other sessions that we wrote is longer.
const LONGEST_OTHERS: usize = 4_096;

/// Reads the tokens of other sessions, each once, and no more than there may be. Whether they are tokens
/// at all is not known yet.
pub fn others<'a>(headers: &'a HeaderMap, names: CookieNames, most: usize) -> Vec<&'a str> {
    let joined = cookie(headers, names.others).filter(|joined| joined.len() <= LONGEST_OTHERS);
    let mut tokens: Vec<&'a str> = Vec::new();
    for token in joined.unwrap_or_default().split(DIVIDER).filter(|token| !token.is_empty()) {
        if tokens.len() < most && !tokens.contains(&token) {
            tokens.push(token);
        }
    }
    tokens
}

/// Finds a cookie of ours; what others put beside it need not even be text.
pub fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    let values = headers.get_all(header::COOKIE).iter().map(HeaderValue::as_bytes);
    let mut pairs = values.flat_map(|value| value.split(|byte| *byte == b';'));
    pairs.find_map(|pair| {
        let value = pair.trim_ascii().strip_prefix(name.as_bytes())?.strip_prefix(b"=")?;
        std::str::from_utf8(value).ok().filter(|value| value.is_ascii())
    })
}

/// Has a browser keep, or forget, each of these.
pub fn with_cookies(
    response: impl IntoResponse,
    cookies: impl IntoIterator<Item = HeaderValue>,
) -> Response {
    let mut response = response.into_response();
    for cookie in cookies {
        response.headers_mut().append(header::SET_COOKIE, cookie);
    }
    response
}

/// Has a browser keep what it was given, if anything was.
pub fn with_cookie(response: impl IntoResponse, cookie: Option<HeaderValue>) -> Response {
    with_cookies(response, cookie)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_https_every_cookie_is_for_this_host_over_https_and_for_no_script() {
        let names = CookieNames::new("https://id.example.com");
        let CookieNames {
            session, others, browser, known_browser, screen, callback, offered, ..
        } = names;
        for name in [session, others, browser, known_browser, screen, callback, offered] {
            let set = names.keep(name, "value", 60);
            assert!(set.is_sensitive(), "{name} is kept out of logs");
            let set = set.to_str().unwrap();
            // RFC 6265bis §4.1.3.2: such a cookie has no Domain, the whole path, and Secure.
            assert!(set.starts_with("__Host-porteiro") && !set.contains("Domain"), "{set}");
            for part in ["; Path=/;", "; HttpOnly", "; SameSite=Lax", "; Secure"] {
                assert!(set.contains(part), "{part}: {set}");
            }
        }
        for set in [names.keep_session("a", 60), names.end_session(), names.keep_others(&["a"], 60)]
        {
            assert!(set.to_str().unwrap().ends_with("; Secure"), "{set:?}");
        }
        // A development server on loopback has no https.
        let plain = CookieNames::new("http://localhost:8080");
        let set = plain.keep_session("a", 60);
        assert_eq!(set, "porteiro=a; Path=/; Max-Age=60; HttpOnly; SameSite=Lax");
    }
}
