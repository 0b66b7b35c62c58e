//! The files of organizations' brands: a cache of style sheets that are computed once, and names that cannot be
//! told without the secret key (adr/0076).

use crate::{
    crypto::{Pseudonyms, SharedVault},
    domain::brand::{Colour, Palette, Tokens},
    two_generation_cache::BoundedCache,
};
use std::{fmt::Write as _, sync::Arc};

/// How many style sheets are cached.
const MOST: usize = 1_024;

/// Finds the files of brands.
pub struct BrandFiles {
    /// By their colour.
    sheets: BoundedCache<Colour, Arc<str>>,
    names: Pseudonyms,
}

impl BrandFiles {
    pub fn new(vault: SharedVault) -> Self {
        Self { sheets: BoundedCache::new(MOST), names: Pseudonyms::new(vault) }
    }

    pub fn sheet(&self, colour: Colour) -> Arc<str> {
        self.sheets.get_or_make(&colour, || style_sheet(&Palette::of(colour)).into())
    }

    /// Returns the name of a file of an organization with this content, or a hash of it.
    pub fn file(&self, slug: &str, content: &str, ending: &str) -> String {
        let name = self.names.name("brand", &[slug, ending, content]);
        format!("{slug}-{name}.{ending}")
    }
}

/// Writes the tokens that differ from those of `assets/porteiro.css`, for both themes.
fn style_sheet(palette: &Palette) -> String {
    let (light, dark) = (tokens(&palette.light), tokens(&palette.dark));
    format!(
        ":root{{{light}}}\n\
         @media (prefers-color-scheme:dark){{:root:not([data-theme=light]){{{dark}}}}}\n\
         [data-theme=dark]{{{dark}}}\n"
    )
}

fn tokens(tokens: &Tokens) -> String {
    let Tokens { panel, accent, on_accent, accent_edge, accent_hover, accent_soft, link } = tokens;
    let mut written = format!(
        "--panel:{panel};--accent:{accent};--on-accent:{on_accent};\
         --accent-soft:{accent_soft};--link:{link}"
    );
    // The other theme may have one, and this one has not.
    let edge = accent_edge.unwrap_or(*accent);
    write!(written, ";--accent-edge:{edge}").expect("a String takes it all");
    let hover = accent_hover.map(|hover| hover.to_string());
    let usual = "color-mix(in oklab,var(--accent) 88%,var(--ink))".to_owned();
    let hover = hover.unwrap_or(usual);
    write!(written, ";--accent-hover:{hover}").expect("a String takes it all");
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_style_sheet_sets_every_token_for_both_themes() {
        let sheet = style_sheet(&Palette::of(Colour::parse("#ffd400").unwrap()));
        for token in ["panel", "accent", "on-accent", "accent-edge", "accent-hover", "link"] {
            assert_eq!(sheet.matches(&format!("--{token}:")).count(), 3, "{token}: {sheet}");
        }
        assert_eq!(sheet.matches('{').count(), sheet.matches('}').count());
        assert!(!sheet.contains("url(") && !sheet.contains('<'), "{sheet}");
    }
}
