//! Distinguished names, as certificates hold them and as people write them (RFC 4514).
//!
//! Two names are the same if they have the same attributes in the same order, and each has the same characters. A name is not
//! folded: `Acme` is not `ACME`, for what is registered is copied from the certificate.

use std::fmt;

/// A name, its most specific part first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DistinguishedName(Vec<Vec<Attribute>>);

/// One attribute of a name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attribute {
    /// Its type, as an object identifier with dots.
    kind: String,
    value: AttributeValue,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AttributeValue {
    Text(String),
    /// A value that is no text: the tag of its type, and its bytes.
    Other(u8, Vec<u8>),
}

/// Not a distinguished name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a distinguished name is written like CN=client,O=Example,C=PT")]
pub struct MalformedName;

/// The names of types that may stand for their identifiers: RFC 4514 §3, and those that tools and directories write.
const TYPES: &[(&str, &str)] = &[
    ("CN", "2.5.4.3"),
    ("L", "2.5.4.7"),
    ("ST", "2.5.4.8"),
    ("O", "2.5.4.10"),
    ("OU", "2.5.4.11"),
    ("C", "2.5.4.6"),
    ("STREET", "2.5.4.9"),
    ("DC", "0.9.2342.19200300.100.1.25"),
    ("UID", "0.9.2342.19200300.100.1.1"),
    ("emailAddress", "1.2.840.113549.1.9.1"),
    ("serialNumber", "2.5.4.5"),
    ("SN", "2.5.4.4"),
    ("GN", "2.5.4.42"),
    ("title", "2.5.4.12"),
    ("initials", "2.5.4.43"),
    ("generationQualifier", "2.5.4.44"),
    ("dnQualifier", "2.5.4.46"),
    ("pseudonym", "2.5.4.65"),
    ("description", "2.5.4.13"),
    ("postalCode", "2.5.4.17"),
    ("businessCategory", "2.5.4.15"),
    ("organizationIdentifier", "2.5.4.97"),
    ("jurisdictionL", "1.3.6.1.4.1.311.60.2.1.1"),
    ("jurisdictionST", "1.3.6.1.4.1.311.60.2.1.2"),
    ("jurisdictionC", "1.3.6.1.4.1.311.60.2.1.3"),
];

impl Attribute {
    /// Reads an attribute of a certificate: its type, the tag of its value, and the value.
    pub fn of(kind: impl Into<String>, tag: u8, value: &[u8]) -> Self {
        Self { kind: kind.into(), value: AttributeValue::of(tag, value) }
    }
}

impl AttributeValue {
    fn of(tag: u8, value: &[u8]) -> Self {
        let text = match tag {
            // UTF8String, NumericString, PrintableString, IA5String, VisibleString.
            0x0c | 0x12 | 0x13 | 0x16 | 0x1a => std::str::from_utf8(value).ok().map(str::to_owned),
            // BMPString.
            0x1e => {
                let units = value.as_chunks::<2>();
                let units = units.0.iter().map(|unit| u16::from_be_bytes(*unit));
                String::from_utf16(&units.collect::<Vec<u16>>())
                    .ok()
                    .filter(|_| value.len().is_multiple_of(2))
            }
            _ => None,
        };
        text.map_or_else(|| Self::Other(tag, value.to_vec()), Self::Text)
    }
}

impl DistinguishedName {
    /// Takes the parts of a name in the order of a certificate, which is the reverse of the written one.
    pub fn of_certificate(parts: impl DoubleEndedIterator<Item = Vec<Attribute>>) -> Self {
        Self(parts.rev().map(sorted).collect())
    }

    /// Reads a name as RFC 4514 §3 has it; spaces may stand around separators, as RFC 2253 had it.
    pub fn parse(text: &str) -> Result<Self, MalformedName> {
        let parts = split(text, ',').map(|part| {
            let attributes = split(part, '+').map(attribute).collect::<Result<_, _>>()?;
            Ok(sorted(attributes))
        });
        parts.collect::<Result<_, _>>().map(Self)
    }
}

fn sorted(mut attributes: Vec<Attribute>) -> Vec<Attribute> {
    attributes.sort_unstable();
    attributes
}

/// Splits at each separator that is not escaped.
fn split(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    text.split(move |c| {
        let splits = c == separator && !escaped;
        escaped = c == '\\' && !escaped;
        splits
    })
}

