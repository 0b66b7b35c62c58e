//! A colour of a screen, its contrast with another (WCAG 2.2), and the way to OKLCH and back, in which
//! lightness can change while the hue stays.

use serde::{Deserialize, Serialize};
use std::fmt;

/// A colour of sRGB, written `#a1b2c3`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Colour {
    channels: [u8; 3],
}

/// Not the text of a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a colour is # and six hexadecimal digits")]
pub struct MalformedColour;

impl Colour {
    pub const WHITE: Self = Self::of([0xff, 0xff, 0xff]);

    pub const fn of(channels: [u8; 3]) -> Self {
        Self { channels }
    }

    /// Reads `#a1b2c3`.
    pub fn parse(text: &str) -> Result<Self, MalformedColour> {
        let digits = text.strip_prefix('#').filter(|digits| digits.len() == 6);
        let digits = digits.filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        let number = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let [_, red, green, blue] = number.ok_or(MalformedColour)?.to_be_bytes();
        Ok(Self::of([red, green, blue]))
    }

    /// Returns how much light it gives off, from 0 to 1 (WCAG 2.2, relative luminance).
    fn luminance(self) -> f64 {
        let [red, green, blue] = self.linear();
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    /// Returns the contrast of two colours, from 1 to 21; it does not matter which is the text.
    pub fn contrast(self, other: Self) -> f64 {
        let (one, two) = (self.luminance(), other.luminance());
        (one.max(two) + 0.05) / (one.min(two) + 0.05)
    }

    fn linear(self) -> Vector {
        self.channels.map(|channel| {
            let value = f64::from(channel) / 255.0;
            if value <= 0.040_45 { value / 12.92 } else { ((value + 0.055) / 1.055).powf(2.4) }
        })
    }

    /// Returns what comes nearest on a screen.
    fn of_linear(linear: Vector) -> Self {
        Self::of(linear.map(|value| {
            let value = value.clamp(0.0, 1.0);
            let curved = if value <= 0.003_130_8 {
                value * 12.92
            } else {
                1.055 * value.powf(1.0 / 2.4) - 0.055
            };
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "it is between 0 and 255"
            )]
            let channel = (curved * 255.0).round() as u8;
            channel
        }))
    }
}

impl fmt::Display for Colour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [red, green, blue] = self.channels;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")
    }
}

impl TryFrom<String> for Colour {
    type Error = MalformedColour;

    fn try_from(text: String) -> Result<Self, MalformedColour> {
        Self::parse(&text)
    }
}

impl From<Colour> for String {
    fn from(colour: Colour) -> Self {
        colour.to_string()
    }
}

type Vector = [f64; 3];
type Matrix = [Vector; 3];

fn times(matrix: &Matrix, vector: Vector) -> Vector {
    matrix.map(|row| row.iter().zip(vector).map(|(factor, value)| factor * value).sum())
}

/// From linear light to the three sorts of cones.
const TO_CONES: Matrix = [
    [0.412_221_470_8, 0.536_332_536_3, 0.051_445_992_9],
    [0.211_903_498_2, 0.680_699_545_1, 0.107_396_956_6],
    [0.088_302_461_9, 0.281_718_837_6, 0.629_978_700_5],
];
/// From the cube roots of those to lightness and two axes of colour.
const TO_LAB: Matrix = [
    [0.210_454_255_3, 0.793_617_785_0, -0.004_072_046_8],
    [1.977_998_495_1, -2.428_592_205_0, 0.450_593_709_9],
    [0.025_904_037_1, 0.782_771_766_2, -0.808_675_766_0],
];
const FROM_LAB: Matrix = [
    [1.0, 0.396_337_777_4, 0.215_803_757_3],
    [1.0, -0.105_561_345_8, -0.063_854_172_8],
    [1.0, -0.089_484_177_5, -1.291_485_548_0],
];
const FROM_CONES: Matrix = [
    [4.076_741_662_1, -3.307_711_591_3, 0.230_969_929_2],
    [-1.268_438_004_6, 2.609_757_401_1, -0.341_319_396_5],
    [-0.004_196_086_3, -0.703_418_614_7, 1.707_614_701_0],
];

/// How often an interval is halved: to less than a step of a screen.
const HALVINGS: usize = 14;

/// How far outside a screen's range a value may be and still be rounded into it.
const ROUNDING: f64 = 0.000_5;

/// A colour by lightness (0 to 1), chroma and hue.
#[derive(Clone, Copy, Debug)]
pub struct Oklch {
    pub lightness: f64,
    pub chroma: f64,
    /// In radians; of no meaning where there is no chroma.
    pub hue: f64,
}

