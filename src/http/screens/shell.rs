//! What is around every page: language, theme, the name of the installation, and the headers.

use super::{
    assets::{Assets, assets},
    brand::BrandShown,
    pages::initials,
    preferences::{Preferences, Theme},
    words,
};
use crate::{
    crypto::draw_text,
    domain::{Locale, installation::SelfService},
    http::{
        answer::{error::Problem, never_stored},
        app::App,
        extract::cookies::with_cookie,
        time::rfc3339,
    },
};
use askama::Template;
use axum::{
    http::{HeaderValue, StatusCode, header},
    response::{IntoResponse as _, Response},
};
use url::{Url, form_urlencoded};

/// What is around a page.
pub struct Shell<'a> {
    pub app: &'a App,
    pub locale: Locale,
    pub theme: Theme,
    /// By which the page's own script is known (CSP).
    pub nonce: String,
    /// The parameters by which this page can be asked for again; none where it cannot.
    pub again: Option<Vec<(&'static str, String)>>,
    /// Of the organization whose page it is, if it is one's.
    pub brand: Option<BrandShown>,
    /// What the page tells the password manager of its browser, as JSON.
    pub signals: Option<String>,
    /// Whether people may make accounts for themselves.
    pub sign_up_open: bool,
    cookie: Option<HeaderValue>,
}

/// What the policy of a page names (CSP).
pub struct Sources<'s> {
    /// Where its style comes from.
    pub styles: &'s str,
    /// Where its forms are sent to.
    pub forms: &'s str,
}

impl Default for Sources<'_> {
    fn default() -> Self {
        Self { styles: "'self'", forms: "'self'" }
    }
}

impl<'a> Shell<'a> {
    /// Prepares a page in the language of the person; `ui_locales` is what the client says of it.
    pub fn new(app: &'a App, preferences: Preferences, ui_locales: Option<&str>) -> Self {
        Self {
            app,
            locale: preferences.locale(app, ui_locales),
            theme: preferences.theme,
            nonce: draw_text(&*app.dice, 16),
            again: None,
            brand: None,
            signals: None,
            sign_up_open: false,
            cookie: preferences.cookie(app),
        }
    }

    /// Says by which parameters the page can be asked for again.
    pub fn at(mut self, parameters: Vec<(&'static str, String)>) -> Self {
        self.again = Some(parameters);
        self
    }

    /// Says whether people may make accounts for themselves now; where that cannot be read, the page does not offer it.
    pub async fn telling_sign_up(mut self) -> Self {
        self.sign_up_open = self.app.is_open(SelfService::SignUp).await.unwrap_or(false);
        self
    }

    /// Says whose page it is.
    pub fn of_brand(mut self, brand: Option<BrandShown>) -> Self {
        self.brand = brand;
        self
    }

    /// Says what the page tells the password manager of its browser.
    pub fn telling(mut self, signals: Option<String>) -> Self {
        self.signals = signals;
        self
    }

    /// The sentence of the organization whose page it is.
    pub fn brand_text(&self) -> Option<&str> {
        let text = self.brand.as_ref()?.text.as_ref();
        text.map(|text| text.in_locale(self.locale))
    }

    /// Answers with a page.
    pub fn respond(&self, status: StatusCode, page: &impl Template) -> Response {
        self.respond_under(status, page, &Sources::default())
    }

    /// Answers with a page of another policy.
    pub fn respond_under(
        &self,
        status: StatusCode,
        page: &impl Template,
        Sources { styles, forms }: &Sources<'_>,
    ) -> Response {
        let Ok(page) = page.render() else {
            tracing::error!("a page could not be drawn");
            return Problem::UNAVAILABLE.into_response();
        };
        let policy = format!(
            "default-src 'none'; script-src 'nonce-{}'; style-src {styles}; img-src 'self'; \
             connect-src 'self'; form-action {forms}; base-uri 'none'; frame-ancestors 'none'",
            self.nonce
        );
        let Ok(policy) = HeaderValue::try_from(policy) else {
            tracing::error!("a page has no policy");
            return Problem::UNAVAILABLE.into_response();
        };
        let html = HeaderValue::from_static("text/html; charset=utf-8");
        // With none at all a browser says of our own forms that they come from nowhere.
        let referrer = HeaderValue::from_static("same-origin");
        let headers = [
            (header::CONTENT_TYPE, html),
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::REFERRER_POLICY, referrer),
        ];
        let mut response = (status, headers, page).into_response();
        never_stored(&mut response);
        with_cookie(response, self.cookie.clone())
    }

    /// Returns a sentence.
    pub fn t(&self, name: &str) -> String {
        words::say(self.locale, name, &[])
    }

    /// Returns a sentence with a value in it.
    pub fn with(&self, name: &str, key: &str, value: &str) -> String {
        words::say(self.locale, name, &[(key, value)])
    }

