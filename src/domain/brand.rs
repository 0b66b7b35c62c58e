//! How the pages of an organization look: its colour, its logo, a sentence. The name is the
//! organization's own.
//!
//! The bytes of a logo are not here but in a row of their own ([`logo`]): an organization is read with
//! each token.

mod colour;
pub mod logo;
mod palette;

pub use colour::{Colour, MalformedColour};
pub use palette::{Palette, Tokens};

use super::{
    Locale,
    picture::{Picture, PictureFacts},
};
use serde::{Deserialize, Serialize};

/// The brand of an organization.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Brand {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub colour: Option<Colour>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub logo: Option<PictureFacts>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<Texts>,
}

/// A sentence in every language.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Texts {
    pub en: String,
    pub pt: String,
}

/// What a provisioning file says of a brand, which replaces the whole of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Draft {
    pub colour: Option<Colour>,
    pub logo: Option<Picture>,
    pub text: Option<Texts>,
}

impl Brand {
    /// Tells whether the pages look as all others do.
    pub fn is_plain(&self) -> bool {
        *self == Self::default()
    }
}

impl From<&Draft> for Brand {
    fn from(draft: &Draft) -> Self {
        Self {
            colour: draft.colour,
            logo: draft.logo.as_ref().map(|picture| picture.facts.clone()),
            text: draft.text.clone(),
        }
    }
}

impl Texts {
    pub fn in_locale(&self, locale: Locale) -> &str {
        match locale {
            Locale::English => &self.en,
            Locale::Portuguese => &self.pt,
        }
    }
}
