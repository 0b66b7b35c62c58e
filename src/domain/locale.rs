//! The languages in which people are spoken to.

use serde::{Deserialize, Serialize};

/// A language that screens and messages have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Locale {
    #[default]
    #[serde(rename = "en")]
    English,
    #[serde(rename = "pt")]
    Portuguese,
}

impl Locale {
    pub const ALL: [Self; 2] = [Self::English, Self::Portuguese];

    /// Returns its language tag (RFC 5646).
    pub fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Portuguese => "pt",
        }
    }

    /// Finds the language of a tag, whichever region it names: `pt`, `pt-PT`, `pt_BR`.
    pub fn of_tag(tag: &str) -> Option<Self> {
        let language = tag.split(['-', '_']).next().unwrap_or_default();
        Self::ALL.into_iter().find(|locale| locale.tag().eq_ignore_ascii_case(language))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tag_leads_to_its_language() {
        for (tag, locale) in [
            ("en", Some(Locale::English)),
            ("pt-PT", Some(Locale::Portuguese)),
            ("PT_br", Some(Locale::Portuguese)),
            ("ptx", None),
            ("de", None),
            ("", None),
        ] {
            assert_eq!(Locale::of_tag(tag), locale, "{tag}");
        }
    }
}
