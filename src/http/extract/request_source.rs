//! Who asks: a browser or a program, from which page (CSRF protection), with which session.

use super::cookies::{CookieNames, cookie, others};
use crate::http::{answer::error::Problem, app::App};
use crate::{
    crypto::{Dice, draw_text},
    domain::{Fingerprint, Locale, flow::Channel},
};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use zeroize::Zeroizing;

const SESSION_HEADER: &str = "x-session-token";

/// How many sessions a browser holds beside the current one.
pub const MOST_OTHERS: usize = 7;

/// What a request tells of its sender.
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own about a request")]
#[derive(Clone)]
pub struct RequestSource {
    /// A browser: it says how it came to ask (Fetch Metadata), or it navigates.
    pub is_browser: bool,
    /// It sent `Sec-Fetch-*` or `Origin`: nothing that a script could read may be a secret.
    pub has_scripts: bool,
    pub wants_json: bool,
    /// What tells this browser from others.
    key: Option<Zeroizing<String>>,
    pub session_token: Option<Zeroizing<String>>,
    /// Of the other sessions that a browser holds; a caller that names its session has no others.
    pub other_tokens: Vec<Zeroizing<String>>,
    /// The session came by cookie, and not by a header of its own.
    pub session_by_cookie: bool,
    /// Says that a person signed in here before; sealed.
    pub known_browser: Option<Zeroizing<String>>,
    /// What a flow has come to at the callback of a provider; sealed.
    pub callback: Option<Zeroizing<String>>,
    /// The language that the caller likes best of those that we have.
    pub locale: Option<Locale>,
}

/// How long a browser keeps what tells it from others: longer than any flow.
const BROWSER_KEPT: u64 = 24 * 60 * 60;

impl RequestSource {
    pub fn of(headers: &HeaderMap, names: CookieNames) -> Self {
        let fetched = headers.keys().any(|name| name.as_str().starts_with("sec-fetch-"));
        // Programs send neither; browsers without Fetch Metadata send at least an Origin.
        let has_scripts = fetched || headers.contains_key(header::ORIGIN);
        let wants_json = wants_json(headers);
        let token = headers.get(SESSION_HEADER).and_then(|token| token.to_str().ok());
        let session_token = token.or_else(|| cookie(headers, names.session));
        let session_token = session_token.filter(|token| !token.is_empty());
        let beside = if token.is_none() { others(headers, names, MOST_OTHERS) } else { Vec::new() };
        Self {
            is_browser: has_scripts || !wants_json,
            has_scripts,
            wants_json,
            key: cookie(headers, names.browser).map(|key| Zeroizing::new(key.to_owned())),
            session_by_cookie: token.is_none(),
            session_token: session_token.map(|token| Zeroizing::new(token.to_owned())),
            other_tokens: beside
                .into_iter()
                .map(|token| Zeroizing::new(token.to_owned()))
                .collect(),
            known_browser: cookie(headers, names.known_browser)
                .map(|statement| Zeroizing::new(statement.to_owned())),
            callback: cookie(headers, names.callback)
                .map(|sealed| Zeroizing::new(sealed.to_owned())),
            locale: locale(headers),
        }
    }

    /// A caller that asks for a page of ours, or sends its form, is a browser.
    pub fn of_page(self) -> Self {
        Self { is_browser: true, has_scripts: true, ..self }
    }

    /// Returns the channel of a flow that begins now, and the cookie that a browser needs for it.
    pub fn channel(
        &mut self,
        names: CookieNames,
        dice: &dyn Dice,
    ) -> (Channel, Option<HeaderValue>) {
        if !self.is_browser {
            return (Channel::Program, None);
        }
        let key = match self.key.take().filter(|key| key.len() == 43) {
            Some(key) => key,
            None => Zeroizing::new(draw_text(dice, 32)),
        };
        let channel = Channel::Browser(Fingerprint::of(key.as_bytes()));
        let cookie = names.keep(names.browser, &key, BROWSER_KEPT);
        (channel, Some(cookie))
    }

    /// Tells whether a flow of this channel was begun by the sender.
    pub fn holds(&self, channel: Channel) -> bool {
        match channel {
            // What a program began is not for a browser: an attacker may have sent the link.
            Channel::Program => !self.has_scripts,
            Channel::Browser(expected) => {
                self.key.as_ref().is_some_and(|key| Fingerprint::of(key.as_bytes()) == expected)
            }
        }
    }
}

/// Tells whether JSON is asked for rather than a page: by its name, and no less than a page is.
fn wants_json(headers: &HeaderMap) -> bool {
    let (json, page, any) = qualities(headers);
    json > 0 && json >= page.or(any).unwrap_or(0)
}

