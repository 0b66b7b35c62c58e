//! Writes values as TOML has them.

use serde_json::Value;
use std::fmt::Write as _;

/// A table that is being written, a line for each key.
#[derive(Default)]
pub(super) struct Rows(String);

impl Rows {
    /// Begins with a header: `[table]` or `[[list]]`.
    pub(super) fn of(header: &str) -> Self {
        let mut rows = Self::default();
        rows.line(header);
        rows
    }

    pub(super) fn line(&mut self, text: &str) {
        self.0.push_str(text);
        self.0.push('\n');
    }

    /// Writes a comment of our own words; values of others stand in it as [`text`] writes them.
    pub(super) fn comment(&mut self, words: &str) {
        self.line(&format!("# {words}"));
    }

    pub(super) fn pair(&mut self, name: &str, value: &Value) {
        if let Some(value) = inline(value) {
            self.line(&format!("{} = {value}", key(name)));
        }
    }

    pub(super) fn text(&mut self, name: &str, value: &str) {
        self.line(&format!("{} = {}", key(name), text(value)));
    }

    /// Writes a flag, where it is as a file would not have it by itself.
    pub(super) fn flag(&mut self, name: &str, value: bool) {
        if value {
            self.line(&format!("{name} = true"));
        }
    }

    pub(super) fn finish(self) -> String {
        self.0
    }

    /// Makes a comment of every line.
    pub(super) fn commented_out(self) -> String {
        self.0.lines().fold(String::new(), |mut all, line| {
            let _ = writeln!(all, "# {line}");
            all
        })
    }
}

/// Writes a text on one line, whatever is in it.
pub(super) fn text(value: &str) -> String {
    let mut written = String::with_capacity(value.len() + 2);
    written.push('"');
    for letter in value.chars() {
        match letter {
            '"' | '\\' => {
                written.push('\\');
                written.push(letter);
            }
            // Line breaks of every kind are among them.
            _ if letter.is_control() || matches!(letter, '\u{2028}' | '\u{2029}') => {
                let _ = write!(written, "\\u{:04X}", u32::from(letter));
            }
            _ => written.push(letter),
        }
    }
    written.push('"');
    written
}

/// Writes a list of texts.
pub(super) fn texts<'a>(values: impl IntoIterator<Item = &'a str>) -> String {
    format!("[{}]", values.into_iter().map(text).collect::<Vec<_>>().join(", "))
}

fn key(name: &str) -> String {
    let is_bare = |byte: u8| byte.is_ascii_alphanumeric() || b"_-".contains(&byte);
    if !name.is_empty() && name.bytes().all(is_bare) { name.to_owned() } else { text(name) }
}

/// Writes a value on one line; TOML has no null.
fn inline(value: &Value) -> Option<String> {
    Some(match value {
        Value::Null => return None,
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(value) => text(value),
        Value::Array(values) => {
            let values: Vec<String> = values.iter().filter_map(inline).collect();
            format!("[{}]", values.join(", "))
        }
        Value::Object(members) => {
            let pair = |(name, value): (&String, &Value)| {
                Some(format!("{} = {}", key(name), inline(value)?))
            };
            let pairs: Vec<String> = members.iter().filter_map(pair).collect();
            if pairs.is_empty() { "{}".to_owned() } else { format!("{{ {} }}", pairs.join(", ")) }
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_as_it_was_whatever_is_in_it() {
        let values = json!({
            "plain": "Acme Lda",
            "quotes": "\"'''\"\"\" \\ \\\\u0041",
            "breaks": "a\nb\r\n[[client]]\nclient_id = \"x\"\u{2028}\u{85}\u{0}\u{7f}",
            "emoji # of = [a] table": "🦊",
            "": [1, true, ["x", { "deep er": "y", "none": null }]],
            "given_name#pt": "Conceição",
        });
        let mut rows = Rows::of("[values]");
        for (name, value) in values.as_object().unwrap() {
            rows.pair(name, value);
        }
        let written = rows.finish();
        assert_eq!(written.lines().count(), 7, "{written}");
        let read: toml::Table = toml::from_str(&written).unwrap();
        let mut expected = values.clone();
        expected[""][2][1] = json!({ "deep er": "y" });
        assert_eq!(serde_json::to_value(&read["values"]).unwrap(), expected);
        let mut rows = Rows::of("[x]");
        rows.text("name", "a\nslug = \"b\"");
        assert!(toml::from_str::<toml::Table>(&rows.commented_out()).unwrap().is_empty());
    }
}
