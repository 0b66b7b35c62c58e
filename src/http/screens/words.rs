//! The sentences of screens, in the language of the person.

use crate::{domain::Locale, http::answer::html::escape, wording::Wording};
use fluent_bundle::FluentArgs;
use std::{fmt::Write as _, sync::LazyLock};

static SENTENCES: LazyLock<Wording> = LazyLock::new(Wording::of_screens);

/// Where a value stands in a sentence until everything else in it was escaped: characters of private
/// use, which no file of ours has.
const FIRST_MARK: u32 = 0xE000;

/// What is filled into a sentence.
pub type Values<'a> = [(&'a str, &'a str)];

/// Finds a sentence; its name, where there is none, which a test rules out.
pub fn say(locale: Locale, name: &str, values: &Values<'_>) -> String {
    let mut arguments = FluentArgs::new();
    for (key, value) in values {
        arguments.set(*key, *value);
    }
    say_with(locale, name, &arguments)
}

/// Finds a sentence that depends on a number: plurals differ between languages.
pub fn count(locale: Locale, name: &str, number: u32) -> String {
    let mut arguments = FluentArgs::new();
    arguments.set("number", number);
    say_with(locale, name, &arguments)
}

/// Writes the day of a time in RFC 3339, which is in UTC; the text itself where it is no such time.
pub fn date(locale: Locale, at: &str) -> String {
    let day = at.split('T').next().unwrap_or_default();
    let numbers: Vec<u32> = day.split('-').map_while(|part| part.parse().ok()).collect();
    let [year, month, day] = numbers[..] else { return at.to_owned() };
    let mut arguments = FluentArgs::new();
    arguments.set("year", year.to_string());
    arguments.set("month", month);
    arguments.set("day", day.to_string());
    say_with(locale, "date", &arguments)
}

/// Finds a sentence in which the values stand out, as HTML. What people and clients have chosen is
/// escaped, and cannot change the direction of what stands around it.
pub fn say_in_html(locale: Locale, name: &str, values: &Values<'_>) -> String {
    let mut arguments = FluentArgs::new();
    for ((key, _), mark) in values.iter().zip(marks()) {
        arguments.set(*key, mark.to_string());
    }
    let sentence = escape(&say_with(locale, name, &arguments));
    let mut html = String::with_capacity(sentence.len() + 64);
    for letter in sentence.chars() {
        match values.iter().zip(marks()).find(|(_, mark)| *mark == letter) {
            Some(((_, value), _)) => {
                let written = write!(html, "<b><bdi>{}</bdi></b>", escape(value));
                written.expect("a String takes it all");
            }
            None => html.push(letter),
        }
    }
    html
}

fn marks() -> impl Iterator<Item = char> {
    (FIRST_MARK..).map_while(char::from_u32)
}

fn say_with(locale: Locale, name: &str, arguments: &FluentArgs<'_>) -> String {
    SENTENCES.say(locale, (name, None), arguments).unwrap_or_else(|| {
        tracing::error!(name, locale = locale.tag(), "a sentence is missing");
        name.to_owned()
    })
}

#[cfg(test)]
mod tests;