    /// Returns a sentence with several values in it.
    pub fn says(&self, name: &str, values: &words::Values<'_>) -> String {
        words::say(self.locale, name, values)
    }

    /// Returns a sentence in which a value stands out, as HTML.
    pub fn html(&self, name: &str, key: &str, value: &str) -> String {
        words::say_in_html(self.locale, name, &[(key, value)])
    }

    /// Returns a sentence that depends on a number.
    pub fn count(&self, name: &str, number: u32) -> String {
        words::count(self.locale, name, number)
    }

    /// Writes the day of a time in RFC 3339.
    pub fn date(&self, at: &str) -> String {
        words::date(self.locale, at)
    }

    /// Writes the day and the minute of a time in RFC 3339, which is in UTC.
    pub fn moment(&self, at: &str) -> String {
        let time = at.split_once('T').and_then(|(_, time)| time.get(..5)).unwrap_or_default();
        self.says("at-time", &[("date", &self.date(at)), ("time", time)])
    }

    /// Returns a sentence with the day of a time in it.
    pub fn dated(&self, name: &str, at: &str) -> String {
        self.with(name, "date", &self.date(at))
    }

    /// Returns a sentence with the day and the minute of a time in it.
    pub fn timed(&self, name: &str, at: &str) -> String {
        self.with(name, "at", &self.moment(at))
    }

    /// Writes the day that it is now.
    pub fn today(&self) -> String {
        self.date(&rfc3339(self.app.clock.now()))
    }

    #[expect(clippy::unused_self, reason = "templates ask the page for it")]
    pub fn assets(&self) -> &'static Assets {
        assets()
    }

    /// Returns the address of an icon.
    #[expect(clippy::unused_self, reason = "templates ask the page for it")]
    pub fn icon(&self, name: &str) -> String {
        format!("{}#{name}", assets().icons.path)
    }

    pub fn lang(&self) -> &'static str {
        self.locale.tag()
    }

    /// The value of `data-theme`; none where the page follows the device.
    pub fn forced_theme(&self) -> Option<&'static str> {
        (self.theme != Theme::Device).then(|| self.theme.name())
    }

    /// What the installation is called.
    pub fn host(&self) -> String {
        host_of(&self.app.issuer)
    }

    /// How long a new password must be.
    pub fn password_length(&self) -> u32 {
        u32::try_from(self.app.crypto.new_passwords.min_length()).unwrap_or(u32::MAX)
    }

    /// Whether this is a development server, which keeps what it sends.
    pub fn is_dev(&self) -> bool {
        self.app.mailbox.is_some()
    }

    #[expect(clippy::unused_self, reason = "templates ask the page for it")]
    pub fn initials(&self, name: &str) -> String {
        initials(name)
    }

    /// Lists the languages, with the link that leads to this page in each.
    pub fn languages(&self) -> Vec<Language> {
        let all = Locale::ALL.into_iter();
        let language = |locale: Locale| Language {
            tag: locale.tag(),
            name: match locale {
                Locale::English => "English",
                Locale::Portuguese => "Português",
            },
            href: self.link_with("ui_locales", locale.tag()),
            is_current: locale == self.locale,
        };
        all.map(language).collect()
    }

    /// Lists the themes, with the link that leads to this page in each.
    pub fn themes(&self) -> Vec<ThemeLink> {
        let link = |theme: Theme| ThemeLink {
            icon: theme.name(),
            label: self.t(match theme {
                Theme::Device => "theme-device",
                Theme::Light => "theme-light",
                Theme::Dark => "theme-dark",
            }),
            href: self.link_with("theme", theme.name()),
            is_current: theme == self.theme,
        };
        Theme::ALL.into_iter().map(link).collect()
    }

    fn link_with(&self, name: &str, value: &str) -> String {
        let again = self.again.iter().flatten().map(|(name, value)| (*name, value.as_str()));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(again.filter(|(known, _)| *known != name)).append_pair(name, value);
        format!("?{}", query.finish())
    }
}

/// A language that the page can be had in.
pub struct Language {
    pub tag: &'static str,
    pub name: &'static str,
    pub href: String,
    pub is_current: bool,
}

/// A theme that the page can be had in.
pub struct ThemeLink {
    pub icon: &'static str,
    pub label: String,
    pub href: String,
    pub is_current: bool,
}

/// Returns the host of an address, as people read it.
pub fn host_of(address: &str) -> String {
    let url = Url::parse(address).ok();
    let host = url.as_ref().and_then(|url| {
        let host = url.host_str()?;
        Some(url.port().map_or(host.to_owned(), |port| format!("{host}:{port}")))
    });
    host.unwrap_or_else(|| address.to_owned())
}
