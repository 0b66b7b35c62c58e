//! How a person wants pages to look and to speak: by a link of the page, a cookie, or the browser.

use crate::{
    domain::Locale,
    http::{
        app::App,
        extract::{cookies::cookie, form::Form},
    },
};
use axum::http::{HeaderMap, HeaderValue};

/// How long a browser keeps it.
const KEPT: u64 = 365 * 24 * 60 * 60;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// As the device has it.
    #[default]
    Device,
    Light,
    Dark,
}

impl Theme {
    pub const ALL: [Self; 3] = [Self::Device, Self::Light, Self::Dark];

    pub fn name(self) -> &'static str {
        match self {
            Self::Device => "device",
            Self::Light => "light",
            Self::Dark => "dark",
        }
    }

    fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|theme| theme.name() == name)
    }
}

/// What a person has chosen, if anything, and what the browser says of its languages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    chosen: Option<Locale>,
    accepted: Option<Locale>,
    pub theme: Theme,
    /// A link of the page has just been followed: the browser is to keep it.
    is_new: bool,
}

impl Preferences {
    pub fn of(app: &App, headers: &HeaderMap, query: &Form, accepted: Option<Locale>) -> Self {
        let kept = cookie(headers, app.settings.cookies.screen).unwrap_or_default();
        let (locale, theme) = kept.split_once('.').unwrap_or_default();
        let asked = query.get("ui_locales").and_then(first_of_ours);
        let theme_asked = query.get("theme").and_then(Theme::of_name);
        Self {
            chosen: asked.or_else(|| Locale::of_tag(locale)),
            accepted,
            theme: theme_asked.or_else(|| Theme::of_name(theme)).unwrap_or_default(),
            is_new: asked.is_some() || theme_asked.is_some(),
        }
    }

    /// Returns the language of a page: the one that the person chose, that the client asks for, that
    /// the browser likes best, or that of the installation.
    pub fn locale(self, app: &App, ui_locales: Option<&str>) -> Locale {
        let asked = ui_locales.and_then(first_of_ours);
        self.chosen.or(asked).or(self.accepted).unwrap_or(app.settings.locale)
    }

    /// Has the browser keep what was just chosen.
    pub fn cookie(self, app: &App) -> Option<HeaderValue> {
        let locale = self.chosen.map_or("", Locale::tag);
        let kept = format!("{locale}.{}", self.theme.name());
        self.is_new.then(|| app.settings.cookies.keep(app.settings.cookies.screen, &kept, KEPT))
    }
}

/// OIDC Core §3.1.2.1: tags in order of preference, with spaces between them.
fn first_of_ours(tags: &str) -> Option<Locale> {
    tags.split(' ').find_map(Locale::of_tag)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_language_that_we_have_counts() {
        assert_eq!(first_of_ours("de pt-BR en"), Some(Locale::Portuguese));
        assert_eq!(first_of_ours("de"), None);
        assert_eq!(first_of_ours(""), None);
    }

    #[test]
    fn a_theme_is_known_by_its_name() {
        for theme in Theme::ALL {
            assert_eq!(Theme::of_name(theme.name()), Some(theme));
        }
        assert_eq!(Theme::of_name("sepia"), None);
    }
}
