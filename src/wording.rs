//! What people read, from `locales/`, in every language: mails, SMS and screens.

use crate::domain::{Locale, is_hidden};
use fluent_bundle::{FluentArgs, FluentResource, concurrent::FluentBundle};

/// The longest name that is quoted in a message, in characters.
const LONGEST_NAME: usize = 80;

type Bundle = FluentBundle<FluentResource>;

/// All sentences of one sort.
pub(crate) struct Wording {
    english: Bundle,
    portuguese: Bundle,
}

impl Wording {
    pub(crate) fn of_mail() -> Self {
        Self {
            english: bundle(Locale::English, include_str!("../locales/en/mail.ftl")),
            portuguese: bundle(Locale::Portuguese, include_str!("../locales/pt/mail.ftl")),
        }
    }

    pub(crate) fn of_sms() -> Self {
        Self {
            english: bundle(Locale::English, include_str!("../locales/en/sms.ftl")),
            portuguese: bundle(Locale::Portuguese, include_str!("../locales/pt/sms.ftl")),
        }
    }

    pub(crate) fn of_screens() -> Self {
        Self {
            english: bundle(Locale::English, include_str!("../locales/en/screens.ftl")),
            portuguese: bundle(Locale::Portuguese, include_str!("../locales/pt/screens.ftl")),
        }
    }

    /// Finds a sentence and fills it in: `message`, or `message.attribute`; `None` where there is no
    /// such sentence or something is missing in it.
    pub(crate) fn say(
        &self,
        locale: Locale,
        (message, attribute): (&str, Option<&str>),
        arguments: &FluentArgs<'_>,
    ) -> Option<String> {
        let bundle = match locale {
            Locale::English => &self.english,
            Locale::Portuguese => &self.portuguese,
        };
        let found = bundle.get_message(message)?;
        let pattern = match attribute {
            Some(attribute) => found.get_attribute(attribute)?.value(),
            None => found.value()?,
        };
        let mut errors = Vec::new();
        let said = bundle.format_pattern(pattern, Some(arguments), &mut errors).into_owned();
        errors.is_empty().then_some(said)
    }
}

fn bundle(locale: Locale, text: &str) -> Bundle {
    let resource = FluentResource::try_new(text.to_owned());
    let resource = resource.map_err(|(_, errors)| errors).expect("a test reads every file");
    let language = locale.tag().parse().expect("a tag of ours is a language");
    let mut bundle = Bundle::new_concurrent(vec![language]);
    // Marks of direction around what is filled in would be invisible characters in a host name.
    bundle.set_use_isolating(false);
    bundle.add_resource(resource).expect("a test reads every file");
    bundle
}

/// Returns a name that people chose as it may stand in a sentence: on one line, visible, short.
pub(crate) fn quotable(name: &str) -> String {
    let spaced = name.chars().map(|letter| if letter.is_whitespace() { ' ' } else { letter });
    let visible: String = spaced.filter(|letter| !is_hidden(*letter)).collect();
    let words = visible.split(' ').filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    match words.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}…", &words[..end]),
        None => words,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_is_read_and_both_languages_say_the_same_things() {
        let files = [
            (include_str!("../locales/en/mail.ftl"), include_str!("../locales/pt/mail.ftl")),
            (include_str!("../locales/en/sms.ftl"), include_str!("../locales/pt/sms.ftl")),
            (include_str!("../locales/en/screens.ftl"), include_str!("../locales/pt/screens.ftl")),
        ];
        for (english, portuguese) in files {
            let names = |text: &str| -> Vec<String> {
                let named = |line: &str| line.split_once(" =").map(|(name, _)| name.to_owned());
                text.lines().filter(|line| !line.starts_with('#')).filter_map(named).collect()
            };
            assert!(names(english).len() > 1);
            assert_eq!(names(english), names(portuguese));
        }
        Wording::of_mail();
        Wording::of_sms();
        Wording::of_screens();
    }

    #[test]
    fn what_is_missing_is_said_to_be_missing() {
        let (wording, nothing) = (Wording::of_mail(), FluentArgs::new());
        for locale in Locale::ALL {
            assert_eq!(wording.say(locale, ("no-such-mail", None), &nothing), None);
            assert_eq!(wording.say(locale, ("test", Some("no-such-part")), &nothing), None);
            assert_eq!(wording.say(locale, ("test", Some("subject")), &nothing), None, "no host");
        }
    }

    #[test]
    fn a_name_is_quoted_on_one_line_and_visibly() {
        assert_eq!(quotable("São João\r\n\t& Filhos "), "São João & Filhos");
        assert_eq!(quotable("a\u{202e}b\u{200b}c\0"), "abc");
        assert_eq!(quotable(&"x".repeat(300)), format!("{}…", "x".repeat(LONGEST_NAME)));
    }
}