fn attribute(text: &str) -> Result<Attribute, MalformedName> {
    let (kind, value) = text.split_once('=').ok_or(MalformedName)?;
    let kind = kind.trim_matches(' ');
    let is_dotted = |kind: &str| {
        let is_number = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        kind.contains('.') && kind.split('.').all(is_number)
    };
    let known = TYPES.iter().find(|(name, _)| name.eq_ignore_ascii_case(kind));
    let kind = match known {
        Some((_, identifier)) => (*identifier).to_owned(),
        None if is_dotted(kind) => kind.to_owned(),
        None => return Err(MalformedName),
    };
    let value = value.trim_start_matches(' ');
    let value = match value.strip_prefix('#') {
        Some(digits) => encoded(digits.trim_end_matches(' ')).ok_or(MalformedName)?,
        None => AttributeValue::Text(unescaped(value).ok_or(MalformedName)?),
    };
    Ok(Attribute { kind, value })
}

/// Reads a value that is written as its encoding in hexadecimal digits.
fn encoded(digits: &str) -> Option<AttributeValue> {
    let bytes = hexadecimal(digits.as_bytes())?;
    let (tag, rest) = bytes.split_first()?;
    let (length, value) = rest.split_first()?;
    let (length, value) = match length {
        0..=0x7f => (usize::from(*length), value),
        0x81 => value.split_first().map(|(length, value)| (usize::from(*length), value))?,
        _ => return None,
    };
    (length == value.len()).then(|| AttributeValue::of(*tag, value))
}

fn hexadecimal(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |digit: u8| char::from(digit).to_digit(16).and_then(|one| u8::try_from(one).ok());
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? * 16 + digit(*low)?));
    bytes.collect::<Option<_>>().filter(|_| rest.is_empty())
}

/// Takes the escapes out of a value, and the spaces behind it that are not escaped.
fn unescaped(text: &str) -> Option<String> {
    let mut value: Vec<u8> = Vec::with_capacity(text.len());
    // So much of it stands even if only spaces follow.
    let mut kept = 0;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => {
                let escaped = bytes.next()?;
                let is_special = b" \"#+,;<=>\\".contains(&escaped);
                let pair = || hexadecimal(&[escaped, bytes.clone().next()?]);
                match (is_special, pair()) {
                    (true, _) => value.push(escaped),
                    (false, Some(pair)) => {
                        bytes.next();
                        value.extend(pair);
                    }
                    (false, None) => return None,
                }
                kept = value.len();
            }
            // Those that must be escaped.
            b'"' | b';' | b'<' | b'>' | 0 => return None,
            b' ' => value.push(b' '),
            other => {
                value.push(other);
                kept = value.len();
            }
        }
    }
    value.truncate(kept);
    String::from_utf8(value).ok().filter(|value| !value.is_empty())
}

