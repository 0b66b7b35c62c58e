//! An SVG: drawn by a browser as a picture, in which nothing runs and nothing is fetched.
//!
//! That rests on how it is served: as an image, with a policy that allows nothing (adr/0076). What is
//! refused here beside would not be shown, or would move; an operator is told of it at once.

use super::{Fault, Size};

/// The height that an SVG is given, which has no points: its sides are a proportion.
const HEIGHT: f64 = 240.0;
/// How many times as wide as high it may be, or as high as wide.
const LONGEST: f64 = 16.0;

/// Elements that run, fetch, hold other documents, or move.
const ELEMENTS: [&str; 15] = [
    "script",
    "foreignobject",
    "iframe",
    "object",
    "embed",
    "audio",
    "video",
    "canvas",
    "handler",
    "listener",
    "animate",
    "animatetransform",
    "animatemotion",
    "animatecolor",
    "set",
];

/// Tells whether a text begins as an SVG does.
pub(super) fn is_one(text: &str) -> bool {
    root(text).is_some()
}

/// Returns what the `svg` element says, after the declaration and comments.
fn root(text: &str) -> Option<&str> {
    let mut rest = text.trim_start_matches('\u{feff}').trim_start();
    loop {
        let end = match rest {
            _ if rest.starts_with("<?") => "?>",
            _ if rest.starts_with("<!--") => "-->",
            // A document type, which may hold anything; it is refused by its name.
            _ if rest.starts_with("<!") => {
                rest = &rest[rest.find("<svg")?..];
                break;
            }
            _ => break,
        };
        rest = rest[rest.find(end)? + end.len()..].trim_start();
    }
    let inside = rest.strip_prefix("<svg")?;
    let inside = inside.strip_prefix(|next: char| next.is_ascii_whitespace() || next == '>')?;
    Some(inside.split('>').next().unwrap_or_default())
}

/// Returns its proportion, or says what is in it that may not be.
pub(super) fn check(text: &str) -> Result<Size, Fault> {
    let small = text.to_ascii_lowercase();
    for (forbidden, told) in [
        ("<!doctype", "<!DOCTYPE"),
        ("<!entity", "<!ENTITY"),
        ("<?xml-stylesheet", "<?xml-stylesheet"),
        ("javascript:", "javascript:"),
        ("@import", "@import"),
        ("animation", "animation"),
    ] {
        if small.contains(forbidden) {
            return Err(Fault::Svg(told));
        }
    }
    for (at, _) in small.match_indices('<') {
        let is_name = |letter: char| letter.is_ascii_alphanumeric() || ":-_.".contains(letter);
        let after = &small[at + 1..];
        let name = &after[..after.find(|letter| !is_name(letter)).unwrap_or(after.len())];
        // A prefix may stand for any namespace.
        let name = name.rsplit(':').next().unwrap_or_default();
        if let Some(element) = ELEMENTS.iter().find(|element| **element == name) {
            return Err(Fault::Svg(element));
        }
    }
    if has_handler(&small) {
        return Err(Fault::Svg("on…="));
    }
    // Only what is in the file itself.
    for (name, told) in [("href", "href"), ("url(", "url()"), ("src", "src")] {
        for (at, _) in small.match_indices(name) {
            let rest = small[at + name.len()..].trim_start();
            let value = if name == "url(" { Some(rest) } else { rest.strip_prefix('=') };
            let value = value.map(|value| value.trim_start().trim_start_matches(['"', '\'']));
            let outside =
                |value: &str| !value.starts_with('#') && !value.starts_with("data:image/");
            if value.is_some_and(|value| outside(value.trim_start())) {
                return Err(Fault::Svg(told));
            }
        }
    }
    size(root(text).unwrap_or_default()).ok_or(Fault::Broken)
}

/// Tells whether an attribute would handle an event.
fn has_handler(small: &str) -> bool {
    small.match_indices("on").any(|(at, _)| {
        let before = small[..at].chars().next_back();
        let begins =
            before.is_some_and(|before| before.is_ascii_whitespace() || "\"'/".contains(before));
        let rest = small[at + 2..].trim_start_matches(|next: char| next.is_ascii_alphabetic());
        let named = rest.len() + 2 < small[at..].len();
        begins && named && rest.trim_start().starts_with('=')
    })
}

/// Reads the proportion off the element: by its view, or by its sides.
fn size(element: &str) -> Option<Size> {
    let view = attribute(element, "viewBox").map(|view| {
        let numbers = view.split(|c: char| c.is_ascii_whitespace() || c == ',');
        numbers.filter(|number| !number.is_empty()).map(str::parse).collect::<Result<Vec<f64>, _>>()
    });
    let (width, height) = match view {
        Some(view) => match view.ok()?[..] {
            [_, _, width, height] => (width, height),
            _ => return None,
        },
        None => (side(attribute(element, "width")?)?, side(attribute(element, "height")?)?),
    };
    let times = width / height;
    // What is no number fits nowhere.
    if !(width > 0.0 && height > 0.0 && (1.0 / LONGEST..=LONGEST).contains(&times)) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "both are a few thousand at most"
    )]
    Some(((times * HEIGHT).round() as u32, HEIGHT as u32))
}

fn side(text: &str) -> Option<f64> {
    text.trim().strip_suffix("px").unwrap_or(text.trim()).parse().ok()
}

/// Returns the value of an attribute.
fn attribute<'a>(element: &'a str, name: &str) -> Option<&'a str> {
    element.match_indices(name).find_map(|(at, _)| {
        let before = element[..at].chars().next_back();
        let rest = element[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
        let quote = rest.chars().next().filter(|quote| "\"'".contains(*quote))?;
        let begins = before.is_none_or(|before| before.is_ascii_whitespace());
        begins.then(|| rest[1..].split(quote).next()).flatten()
    })
}
