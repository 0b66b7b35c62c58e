//! A place on earth, as a database of addresses tells it: enough to recognise it, and to tell whether a person can have
//! come from there.

use serde::{Deserialize, Serialize};

/// The mean radius of the earth.
const EARTH_KM: f64 = 6_371.0;

/// A place that an address belongs to. What the database does not say is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// What people call it, such as “Lisbon, Portugal”.
    pub name: Option<String>,
    pub point: Option<GeoPoint>,
}

/// A point to about ten kilometres: more would say where a person lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GeoPoint {
    /// Tenths of a degree to the north.
    #[serde(rename = "n")]
    north: i16,
    /// Tenths of a degree to the east.
    #[serde(rename = "e")]
    east: i16,
    /// How far from it the address may be.
    #[serde(rename = "r", default)]
    radius_km: u16,
}

impl GeoPoint {
    /// Reads degrees; `None` where there is no such point.
    pub fn of_degrees(latitude: f64, longitude: f64, radius_km: u16) -> Option<Self> {
        let on_earth = latitude.abs() <= 90.0 && longitude.abs() <= 180.0;
        #[expect(clippy::cast_possible_truncation, reason = "at most 1,800, as was looked at")]
        let tenths = |degrees: f64| (degrees * 10.0).round() as i16;
        on_earth.then(|| Self { north: tenths(latitude), east: tenths(longitude), radius_km })
    }

    /// Returns the kilometres that certainly lie between two places: what is not known exactly counts for nothing.
    pub fn least_distance_km(self, other: Self) -> u32 {
        let radians = |tenths: i16| (f64::from(tenths) / 10.0).to_radians();
        let (from, to) = (radians(self.north), radians(other.north));
        let across = radians(other.east) - radians(self.east);
        let half = ((to - from) / 2.0).sin().powi(2)
            + from.cos() * to.cos() * (across / 2.0).sin().powi(2);
        let distance = 2.0 * EARTH_KM * half.clamp(0.0, 1.0).sqrt().asin();
        let unsure = f64::from(self.radius_km) + f64::from(other.radius_km);
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "at most half of the equator, and not below zero"
        )]
        let certain = (distance - unsure).max(0.0) as u32;
        certain
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn point(latitude: f64, longitude: f64, radius: u16) -> GeoPoint {
        GeoPoint::of_degrees(latitude, longitude, radius).unwrap()
    }

    #[test]
    fn a_distance_is_that_of_a_great_circle_less_what_is_not_known() {
        let (lisbon, sydney) = (point(38.72, -9.14, 0), point(-33.87, 151.21, 0));
        let between = lisbon.least_distance_km(sydney);
        assert!((18_000..18_400).contains(&between), "{between}");
        assert_eq!(between, sydney.least_distance_km(lisbon));
        let unsure = point(38.72, -9.14, 1_000).least_distance_km(point(-33.87, 151.21, 500));
        assert!(between - unsure == 1_500 || between - unsure == 1_499, "{unsure}");
        assert_eq!(lisbon.least_distance_km(lisbon), 0);
        assert_eq!(point(38.72, -9.14, 100).least_distance_km(point(38.8, -9.2, 100)), 0);
        // On both sides of the date line.
        assert!(point(0.0, 179.9, 0).least_distance_km(point(0.0, -179.9, 0)) < 30);
    }

    #[test]
    fn what_is_not_on_earth_is_no_point() {
        for (latitude, longitude) in
            [(90.1, 0.0), (0.0, 180.1), (f64::NAN, 0.0), (0.0, f64::INFINITY), (-1e300, 0.0)]
        {
            assert_eq!(GeoPoint::of_degrees(latitude, longitude, 1), None);
        }
        assert!(GeoPoint::of_degrees(-90.0, 180.0, u16::MAX).is_some());
    }
}