impl fmt::Display for DistinguishedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, part) in self.0.iter().enumerate() {
            f.write_str(if at == 0 { "" } else { "," })?;
            for (at, attribute) in part.iter().enumerate() {
                f.write_str(if at == 0 { "" } else { "+" })?;
                attribute.fmt(f)?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Attribute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = TYPES.iter().find(|(_, identifier)| *identifier == self.kind);
        write!(f, "{}=", known.map_or(self.kind.as_str(), |(name, _)| name))?;
        match &self.value {
            AttributeValue::Text(text) => {
                let last = text.chars().count().saturating_sub(1);
                for (at, c) in text.chars().enumerate() {
                    match c {
                        '"' | '+' | ',' | ';' | '<' | '>' | '\\' | '=' => write!(f, "\\{c}")?,
                        ' ' if at == 0 || at == last => f.write_str("\\ ")?,
                        '#' if at == 0 => f.write_str("\\#")?,
                        c if c.is_ascii_control() => write!(f, "\\{:02X}", u32::from(c))?,
                        c => write!(f, "{c}")?,
                    }
                }
                Ok(())
            }
            AttributeValue::Other(tag, bytes) => {
                let long = if bytes.len() < 0x80 { "" } else { "81" };
                write!(f, "#{tag:02X}{long}{:02X}", bytes.len())?;
                bytes.iter().try_for_each(|byte| write!(f, "{byte:02X}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const UTF8: u8 = 0x0c;

    fn of_certificate(parts: &[&[(&str, &str)]]) -> DistinguishedName {
        let attribute = |(kind, value): &(&str, &str)| Attribute::of(*kind, UTF8, value.as_bytes());
        DistinguishedName::of_certificate(
            parts.iter().map(|part| part.iter().map(attribute).collect()),
        )
    }

    fn same(text: &str, parts: &[&[(&str, &str)]]) -> bool {
        DistinguishedName::parse(text) == Ok(of_certificate(parts))
    }

    #[test]
    fn a_written_name_is_the_one_of_the_certificate_in_reverse() {
        let held: &[&[(&str, &str)]] =
            &[&[("2.5.4.6", "PT")], &[("2.5.4.10", "Acme, Lda.")], &[("2.5.4.3", "agent 7")]];
        for text in [
            r"CN=agent 7,O=Acme\, Lda.,C=PT",
            r"cn=agent 7, o=Acme\2C Lda., c=PT",
            r"2.5.4.3=agent 7 , O = Acme\, Lda. ,C=PT",
            r"CN=#0C076167656E742037,O=Acme\, Lda.,C=PT",
            r"CN=#13076167656E742037,O=Acme\, Lda.,C=PT",
        ] {
            assert!(same(text, held), "{text}");
        }
        for text in [
            r"C=PT,O=Acme\, Lda.,CN=agent 7",
            r"CN=agent 7,O=Acme\, Lda.",
            r"CN=agent 7,O=ACME\, Lda.,C=PT",
            r"CN=agent 7\ ,O=Acme\, Lda.,C=PT",
            r"CN=agent 7,O=Acme\, Lda.,C=PT,C=PT",
            r"OU=agent 7,O=Acme\, Lda.,C=PT",
            "",
        ] {
            assert!(!same(text, held), "{text}");
        }
    }

    #[test]
    fn attributes_of_one_part_have_no_order() {
        let held: &[&[(&str, &str)]] = &[&[("2.5.4.3", "a"), ("2.5.4.5", "1")]];
        assert!(same("CN=a+serialNumber=1", held));
        assert!(same("serialNumber=1+CN=a", held));
        assert!(!same("serialNumber=1,CN=a", held));
    }

    #[test]
    fn what_is_no_name_is_refused() {
        for text in [
            "a",
            "=a",
            "CN=",
            "CN= ",
            "XX=a",
            "CN=a,",
            "CN=a,,O=b",
            "CN=\"a\"",
            "CN=a;O=b",
            "CN=a\\",
            "CN=a\\x",
            "CN=a\\f",
            "CN=\\ff",
            "CN=#",
            "CN=#0",
            "CN=#0C",
            "CN=#0C02AA",
            "CN=#0C0161FF",
            "CN=<a>",
            "2.=a",
            "CN=a\0",
            "/C=PT/O=Acme",
        ] {
            assert_eq!(DistinguishedName::parse(text), Err(MalformedName), "{text}");
        }
    }

    #[test]
    fn a_value_that_is_no_text_is_compared_by_its_bytes() {
        let held = |tag, value: &[u8]| {
            DistinguishedName::of_certificate(
                [vec![Attribute::of("2.5.4.45", tag, value)]].into_iter(),
            )
        };
        let bits = DistinguishedName::parse("2.5.4.45=#0302FFFE").unwrap();
        assert_eq!(bits, held(0x03, &[0xff, 0xfe]));
        assert_ne!(bits, held(0x04, &[0xff, 0xfe]));
        let wide = [0x00, 0x41, 0x00, 0xe9];
        assert_eq!(DistinguishedName::parse("2.5.4.45=A\u{e9}").unwrap(), held(0x1e, &wide));
        assert_ne!(DistinguishedName::parse("2.5.4.45=A").unwrap(), held(0x1e, &wide[..3]));
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = DistinguishedName::parse(&text);
        }

        #[test]
        fn what_is_shown_is_read_again(values in prop::collection::vec("\\PC{1,12}", 1..4)) {
            let parts: Vec<Vec<Attribute>> =
                values.iter().map(|value| vec![Attribute::of("2.5.4.3", UTF8, value.as_bytes())]).collect();
            let name = DistinguishedName::of_certificate(parts.into_iter());
            prop_assert_eq!(DistinguishedName::parse(&name.to_string()), Ok(name));
        }
    }
}