impl From<Colour> for Oklch {
    fn from(colour: Colour) -> Self {
        let cones = times(&TO_CONES, colour.linear()).map(f64::cbrt);
        let [lightness, along, across] = times(&TO_LAB, cones);
        Self { lightness, chroma: along.hypot(across), hue: across.atan2(along) }
    }
}

impl Oklch {
    pub fn at(self, lightness: f64) -> Self {
        Self { lightness, ..self }
    }

    pub fn with_chroma_up_to(self, most: f64) -> Self {
        Self { chroma: self.chroma.min(most), ..self }
    }

    fn linear(self) -> Vector {
        let (sine, cosine) = self.hue.sin_cos();
        let lab = [self.lightness, self.chroma * cosine, self.chroma * sine];
        times(&FROM_CONES, times(&FROM_LAB, lab).map(|root| root.powi(3)))
    }

    fn is_on_screens(self) -> bool {
        self.linear().iter().all(|value| (-ROUNDING..=1.0 + ROUNDING).contains(value))
    }

    /// Returns the colour of a screen: chroma gives way where the screen has not so much of it.
    pub fn on_screen(self) -> Colour {
        let whole = Self { lightness: self.lightness.clamp(0.0, 1.0), ..self };
        if whole.is_on_screens() {
            return Colour::of_linear(whole.linear());
        }
        let (mut fits, mut too_much) = (0.0, whole.chroma);
        for _ in 0..HALVINGS {
            let chroma = f64::midpoint(fits, too_much);
            if (Self { chroma, ..whole }).is_on_screens() {
                fits = chroma;
            } else {
                too_much = chroma;
            }
        }
        Colour::of_linear(Self { chroma: fits, ..whole }.linear())
    }
}

impl Colour {
    /// Returns the colour itself where it suits, else the nearest in lightness towards `end` that does;
    /// at `end` itself it must.
    pub fn moved(self, end: f64, suits: impl Fn(Self) -> bool) -> Self {
        if suits(self) {
            return self;
        }
        let own = Oklch::from(self);
        let (mut good, mut bad) = (end, own.lightness);
        for _ in 0..HALVINGS {
            let between = f64::midpoint(good, bad);
            if suits(own.at(between).on_screen()) {
                good = between;
            } else {
                bad = between;
            }
        }
        own.at(good).on_screen()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_colour_is_written_in_one_way() {
        let colour = Colour::parse("#0B5c4a").unwrap();
        assert_eq!(colour.to_string(), "#0b5c4a");
        assert_eq!(serde_json::to_string(&colour).unwrap(), "\"#0b5c4a\"");
        for bad in ["", "#", "0b5c4a", "#0b5c4", "#0b5c4a0", "#0b5c4g", "#+b5c4a", "red", "#çç"] {
            assert_eq!(Colour::parse(bad), Err(MalformedColour), "{bad}");
            assert!(serde_json::from_value::<Colour>(bad.into()).is_err());
        }
    }

    #[test]
    fn contrast_is_that_of_wcag() {
        let near = |one: &str, two: &str, expected: f64| {
            let contrast = Colour::parse(one).unwrap().contrast(Colour::parse(two).unwrap());
            assert!((contrast - expected).abs() < 0.05, "{one} on {two}: {contrast}");
        };
        near("#ffffff", "#000000", 21.0);
        near("#000000", "#ffffff", 21.0);
        near("#777777", "#777777", 1.0);
        near("#767676", "#ffffff", 4.54);
        near("#13201b", "#ffffff", 16.8);
        near("#a3241c", "#ffffff", 7.4);
    }

    #[test]
    fn every_colour_of_a_screen_comes_back_from_oklch() {
        for number in (0..0x0100_0000_u32).step_by(9_973) {
            let [_, red, green, blue] = number.to_be_bytes();
            let colour = Colour::of([red, green, blue]);
            assert_eq!(Oklch::from(colour).on_screen(), colour);
        }
        let white = Oklch::from(Colour::WHITE);
        assert!((white.lightness - 1.0).abs() < 0.001 && white.chroma < 0.001, "{white:?}");
    }

    #[test]
    fn chroma_gives_way_and_hue_stays() {
        let red = Oklch::from(Colour::of([255, 0, 0]));
        let pale = Oklch::from(red.at(0.95).on_screen());
        assert!((pale.lightness - 0.95).abs() < 0.01 && pale.chroma < red.chroma, "{pale:?}");
        assert!((pale.hue - red.hue).abs() < 0.1, "{pale:?}");
        assert_eq!(red.at(1.5).on_screen(), Colour::WHITE);
        assert!(red.at(-1.0).on_screen().contrast(Colour::WHITE) > 20.5);
    }
}
