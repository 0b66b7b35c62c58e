//! The colours of a page, from the one colour of an organization.
//!
//! | token | light | dark |
//! |---|---|---|
//! | panel | lightness 0.33, chroma at most 0.10 | 0.28, 0.075 |
//! | accent | darker until white text has 4.5; as it is with dark text where that takes too much | lighter until dark text has 7 |
//! | link | darker until it has 4.5 on everything it stands on | the accent |
//! | soft | lightness 0.95, chroma at most 0.02 | 0.29, 0.04 |
//!
//! Status colours and the ring around what has the focus are never an organization's.

use super::colour::{Colour, Oklch};

/// What text needs (WCAG 2.2, 1.4.3).
const TEXT: f64 = 4.5;
/// What the edge of a control needs (WCAG 2.2, 1.4.11).
const EDGE: f64 = 3.0;
/// What dark text has on the accent of a dark page.
const TEXT_IN_THE_DARK: f64 = 7.0;
/// By how much an accent may be darkened before it is no longer the organization's colour.
const MOST_DARKENED: f64 = 0.08;
/// By how much an accent with dark text becomes lighter below a pointer.
const LIGHTER_BELOW_POINTER: f64 = 0.04;

/// What every page has, as in `assets/porteiro.css`.
struct Ground {
    surface: Colour,
    page: Colour,
    ink: Colour,
}

const LIGHT: Ground = Ground {
    surface: Colour::WHITE,
    page: Colour::of([0xf1, 0xf4, 0xf2]),
    ink: Colour::of([0x13, 0x20, 0x1b]),
};
const DARK: Ground = Ground {
    surface: Colour::of([0x15, 0x1d, 0x1a]),
    page: Colour::of([0x0c, 0x12, 0x10]),
    ink: Colour::of([0xe8, 0xef, 0xeb]),
};

/// The colours of one theme.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tokens {
    pub panel: Colour,
    pub accent: Colour,
    /// Of text on the accent.
    pub on_accent: Colour,
    /// The edge of what has the accent, where the accent alone does not stand out.
    pub accent_edge: Option<Colour>,
    /// The accent below a pointer, where the usual one would take contrast from the text.
    pub accent_hover: Option<Colour>,
    pub accent_soft: Colour,
    pub link: Colour,
}

/// The colours of both themes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Palette {
    pub light: Tokens,
    pub dark: Tokens,
}

impl Palette {
    pub fn of(colour: Colour) -> Self {
        Self { light: light(colour), dark: dark(colour) }
    }
}

fn light(colour: Colour) -> Tokens {
    let own = Oklch::from(colour);
    let accent_soft = own.at(0.95).with_chroma_up_to(0.02).on_screen();
    let stands = |on: &[Colour], link: Colour| on.iter().all(|one| one.contrast(link) >= TEXT);
    let link = colour.moved(0.0, |link| stands(&[LIGHT.surface, LIGHT.page, accent_soft], link));
    let darker = colour.moved(0.0, |accent| accent.contrast(Colour::WHITE) >= TEXT);
    let darkened = own.lightness - Oklch::from(darker).lightness;
    let keeps_colour = darkened > MOST_DARKENED && colour.contrast(LIGHT.ink) >= TEXT;
    let (accent, on_accent) =
        if keeps_colour { (colour, LIGHT.ink) } else { (darker, Colour::WHITE) };
    let lighter = own.at(own.lightness + LIGHTER_BELOW_POINTER).on_screen();
    Tokens {
        panel: own.at(0.33).with_chroma_up_to(0.10).on_screen(),
        accent,
        on_accent,
        accent_edge: (accent.contrast(LIGHT.surface) < EDGE).then_some(link),
        accent_hover: keeps_colour.then_some(lighter),
        accent_soft,
        link,
    }
}

