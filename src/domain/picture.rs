//! A small picture: what it is by its first bytes, how large, and whether it may be shown.
//!
//! What a server or a file name says of it does not count. A picture that moves is refused: it would
//! go on for as long as the page is open (WCAG 2.2, 2.2.2).

mod svg;

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::fmt;

/// How many bytes a picture may have.
pub const LARGEST: usize = 32 * 1024;

/// How many points a side may have: few bytes can unpack to a great many points.
const LONGEST_SIDE: u32 = 2_048;

/// How many bytes of its hash a picture is known by.
const HASH: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    Png,
    Jpeg,
    Webp,
    Svg,
}

impl Format {
    /// The ending of a file's name.
    pub fn ending(self) -> &'static str {
        match self {
            Self::Png => "png",
            Self::Jpeg => "jpg",
            Self::Webp => "webp",
            Self::Svg => "svg",
        }
    }

    pub fn media_type(self) -> &'static str {
        match self {
            Self::Png => "image/png",
            Self::Jpeg => "image/jpeg",
            Self::Webp => "image/webp",
            Self::Svg => "image/svg+xml",
        }
    }
}

/// What is known of a picture without its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PictureFacts {
    pub format: Format,
    pub width: u32,
    pub height: u32,
    /// Of its bytes.
    pub hash: String,
}

/// A picture that was looked at.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Picture {
    #[serde(flatten)]
    pub facts: PictureFacts,
    #[serde(with = "in_base64")]
    pub bytes: Vec<u8>,
}

/// Shows what is known of it, and not its bytes.
impl fmt::Debug for Picture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.facts.fmt(f)
    }
}

/// Why a picture is not shown.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    #[error("holds more than {} KiB", LARGEST / 1024)]
    Large,
    #[error("is no PNG, JPEG or WebP picture")]
    Unknown,
    #[error("is no PNG, JPEG, WebP or SVG picture")]
    UnknownOrSvg,
    #[error("is broken off, or does not say how large it is")]
    Broken,
    #[error("has sides of no point, or of more than {LONGEST_SIDE}")]
    Sides,
    #[error("moves")]
    Moves,
    #[error("is no picture in base64, as in `data:image/png;base64,…`")]
    DataUrl,
    #[error("has `{0}` in it, which a picture of ours has not")]
    Svg(&'static str),
}

impl Picture {
    /// Takes a PNG, JPEG or WebP picture.
    pub fn of_points(bytes: Vec<u8>) -> Result<Self, Fault> {
        if bytes.len() > LARGEST {
            return Err(Fault::Large);
        }
        let (format, size) = if bytes.starts_with(b"\x89PNG\r\n\x1a\n") {
            (Format::Png, png(&bytes)?)
        } else if bytes.starts_with(b"\xff\xd8\xff") {
            (Format::Jpeg, jpeg(&bytes).ok_or(Fault::Broken)?)
        } else if bytes.starts_with(b"RIFF") && bytes.get(8..12) == Some(b"WEBP") {
            (Format::Webp, webp(&bytes)?)
        } else {
            return Err(Fault::Unknown);
        };
        let (width, height) = size;
        if [width, height].iter().any(|side| !(1..=LONGEST_SIDE).contains(side)) {
            return Err(Fault::Sides);
        }
        Ok(Self::new(format, size, bytes))
    }

    /// Takes an SVG as well; for those whom the operator trusts.
    pub fn of_any(bytes: Vec<u8>) -> Result<Self, Fault> {
        if bytes.len() > LARGEST {
            return Err(Fault::Large);
        }
        let text = std::str::from_utf8(&bytes).ok().filter(|text| svg::is_one(text));
        match text.map(svg::check).transpose()? {
            Some(size) => Ok(Self::new(Format::Svg, size, bytes)),
            None => Self::of_points(bytes).map_err(|fault| match fault {
                Fault::Unknown => Fault::UnknownOrSvg,
                other => other,
            }),
        }
    }

