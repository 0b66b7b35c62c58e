//! `[organization.brand]`: colour, logo and a sentence, which replace those held.

use super::table::{Reading, Table};
use crate::{
    config::{DocumentValue, Section},
    domain::{
        brand::{Colour, Draft, Texts},
        is_hidden,
        picture::{LARGEST, Picture},
    },
};

/// How many logos a file may name: all of them are held until it is applied.
const MOST_LOGOS: usize = 1_000;
/// How many characters the sentence may have.
const LONGEST_TEXT: usize = 160;

pub(super) fn read(section: Section, reading: &mut Reading) -> Draft {
    let mut table = Table::new("organization.brand", section, reading);
    let colour = colour(&mut table);
    let logo = logo(&mut table);
    let text = text(&mut table);
    table.finish();
    Draft { colour, logo, text }
}

fn colour(table: &mut Table<'_>) -> Option<Colour> {
    let DocumentValue { value, line } = table.text("colour")?;
    let colour = Colour::parse(&value);
    if let Err(why) = colour {
        table.complain_of("colour", line, &format!("is none: {why}"));
    }
    colour.ok()
}

/// Takes a picture that is written there, as an export has it, or reads the file that is named, as it is now.
fn logo(table: &mut Table<'_>) -> Option<Picture> {
    let DocumentValue { value, line } = table.text("logo")?;
    table.reading.logos += 1;
    if table.reading.logos > MOST_LOGOS {
        table.complain_of("logo", line, &format!("is one of more than {MOST_LOGOS} logos"));
        return None;
    }
    if value.starts_with("data:") {
        let picture = Picture::of_data_url(&value);
        if let Err(why) = &picture {
            table.complain_of("logo", line, &format!("cannot be used: it {why}"));
        }
        return picture.ok();
    }
    table.named_file("logo", DocumentValue { value, line }, LARGEST, |bytes| {
        Picture::of_any(bytes).map_err(|fault| fault.to_string())
    })
}

/// Takes the sentence, which is there in every language or in none.
fn text(table: &mut Table<'_>) -> Option<Texts> {
    let section = table.table("text")?;
    let mut texts = Table::new("organization.brand.text", section, table.reading);
    texts.demand(&["en", "pt"]);
    let (en, pt) = (sentence(&mut texts, "en"), sentence(&mut texts, "pt"));
    texts.finish();
    Some(Texts { en: en?, pt: pt? })
}

fn sentence(table: &mut Table<'_>, key: &'static str) -> Option<String> {
    let DocumentValue { value, line } = table.text(key)?;
    let wrong = if value.trim().is_empty() {
        "must not be empty".to_owned()
    } else if value.chars().count() > LONGEST_TEXT {
        format!("holds more than {LONGEST_TEXT} characters")
    } else if value.chars().any(is_hidden) {
        "contains a character that cannot be seen".to_owned()
    } else {
        return Some(value);
    };
    table.complain_of(key, line, &wrong);
    None
}
