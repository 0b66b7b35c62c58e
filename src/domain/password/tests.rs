use super::*;
use proptest::{prelude::*, sample::subsequence};

fn read(text: &str) -> Password {
    Password::read(text).unwrap()
}

/// Judges a password by a rule of this length, where nothing is known of the person.
fn judged(least: usize, text: &str) -> Result<(), Fault> {
    Policy::new(least).check(&read(text), &Context::default())
}

#[test]
fn composed_and_decomposed_characters_are_the_same_password() {
    let (composed, decomposed) = ("pass\u{e9} n\u{ba} 1", "passe\u{301} n\u{ba} 1");
    assert_eq!(read(composed), read(decomposed));
    assert_eq!(read(decomposed).expose(), composed.as_bytes());
    // NFC keeps what only looks alike apart, as NFKC would not.
    assert_ne!(read("n\u{ba}"), read("no"));
    assert_eq!(read("\u{1100}\u{1161}\u{11a8}"), read("\u{ac01}"));
}

#[test]
fn a_new_password_is_counted_in_characters_of_its_normal_form() {
    let policy = Policy::default();
    assert_eq!(policy.check_length(&read(&"ñ".repeat(15))), Ok(()));
    let short = Err(Fault::TooShort { least: 15 });
    assert_eq!(policy.check_length(&read(&"ñ".repeat(14))), short);
    assert_eq!(
        policy.check_length(&read(&"n\u{303}".repeat(14))),
        short,
        "marks do not count twice"
    );
    assert_eq!(policy.check_length(&read("12345678")), short);
    assert_eq!(judged(15, "12345678"), short, "length comes first");
    assert_eq!(judged(15, "ñandú y colibrí"), Ok(()));
    assert_eq!(Policy::new(8).check_length(&read("12345678")), Ok(()));
    assert_eq!(Policy::new(1), Policy::new(Policy::LEAST), "never below eight");
}

#[test]
fn a_password_has_1024_characters_at_most_whatever_they_are() {
    for character in ["x", "ñ", "🐎", "\u{fb2c}", "\u{1d160}", " ", "\u{7}", "İ", "ẞ"] {
        let longest = character.repeat(LONGEST);
        assert_eq!(judged(15, &longest), Ok(()), "{character:?}");
        assert_eq!(judged(15, &character.repeat(256)), Ok(()), "{character:?}");
        let longer = format!("{longest}{character}");
        assert_eq!(Password::read(&longer), Err(Fault::TooLong), "{character:?}");
    }
    assert_eq!(Password::read(""), Err(Fault::Empty));
}

#[test]
fn a_password_is_never_shown() {
    let shown = format!("{:?}", read("open sesame"));
    assert!(!shown.contains("sesame"), "{shown}");
}

#[test]
fn a_common_password_is_refused_however_it_is_dressed() {
    for common in [
        // Repeated.
        "passwordpassword",
        "Password Password",
        "abcabcabcabcabc",
        "aaaaaaaaaaaaaaa",
        "xkqzvbnxkqzvbnx",
        "               ",
        "- - - - - - - - ",
        "ñoñoñoñoñoñoñoño",
        // Walks.
        "123456789012345",
        "1234567890123456",
        "987654321098765",
        "qwertyuiopasdfghjkl",
        "QwertyuiopAsdfgh",
        "abcdefghijklmnop",
        "zyxwvutsrqponmlk",
        "1qaz2wsx3edc4rfv",
        "1q2w3e4r5t6y7u8i",
        "qwerty-123456-asdfgh",
        "aaaaabbbbbccccc",
        "111222333444555",
        // Listed, alone or with little around it.
        "i love you forever",
        "may the force be with you",
        "ThisIsMyPassword",
        "Th1s1sMyP@ssw0rd",
        "minha senha segura",
        "o senhor e meu pastor",
        "password1234567",
        "Password2024!!!",
        "P@ssw0rd1234567",
        "password12345678901234",
        "1234567password",
        "!!letmein2024!!",
        "administrator99",
        "qwertyuiop99!!?",
        "dragon123456789",
        "superman20242024",
        "dragondragon123",
        "hahahahaha12345",
    ] {
        assert_eq!(judged(15, common), Err(Fault::Common), "{common:?}");
    }
    for common in
        ["password", "P@ssw0rd", "dragon12", "qwerty12", "12345678", "senha123", "iloveyou"]
    {
        assert_eq!(judged(8, common), Err(Fault::Common), "{common:?}");
    }
}

#[test]
fn what_only_contains_a_common_password_is_not_one() {
    for good in [
        "correct horse battery staple",
        "a horse of her own",
        "password horse battery",
        "dragon monkey football",
        "shadow sunshine princess master",
        "qwerty horse staple",
        "12345 horses in the rain",
        "password83920174650283",
        "314159265358979",
        "8302817465920183",
        "the rain in spain stays mainly",
        "tr0ub4dor&3 tr0ub4dor&4",
        "a horse a horse my kingdom",
    ] {
        assert_eq!(judged(15, good), Ok(()), "{good:?}");
    }
    // Where fewer characters are asked for, what is repeated may be long enough by itself.
    assert_eq!(judged(8, "horsebattery horsebattery"), Ok(()));
    assert_eq!(judged(15, "horsebattery horsebattery"), Err(Fault::Common));
}

