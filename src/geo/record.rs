//! What a city database says of an address, as far as it is used.

use crate::domain::{
    Locale,
    place::{GeoPoint, Place},
};
use serde::Deserialize;

/// The longest name that is repeated.
const LONGEST_NAME: usize = 64;

#[derive(Default, Deserialize)]
pub(super) struct CityRecord {
    #[serde(default)]
    city: NamedPlace,
    #[serde(default)]
    country: NamedPlace,
    #[serde(default)]
    location: Location,
}

#[derive(Default, Deserialize)]
struct NamedPlace {
    #[serde(default)]
    names: Names,
}

#[derive(Default, Deserialize)]
struct Names {
    #[serde(default)]
    en: Option<String>,
    #[serde(default, rename = "pt-BR")]
    pt: Option<String>,
}

#[derive(Default, Deserialize)]
struct Location {
    #[serde(default)]
    latitude: Option<f64>,
    #[serde(default)]
    longitude: Option<f64>,
    /// In kilometres.
    #[serde(default)]
    accuracy_radius: Option<u16>,
}

impl CityRecord {
    pub(super) fn place(&self, locale: Locale) -> Place {
        let names = [self.city.in_words(locale), self.country.in_words(locale)];
        let names: Vec<String> = names.into_iter().flatten().collect();
        let Location { latitude, longitude, accuracy_radius } = self.location;
        let point = latitude.zip(longitude).and_then(|(latitude, longitude)| {
            GeoPoint::of_degrees(latitude, longitude, accuracy_radius.unwrap_or(0))
        });
        Place { name: (!names.is_empty()).then(|| names.join(", ")), point }
    }
}

impl NamedPlace {
    /// Its name in this language, or in English.
    fn in_words(&self, locale: Locale) -> Option<String> {
        let Names { en, pt } = &self.names;
        let said = match locale {
            Locale::Portuguese => pt.as_ref().or(en.as_ref()),
            Locale::English => en.as_ref(),
        }?;
        let visible = said.chars().filter(|one| !one.is_control());
        let name: String = visible.take(LONGEST_NAME).collect();
        Some(name.trim().to_owned()).filter(|name| !name.is_empty())
    }
}
