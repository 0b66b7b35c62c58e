//! Members for people, said in their language: `client_name#pt` (RFC 7591 §2.2).

/// The members that people read.
const LOCALIZED: [&str; 5] = ["client_name", "client_uri", "logo_uri", "tos_uri", "policy_uri"];

/// Returns the member that `name` says in some language, if it is one that may be.
pub(super) fn base(name: &str) -> Option<&'static str> {
    let (base, tag) = name.split_once('#')?;
    LOCALIZED.into_iter().find(|member| *member == base && is_language_tag(tag))
}

/// Whether `tag` could be a language tag: subtags of one to eight letters and digits, the first of
/// letters (RFC 5646 §2.1).
pub(in crate::domain) fn is_language_tag(tag: &str) -> bool {
    let of_subtag = |b: u8| b.is_ascii_alphanumeric();
    let sound = |subtag: &str| (1..=8).contains(&subtag.len()) && subtag.bytes().all(of_subtag);
    let (primary, _) = tag.split_once('-').unwrap_or((tag, ""));
    tag.len() <= 35 && primary.bytes().all(|b| b.is_ascii_alphabetic()) && tag.split('-').all(sound)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_member_for_people_may_bear_a_language_tag() {
        for name in ["client_name#pt", "client_name#pt-PT", "logo_uri#zh-Hant-TW", "tos_uri#x-a1"] {
            assert!(base(name).is_some(), "{name}");
        }
        assert_eq!(base("policy_uri#ja-Kana-JP"), Some("policy_uri"));
    }

    #[test]
    fn no_other_member_and_no_other_tag_is_taken() {
        for name in [
            "client_name",
            "client_name#",
            "client_name#-",
            "client_name#pt-",
            "client_name#p t",
            "client_name#pt#en",
            "client_name#123",
            "client_name#abcdefghi",
            "client_name#pt_PT",
            "redirect_uris#pt",
            "scope#pt",
            "#pt",
            "client_name#é",
        ] {
            assert_eq!(base(name), None, "{name}");
        }
    }
}