#[test]
fn no_list_has_passwords_longer_than_64_characters() {
    assert_eq!(judged(15, &"a".repeat(64)), Err(Fault::Common));
    assert_eq!(judged(15, &"a".repeat(65)), Ok(()));
    assert_eq!(judged(15, &"password ".repeat(100)), Ok(()));
}

fn around_ana() -> Context {
    Context::default()
        .with_host("id.example-bank.com")
        .with("Porteiro")
        .with_email("Ana.Silva+home@acme.test")
        .with_person("Ana", "d'Orey e Silva")
        .with("Acme Lda")
}

#[test]
fn a_context_word_refuses_only_a_password_that_is_nothing_else() {
    let judged = |text: &str| Policy::default().check(&read(text), &around_ana());
    for known in [
        "id.example-bank.com",
        "ID.Example-Bank.com!!",
        "examplebank example-bank",
        "porteiro porteiro",
        "PorteiroPorteiroPorteiro",
        "ana.silva+home@acme.test",
        "Ana.Silva+Home ana.silva+home",
        "ana d'orey e silva",
        "d'Orey e Silva Ana",
        "acme lda acme lda",
        "Acme-Lda-Acme-Lda-Acme-Lda",
    ] {
        assert_eq!(judged(known), Err(Fault::ContextWord), "{known:?}");
    }
    for more in [
        "ana and the horse of acme",
        "porteiro porteiro 7",
        "id.example-bank.com is mine",
        "ana.silva+home@acme.test2",
        "the porteiro of acme lda",
        "acmelda acmeldas",
        "correct horse battery staple",
    ] {
        assert_eq!(judged(more), Ok(()), "{more:?}");
    }
    // Far longer than any list: a word that is repeated is still nothing else.
    assert_eq!(judged(&"Porteiro ".repeat(100)), Err(Fault::ContextWord));
}

#[test]
fn words_that_say_nothing_refuse_nothing() {
    let empty =
        Context::default().with("").with(" - ").with("Jo").with_email("@").with_person("", "");
    let long = "jo".repeat(100);
    for text in ["!!!!!!!!!!!!!!!!!!!?", &long] {
        assert_ne!(
            Policy::default().check(&read(text), &empty.clone().with_host("..")),
            Err(Fault::ContextWord),
            "{text:?}"
        );
    }
    assert!(!format!("{:?}", Fault::Common).contains("jo"));
}

#[test]
fn every_fault_is_a_sentence_that_reads_on_from_the_name() {
    for fault in [
        Fault::Empty,
        Fault::TooShort { least: 15 },
        Fault::TooLong,
        Fault::Common,
        Fault::ContextWord,
        Fault::Breached,
    ] {
        let text = fault.to_string();
        assert!(text.starts_with("must ") || text.starts_with("was "), "{text}");
        assert!(!text.ends_with('.'), "{text}");
    }
}

/// Ordinary words, some of which are common passwords by themselves.
const WORDS: [&str; 48] = [
    "horse", "battery", "staple", "correct", "dragon", "monkey", "football", "sunshine", "river",
    "window", "marble", "orange", "guitar", "planet", "silver", "thunder", "velvet", "garden",
    "copper", "lantern", "meadow", "saddle", "tunnel", "anchor", "basket", "candle", "desert",
    "engine", "feather", "glacier", "harvest", "island", "jacket", "kettle", "ladder", "mirror",
    "needle", "oyster", "pepper", "quarry", "ribbon", "summer", "timber", "umbrella", "violin",
    "walnut", "yellow", "password",
];

proptest! {
    #[test]
    fn no_password_of_random_words_is_ever_refused(
        words in subsequence(&WORDS[..], 3..7).prop_shuffle(),
        between in "[ \\-_.,/0-9]{0,2}",
        after in "[0-9!?]{0,6}",
    ) {
        let text = words.join(&between) + &after;
        prop_assume!(text.chars().count() >= 15);
        prop_assert_eq!(Policy::default().check(&read(&text), &around_ana()), Ok(()), "{}", text);
    }

    #[test]
    fn a_unit_that_is_repeated_is_refused_whatever_it_is(unit in "[a-zA-Z0-9ñéß🐎 !?$-]{1,14}", more in 0_usize..14) {
        let text: String = unit.chars().cycle().take(30 + more).collect();
        prop_assume!(Password::read(&text).unwrap().length() >= 30);
        prop_assert_eq!(judged(15, &text), Err(Fault::Common), "{:?}", text);
    }

    #[test]
    fn no_text_is_too_strange_to_be_judged(text in "\\PC{15,80}", least in 0_usize..40) {
        let policy = Policy::new(least);
        let lower = text.to_lowercase();
        let _ = policy.check(&read(&text), &around_ana());
        // Case never makes a common password an uncommon one.
        if lower.chars().count() == text.chars().count() && text.is_ascii() {
            prop_assert_eq!(policy.check(&read(&text), &around_ana()), policy.check(&read(&lower), &around_ana()));
        }
    }
}
