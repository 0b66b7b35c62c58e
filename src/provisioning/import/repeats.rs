//! Objects in which a member is given twice: one reader would take the first, another the last.

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use std::{collections::HashSet, fmt};

/// What is said of one.
pub(super) const REPEATED: &str = "a member of an object is repeated";

/// Returns the line near which a member is repeated, if one is; other mistakes are not looked for.
pub(super) fn repeated(text: &str) -> Option<usize> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let read = RepeatChecker.deserialize(&mut deserializer);
    let error = read.err().filter(serde_json::Error::is_data)?;
    Some(error.line())
}

/// Reads a value and keeps nothing of it but the names of the objects that are open.
#[derive(Clone, Copy)]
struct RepeatChecker;

impl<'de> DeserializeSeed<'de> for RepeatChecker {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for RepeatChecker {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        while entries.next_element_seed(self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        let mut names = HashSet::new();
        while let Some(name) = members.next_key::<String>()? {
            if !names.insert(name) {
                members.next_value::<IgnoredAny>()?;
                return Err(A::Error::custom(REPEATED));
            }
            members.next_value_seed(self)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_member_is_found_at_any_depth_and_near_its_line() {
        for sound in
            ["{}", "[1, 2.5, -3, null, true, \"a\"]", "{\"a\":{\"a\":[{\"a\":1},{\"a\":1}]}}"]
        {
            assert_eq!(repeated(sound), None, "{sound}");
        }
        assert_eq!(repeated("{\"a\":1,\"a\":1}"), Some(1));
        assert_eq!(repeated("{\"a\":1,\"\\u0061\":1}"), Some(1), "the same name, escaped");
        let deep = "{\n\"users\": [\n{\"x\": {\"a\": 1,\n\"b\": 2, \"a\": 3}}\n]\n}";
        assert_eq!(repeated(deep), Some(4));
        for broken in ["", "{", "{\"a\":", "nope", &"[".repeat(100_000)] {
            assert_eq!(repeated(broken), None, "others say what is wrong with it");
        }
    }
}