/// Tells whether a page is asked for by its name, and rather than JSON: as a browser does that shows
/// the answer to a person.
pub fn prefers_page(headers: &HeaderMap) -> bool {
    // Every request is asked this, and few come from a browser that navigates.
    if !names_page(headers) {
        return false;
    }
    let (json, page, _) = qualities(headers);
    page.is_some_and(|page| page > 0 && page > json)
}

/// Tells whether `Accept` has the name of a page in it, wherever. Nothing is read, and nothing allocated.
fn names_page(headers: &HeaderMap) -> bool {
    const PAGE: &[u8] = b"text/html";
    let named = |text: &[u8]| text.windows(PAGE.len()).any(|part| part.eq_ignore_ascii_case(PAGE));
    headers.get_all(header::ACCEPT).iter().any(|value| named(value.as_bytes()))
}

/// How much JSON, a page, and anything at all is liked, in thousandths.
fn qualities(headers: &HeaderMap) -> (u16, Option<u16>, Option<u16>) {
    let lines = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
    let ranges: Vec<(String, u16)> =
        lines.flat_map(|line| line.split(',')).filter_map(media_range).collect();
    // RFC 9110 §12.5.1: of the ranges that match, the most specific one counts.
    let quality = |names: &[&str]| {
        let named = |name: &&str| ranges.iter().filter(|range| range.0 == *name).max();
        names.iter().find_map(named).map(|range| range.1)
    };
    let json = quality(&["application/json"]).unwrap_or(0);
    (json, quality(&["text/html"]), quality(&["text/*", "*/*"]))
}

/// Reads one range of `Accept` and its quality in thousandths; a quality that cannot be read is none.
fn media_range(text: &str) -> Option<(String, u16)> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().filter(|name| !name.is_empty())?.to_ascii_lowercase();
    let mut parameters = parts.filter_map(|parameter| parameter.split_once('='));
    let given = parameters.find(|(name, _)| name.trim().eq_ignore_ascii_case("q"));
    let quality = given.map_or(Some(1_000), |(_, value)| thousandths(value.trim()));
    Some((name, quality.unwrap_or(0)))
}

/// Reads a quality: 0 or 1, and up to three digits after a point (RFC 9110 §12.4.2).
fn thousandths(text: &str) -> Option<u16> {
    let (whole, part) = text.split_once('.').unwrap_or((text, ""));
    let digits = part.len() <= 3 && part.bytes().all(|byte| byte.is_ascii_digit());
    let part: u16 = format!("{part:0<3}").parse().ok().filter(|_| digits)?;
    match whole {
        "0" => Some(part),
        "1" if part == 0 => Some(1_000),
        _ => None,
    }
}

/// Returns the language that `Accept-Language` likes best of those that we have (RFC 9110 §12.5.4).
fn locale(headers: &HeaderMap) -> Option<Locale> {
    let lines = headers.get_all(header::ACCEPT_LANGUAGE).iter();
    let ranges = lines.filter_map(|value| value.to_str().ok()).flat_map(|line| line.split(','));
    let liked = ranges.filter_map(media_range).filter(|range| range.1 > 0);
    let known = liked.filter_map(|(tag, quality)| Some((Locale::of_tag(&tag)?, quality)));
    let mut known: Vec<(Locale, u16)> = known.collect();
    // Stable: of two that are liked as well as each other, the one that was named first.
    known.sort_by_key(|range| std::cmp::Reverse(range.1));
    known.first().map(|range| range.0)
}

/// Tells whether a browser says that another site had it ask (Fetch Metadata).
pub fn comes_from_another_site(headers: &HeaderMap) -> bool {
    let cross_site = |site: &HeaderValue| site.as_bytes().eq_ignore_ascii_case(b"cross-site");
    headers.get_all("sec-fetch-site").iter().any(cross_site)
}