    /// Takes any of them out of a `data` URL (RFC 2397) in base64; its media type does not count.
    pub fn of_data_url(text: &str) -> Result<Self, Fault> {
        let (head, data) = text.split_once(',').ok_or(Fault::DataUrl)?;
        if !head.ends_with(";base64") {
            return Err(Fault::DataUrl);
        }
        if data.len() > LARGEST.div_ceil(3) * 4 {
            return Err(Fault::Large);
        }
        Self::of_any(STANDARD.decode(data).map_err(|_| Fault::DataUrl)?)
    }

    /// Returns the whole of it as a `data` URL.
    pub fn data_url(&self) -> String {
        format!("data:{};base64,{}", self.facts.format.media_type(), STANDARD.encode(&self.bytes))
    }

    fn new(format: Format, (width, height): Size, bytes: Vec<u8>) -> Self {
        let hash = URL_SAFE_NO_PAD.encode(&Sha256::digest(&bytes)[..HASH]);
        Self { facts: PictureFacts { format, width, height, hash }, bytes }
    }
}

/// Width and height.
type Size = (u32, u32);

fn big_endian(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(bytes.try_into().ok()?))
}

/// ISO/IEC 15948: chunks of a length, a name, so many bytes and a checksum.
fn png(bytes: &[u8]) -> Result<Size, Fault> {
    let mut size = None;
    let mut at = 8;
    loop {
        let length = big_endian(bytes, at).ok_or(Fault::Broken)? as usize;
        match bytes.get(at + 4..at + 8).ok_or(Fault::Broken)? {
            b"IHDR" => size = big_endian(bytes, at + 8).zip(big_endian(bytes, at + 12)),
            b"acTL" => return Err(Fault::Moves),
            b"IDAT" => return size.ok_or(Fault::Broken),
            _ => {}
        }
        // Lengths are small: a picture is.
        at = at.saturating_add(length).saturating_add(12);
        if at > bytes.len() {
            return Err(Fault::Broken);
        }
    }
}

/// ISO/IEC 10918-1 annex B: segments of a marker and a length, one of which begins the frame.
fn jpeg(bytes: &[u8]) -> Option<Size> {
    let number = |at: usize| {
        let bytes = bytes.get(at..at + 2)?;
        Some(u32::from(u16::from_be_bytes(bytes.try_into().ok()?)))
    };
    let mut at = 2;
    loop {
        if *bytes.get(at)? != 0xff {
            return None;
        }
        match *bytes.get(at + 1)? {
            // Any number of these may stand before a marker.
            0xff => at += 1,
            0xc0..=0xc3 | 0xc5..=0xc7 | 0xc9..=0xcb | 0xcd..=0xcf => {
                return Some((number(at + 7)?, number(at + 5)?));
            }
            // Scans begin, and no frame has.
            0xda => return None,
            _ => at += 2 + number(at + 2)? as usize,
        }
    }
}

/// RFC 9649.
fn webp(bytes: &[u8]) -> Result<Size, Fault> {
    /// The bit of a file that has an animation.
    const MOVES: u8 = 0b10;
    let byte = |at: usize| bytes.get(at).map(|byte| u32::from(*byte)).ok_or(Fault::Broken);
    let two = |at: usize| Ok(byte(at)? | byte(at + 1)? << 8);
    match bytes.get(12..16) {
        Some(b"VP8 ") if bytes.get(23..26) == Some(b"\x9d\x01\x2a") => {
            Ok((two(26)? & 0x3fff, two(28)? & 0x3fff))
        }
        Some(b"VP8L") if bytes.get(20) == Some(&0x2f) => {
            let bits = two(21)? | two(23)? << 16;
            Ok(((bits & 0x3fff) + 1, (bits >> 14 & 0x3fff) + 1))
        }
        Some(b"VP8X") if bytes.get(20).is_some_and(|flags| flags & MOVES != 0) => Err(Fault::Moves),
        Some(b"VP8X") => Ok(((two(24)? | byte(26)? << 16) + 1, (two(27)? | byte(29)? << 16) + 1)),
        _ => Err(Fault::Broken),
    }
}

/// Bytes in a row of the store, which is text.
mod in_base64 {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use serde::{Deserialize as _, Deserializer, Serializer, de::Error as _};

    pub(super) fn serialize<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
        to.serialize_str(&STANDARD.encode(bytes))
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Vec<u8>, D::Error> {
        let text = String::deserialize(from)?;
        STANDARD.decode(text).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests;