fn dark(colour: Colour) -> Tokens {
    let own = Oklch::from(colour);
    let accent_soft = own.at(0.29).with_chroma_up_to(0.04).on_screen();
    let on_accent = own.at(0.2).with_chroma_up_to(0.035).on_screen();
    let accent = colour.moved(1.0, |accent| {
        let grounds = [DARK.surface, DARK.page, accent_soft];
        accent.contrast(on_accent) >= TEXT_IN_THE_DARK
            && grounds.iter().all(|ground| ground.contrast(accent) >= TEXT)
    });
    Tokens {
        panel: own.at(0.28).with_chroma_up_to(0.075).on_screen(),
        accent,
        on_accent,
        accent_edge: None,
        accent_hover: None,
        accent_soft,
        link: accent,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Colours from everywhere: 13 steps of each channel, and every hue at full strength.
    fn many() -> Vec<Colour> {
        let steps = || (0..=255_u8).step_by(21);
        let mut all: Vec<Colour> = steps()
            .flat_map(|red| steps().map(move |green| (red, green)))
            .flat_map(|(red, green)| steps().map(move |blue| Colour::of([red, green, blue])))
            .collect();
        for degree in 0..360 {
            let hue = f64::from(degree).to_radians();
            all.push(Oklch { lightness: 0.7, chroma: 0.4, hue }.on_screen());
        }
        all
    }

    /// `share` of a colour over another, as `color-mix` and transparency have it, roughly.
    fn mixed(one: Colour, share: f64, other: Colour) -> Colour {
        let channels = |colour: Colour| {
            let text = colour.to_string();
            [1, 3, 5].map(|at| f64::from(u8::from_str_radix(&text[at..at + 2], 16).unwrap()))
        };
        let (one, other) = (channels(one), channels(other));
        let mix = |at: usize| (one[at] * share + other[at] * (1.0 - share)).round();
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "it is between 0 and 255"
        )]
        let mixed = [0, 1, 2].map(|at| mix(at) as u8);
        Colour::of(mixed)
    }

    #[test]
    fn no_text_has_a_contrast_under_four_and_a_half_whatever_the_colour() {
        let all = many();
        assert!(all.len() > 1_800, "{}", all.len());
        for colour in all {
            let Palette { light, dark } = Palette::of(colour);
            let reads = |what: &str, text: Colour, ground: Colour, least: f64| {
                let contrast = text.contrast(ground);
                assert!(contrast >= least, "{what} of {colour}: {text} on {ground} is {contrast}");
            };
            for (theme, ground) in [(light, LIGHT), (dark, DARK)] {
                reads("a panel", Colour::WHITE, theme.panel, 7.0);
                let quiet = mixed(Colour::WHITE, 0.78, theme.panel);
                reads("what follows, in a panel", quiet, theme.panel, TEXT);
                reads("a button", theme.on_accent, theme.accent, TEXT);
                let hover = theme.accent_hover;
                let hover = hover.unwrap_or_else(|| mixed(theme.accent, 0.88, ground.ink));
                reads("a button below a pointer", theme.on_accent, hover, TEXT);
                for behind in [ground.surface, ground.page, theme.accent_soft] {
                    reads("a link", theme.link, behind, TEXT);
                }
                reads("a note", ground.ink, theme.accent_soft, TEXT);
                let edge = theme.accent_edge.unwrap_or(theme.accent);
                reads("the edge of a button", edge, ground.surface, EDGE);
            }
            reads("a panel", Colour::WHITE, light.panel, 10.5);
            reads("a button in the dark", dark.on_accent, dark.accent, TEXT_IN_THE_DARK);
        }
    }

    #[test]
    fn a_colour_that_serves_as_it_is_stays_as_it_is() {
        let green = Colour::parse("#0b5c4a").unwrap();
        let light = Palette::of(green).light;
        assert_eq!((light.accent, light.on_accent, light.link), (green, Colour::WHITE, green));
        assert_eq!((light.accent_edge, light.accent_hover), (None, None));
    }

    #[test]
    fn a_light_colour_keeps_itself_and_gets_dark_text_and_an_edge() {
        let yellow = Colour::parse("#ffd400").unwrap();
        let light = Palette::of(yellow).light;
        assert_eq!((light.accent, light.on_accent), (yellow, LIGHT.ink));
        assert_eq!(light.accent_edge, Some(light.link));
        assert!(light.accent_hover.is_some());
    }

    #[test]
    fn a_colour_that_almost_serves_becomes_a_little_darker() {
        let orange = Colour::parse("#e8462b").unwrap();
        let light = Palette::of(orange).light;
        assert_eq!(light.on_accent, Colour::WHITE);
        let moved = Oklch::from(orange).lightness - Oklch::from(light.accent).lightness;
        assert!(moved > 0.0 && moved <= MOST_DARKENED, "{moved}");
    }

    #[test]
    fn the_grounds_are_those_of_the_style_sheet() {
        let sheet = include_str!("../../../assets/porteiro.css");
        let line = |theme: &Ground, white: &str| {
            let surface = theme.surface.to_string().replace("#ffffff", white);
            format!("--page: {}; --surface: {surface};", theme.page)
        };
        assert!(sheet.contains(&line(&LIGHT, "#fff")) && sheet.contains(&line(&DARK, "#fff")));
        for theme in [LIGHT, DARK] {
            assert!(sheet.contains(&format!("--ink: {};", theme.ink)));
        }
    }
}