/// CSRF protection: refuses writes from pages that are not ours (contract §4).
pub fn check_csrf(app: &App, headers: &HeaderMap) -> Result<(), Problem> {
    const FOREIGN: Problem = Problem::new(
        StatusCode::FORBIDDEN,
        "foreign_origin",
        "this request comes from a page of another site",
    );
    let ours = |origin: &HeaderValue| {
        origin.as_bytes() == app.issuer.as_bytes()
            || app.settings.origins.iter().any(|known| known == origin)
    };
    let mut origins = headers.get_all(header::ORIGIN).iter();
    match (origins.next(), origins.next()) {
        (None, _) => {}
        // Our pages may be served from another site.
        (Some(origin), None) if ours(origin) => return Ok(()),
        _ => return Err(FOREIGN),
    }
    if comes_from_another_site(headers) { Err(FOREIGN) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::crypto::SystemDice;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    fn source(pairs: &[(&'static str, &str)]) -> RequestSource {
        RequestSource::of(&headers(pairs), CookieNames::new("https://id.example"))
    }

    #[test]
    fn the_language_is_the_one_that_is_liked_best_of_ours() {
        let of = |text: &str| {
            locale(&HeaderMap::from_iter([(header::ACCEPT_LANGUAGE, text.parse().unwrap())]))
        };
        assert_eq!(of("de, pt-PT;q=0.8, en;q=0.7"), Some(Locale::Portuguese));
        assert_eq!(of("en, pt"), Some(Locale::English));
        assert_eq!(of("en;q=0, pt-BR;q=0.1"), Some(Locale::Portuguese));
        for none in ["de", "*", "", ";;q", "en;q=0"] {
            assert_eq!(of(none), None, "{none}");
        }
        assert_eq!(locale(&HeaderMap::new()), None);
    }

    #[test]
    fn a_program_asks_for_json_and_a_browser_says_how_it_fetches() {
        let json = ("accept", "application/json");
        assert!(!source(&[json]).is_browser);
        assert!(source(&[]).is_browser, "a caller that asks for no JSON gets pages");
        assert!(source(&[("accept", "text/html,*/*;q=0.8")]).is_browser);
        assert!(source(&[json, ("sec-fetch-mode", "cors")]).is_browser);
        assert!(source(&[("accept", "text/plain, application/json;q=0.5")]).wants_json);
    }

    #[test]
    fn a_caller_gets_json_where_it_names_it_and_prefers_no_page() {
        for accepted in [
            "application/json",
            "Application/JSON; charset=utf-8",
            "application/json, text/plain, */*",
            "application/json, text/html;q=0.9",
            "text/html;q=0.8, application/json;q=0.9",
            "text/html, application/json",
            "*/*;q=0.1, application/json;q=0.1",
            "application/json;q=0.001",
            ",, application/json ;q=1.000 ,",
        ] {
            assert!(source(&[("accept", accepted)]).wants_json, "{accepted}");
        }
        for accepted in [
            "text/html,application/json;q=0.9",
            "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8",
            "*/*",
            "application/*",
            "*/*, application/json;q=0.5",
            "text/*;q=0.5, application/json;q=0.4",
            "application/json;q=0",
            "application/json;q=0.000",
            "application/json;q=",
            "application/json;q=2",
            "application/json;q=1.001",
            "application/json;q=0.0001",
            "application/json;q=-1",
            "application/json;q=+1",
            "application/json;q=NaN",
            "application/json;q=0.5.5",
            "application/json;q=é",
            "application/json-patch",
            "x/application/json",
            ";q=1",
            "",
        ] {
            assert!(!source(&[("accept", accepted)]).wants_json, "{accepted}");
        }
        let lines = [("accept", "text/html;q=0.5"), ("accept", "application/json")];
        assert!(source(&lines).wants_json, "several lines are one list");
    }

    #[test]
    fn a_page_is_preferred_where_it_is_named_and_liked_more_than_json() {
        for (accepted, is_named, is_preferred) in [
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", true, true),
            ("Text/HTML;q=0.9, application/json;q=0.8", true, true),
            ("application/json, text/html", true, false),
            ("text/html;q=0", true, false),
            ("text/html-x, x/text/html", true, false),
            ("*/*", false, false),
            ("text/*, text/htm", false, false),
            ("application/json", false, false),
            ("", false, false),
        ] {
            let headers = headers(&[("accept", accepted)]);
            let found = (names_page(&headers), prefers_page(&headers));
            assert_eq!(found, (is_named, is_preferred), "{accepted}");
        }
        assert!(!prefers_page(&HeaderMap::new()));
        let lines = headers(&[("accept", "*/*;q=0.1"), ("accept", "text/html")]);
        assert!(prefers_page(&lines), "several lines are one list");
    }

    #[test]
    fn a_session_comes_by_header_or_by_cookie() {
        let both = source(&[("x-session-token", "a"), ("cookie", "__Host-porteiro=b")]);
        assert_eq!(both.session_token.unwrap().as_str(), "a");
        let cookie = source(&[("cookie", "x=y; __Host-porteiro=b")]);
        assert_eq!(cookie.session_token.unwrap().as_str(), "b");
        let other = source(&[("cookie", "porteiro=b; x__Host-porteiro=c")]);
        assert!(other.session_token.is_none(), "the name is the whole name");
    }

    #[test]
    fn other_sessions_come_by_cookie_alone_and_are_bounded() {
        let others = |pairs: &[(&'static str, &str)]| -> Vec<String> {
            source(pairs).other_tokens.iter().map(|token| token.as_str().to_owned()).collect()
        };
        let cookie = |value: &str| format!("__Host-porteiro=a; __Host-porteiro-others={value}");
        assert_eq!(others(&[("cookie", &cookie("b.c.b..c."))]), ["b", "c"]);
        assert_eq!(others(&[("cookie", &cookie(""))]), [""; 0]);
        let many: Vec<String> = (0..100).map(|number| format!("t{number}")).collect();
        assert_eq!(others(&[("cookie", &cookie(&many.join(".")))]).len(), MOST_OTHERS);
        let long = format!("b.{}", "c".repeat(5_000));
        assert_eq!(others(&[("cookie", &cookie(&long))]), [""; 0], "it is none of ours");
        let named = [("x-session-token", "a"), ("cookie", "__Host-porteiro-others=b")];
        assert_eq!(others(&named), [""; 0], "a caller that names its session has no others");
        assert_eq!(others(&[("cookie", "porteiro-others=b")]), [""; 0]);
    }

    #[test]
    fn a_cookie_of_somebody_else_hides_none_of_ours() {
        let session = |value: &[u8]| {
            let mut headers = HeaderMap::new();
            headers.append(header::COOKIE, HeaderValue::from_bytes(value).unwrap());
            let source = RequestSource::of(&headers, CookieNames::new("http://localhost"));
            source.session_token.map(|token| token.as_str().to_owned())
        };
        for beside in [
            "a=Jos\u{e9}; porteiro=b".as_bytes(),
            b"a=Jos\xe9; porteiro=b",
            b"porteiro=b; a=\xff",
            b"\xff; porteiro=b;",
            b";;=;\t porteiro=b \t; porteiro=c",
            b"porteiro=\xff; porteiro=b",
        ] {
            assert_eq!(session(beside).as_deref(), Some("b"), "{beside:?}");
        }
        for none in [&b"porteiro=\xe9"[..], b"porteiro", b"\xffporteiro=b", b"porteiro-browser=b"] {
            assert_eq!(session(none), None, "{none:?}");
        }
        assert_eq!(session(b"porteiro=a=b").as_deref(), Some("a=b"), "the first sign divides");
    }

    #[test]
    fn a_flow_is_held_by_the_browser_that_began_it_and_no_other() {
        let names = CookieNames::new("https://id.example");
        let (channel, cookie) = source(&[]).channel(names, &SystemDice);
        let cookie = cookie.unwrap();
        let pair = cookie.to_str().unwrap().split(';').next().unwrap();
        assert!(source(&[("cookie", pair)]).holds(channel));
        assert!(!source(&[]).holds(channel));
        assert!(!source(&[("accept", "application/json")]).holds(channel));
        let (_, other) = source(&[]).channel(names, &SystemDice);
        let other = other.unwrap();
        let other = other.to_str().unwrap().split(';').next().unwrap();
        assert!(!source(&[("cookie", other)]).holds(channel));
        let (again, _) = source(&[("cookie", pair)]).channel(names, &SystemDice);
        assert_eq!(again, channel, "two tabs are one browser");
    }

    #[test]
    fn what_a_program_began_is_not_for_a_browser() {
        let mut program = source(&[("accept", "application/json")]);
        let (channel, cookie) = program.channel(CookieNames::new("http://localhost"), &SystemDice);
        assert_eq!((channel, cookie), (Channel::Program, None));
        assert!(source(&[("accept", "application/json")]).holds(channel));
        assert!(!source(&[("sec-fetch-site", "none")]).holds(channel));
    }

    #[test]
    fn cookies_are_for_us_alone() {
        let names = CookieNames::new("https://id.example");
        let cookie = names.keep_session("pss_x", 60);
        let cookie = cookie.to_str().unwrap();
        for part in ["__Host-porteiro=pss_x", "Path=/", "HttpOnly", "SameSite=Lax", "Secure"] {
            assert!(cookie.contains(part), "{cookie}");
        }
        let plain = CookieNames::new("http://localhost:8080").keep_session("x", 60);
        assert!(plain.to_str().unwrap().starts_with("porteiro=x;"));
        assert!(!plain.to_str().unwrap().contains("Secure"));
    }
}
