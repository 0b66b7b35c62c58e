use super::{digits, password};
use crate::breach::{BreachCheck, BreachError, FileFault, HashFile};
use proptest::prelude::*;
use rustix::fs::{CWD, FileType, Mode, mknodat};
use std::{fmt::Write as _, path::PathBuf, time::Duration};
use tempfile::TempDir;

/// A file of this content.
struct List {
    folder: TempDir,
}

impl List {
    fn of(content: impl AsRef<[u8]>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let list = Self { folder };
        std::fs::write(list.path(), content).unwrap();
        list
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("hashes.txt")
    }

    async fn has(&self, text: &str) -> Result<bool, BreachError> {
        let check = BreachCheck::File(HashFile::new(self.path()));
        assert!(check.is_on());
        check.is_breached(&password(text)).await
    }

    fn examined(&self) -> Result<(), FileFault> {
        HashFile::examine(&self.path())
    }
}

/// Passwords that have leaked, as many as that, and their hashes in order.
fn leaked(count: usize) -> (Vec<String>, Vec<String>) {
    let passwords: Vec<String> = (0..count).map(|number| format!("leaked {number}")).collect();
    let mut hashes: Vec<String> = passwords.iter().map(|text| digits(text)).collect();
    hashes.sort();
    (passwords, hashes)
}

#[tokio::test]
async fn every_hash_of_a_file_is_found_and_no_other() {
    for count in [1, 2, 3, 10, 500] {
        let (passwords, hashes) = leaked(count);
        let with_counts =
            hashes.iter().enumerate().map(|(at, hash)| format!("{hash}:{}", at * at * at + 1));
        let with_counts: Vec<String> = with_counts.collect();
        for content in [
            hashes.join("\n") + "\n",
            hashes.join("\n"),
            hashes.join("\r\n") + "\r\n",
            hashes.join("\n").to_lowercase(),
            with_counts.join("\n") + "\n",
            with_counts.join("\r\n"),
            hashes.join("\n") + "\n\n",
        ] {
            let list = List::of(&content);
            list.examined().unwrap();
            for text in &passwords {
                assert!(list.has(text).await.unwrap(), "{text} of {count}");
            }
            for text in ["leaked", "leaked 1000", "Leaked 0", "leaked 0 "] {
                assert!(!list.has(text).await.unwrap(), "{text} of {count}");
            }
        }
    }
}

#[tokio::test]
async fn a_hash_that_was_seen_zero_times_is_padding() {
    let (_, mut hashes) = leaked(9);
    let padding = digits("padding");
    hashes.push(format!("{padding}:0"));
    hashes.sort();
    let list = List::of(hashes.join("\n"));
    assert!(!list.has("padding").await.unwrap());
    assert!(list.has("leaked 3").await.unwrap());
}

#[tokio::test]
async fn a_file_that_shares_all_but_the_last_digit_does_not_match() {
    let mut near = digits("password").into_bytes();
    let last = near.last_mut().unwrap();
    *last = if *last == b'0' { b'1' } else { b'0' };
    assert!(!List::of(&near).has("password").await.unwrap());
}

#[tokio::test]
async fn a_hostile_file_is_an_error_and_no_answer() {
    let (_, hashes) = leaked(100);
    let sorted = hashes.join("\n");
    let backwards: Vec<&str> = hashes.iter().rev().map(String::as_str).collect();
    let ntlm: Vec<&str> = hashes.iter().map(|hash| &hash[..32]).collect();
    let mut huge = vec![b'A'; 3_000_000];
    huge.extend(b"\n");
    let mut with_a_huge_line = sorted.clone().into_bytes();
    let middle = with_a_huge_line.len() / 2;
    with_a_huge_line.splice(middle..middle, std::iter::repeat_n(b'0', 1_000_000));
    for (name, content) in [
        ("empty", Vec::new()),
        ("nothing but an end of line", b"\n".to_vec()),
        ("another end of line", b"\r\n".to_vec()),
        ("text", b"password\nletmein\n".repeat(100)),
        ("one huge line", huge),
        ("no line at all", vec![0; 100_000]),
        ("a huge line in the middle", with_a_huge_line),
        ("other hashes", ntlm.join("\n").into_bytes()),
        ("backwards", backwards.join("\n").into_bytes()),
        ("a mark in front", [b"\xEF\xBB\xBF".as_slice(), sorted.as_bytes()].concat()),
        ("two columns", sorted.replace('\n', ":1:2\n").into_bytes()),
        ("blank lines", sorted.replace('\n', "\n\n").into_bytes()),
        ("old ends of lines", sorted.replace('\n', "\r").into_bytes()),
    ] {
        let list = List::of(&content);
        assert!(list.examined().is_err(), "{name} is not relied on");
        let mut answers = 0;
        for number in 0..40 {
            // The first line is only met by what is searched below it.
            answers += usize::from(list.has(&format!("other {number}")).await.is_ok());
        }
        let first_line_alone = name == "a mark in front" || name == "two columns";
        assert!(answers == 0 || first_line_alone, "{name}: {answers} answers");
    }
}

#[tokio::test]
async fn what_is_no_file_is_never_opened() {
    let list = List::of("");
    std::fs::remove_file(list.path()).unwrap();
    assert!(matches!(list.examined(), Err(FileFault::Unreadable(_))));
    assert!(matches!(list.has("x").await, Err(BreachError::File(FileFault::Unreadable(_)))));
    std::fs::create_dir(list.path()).unwrap();
    assert!(matches!(list.examined(), Err(FileFault::NotAFile)));
    std::fs::remove_dir(list.path()).unwrap();
    // To open it would wait for ever.
    mknodat(CWD, list.path(), FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    assert!(matches!(list.examined(), Err(FileFault::NotAFile)));
    let answer = tokio::time::timeout(Duration::from_secs(20), list.has("x")).await.unwrap();
    assert!(matches!(answer, Err(BreachError::File(FileFault::NotAFile))), "{answer:?}");
}

#[tokio::test]
async fn a_file_may_be_replaced_while_a_server_runs() {
    let list = List::of(digits("first"));
    let check = BreachCheck::File(HashFile::new(list.path()));
    assert!(check.is_breached(&password("first")).await.unwrap());
    std::fs::write(list.path().with_extension("new"), digits("second")).unwrap();
    std::fs::rename(list.path().with_extension("new"), list.path()).unwrap();
    assert!(!check.is_breached(&password("first")).await.unwrap());
    assert!(check.is_breached(&password("second")).await.unwrap());
}

#[tokio::test]
async fn a_file_far_larger_than_what_is_read_is_searched_in_a_few_steps() {
    // A hole of a tebibyte: were it read, this would not end.
    let list = List::of(format!("{}\n", digits("password")));
    let file = std::fs::OpenOptions::new().write(true).open(list.path()).unwrap();
    if file.set_len(1 << 40).is_err() {
        return; // This file system has no holes.
    }
    let answer = tokio::time::timeout(Duration::from_secs(20), list.has("password")).await.unwrap();
    assert!(matches!(answer, Err(BreachError::File(FileFault::Malformed(_)))), "{answer:?}");
    assert!(list.examined().is_err());
}

#[test]
fn faults_name_the_place_and_no_hash() {
    let mut text = String::new();
    for fault in [FileFault::Malformed(7), FileFault::Unsorted(9), FileFault::Empty] {
        let _ = writeln!(text, "{fault}");
    }
    assert!(text.contains("near byte 7") && text.contains("near byte 9"), "{text}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_set_of_hashes_is_searched_right(numbers in prop::collection::btree_set(0_u32..200, 1..60)) {
        let mut hashes: Vec<String> = numbers.iter().map(|it| digits(&it.to_string())).collect();
        hashes.sort();
        let list = List::of(hashes.join("\n"));
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for number in 0..200 {
            let found = runtime.block_on(list.has(&number.to_string())).unwrap();
            prop_assert_eq!(found, numbers.contains(&number), "{}", number);
        }
    }

    #[test]
    fn no_file_is_too_strange_to_be_searched(content in "[0-9A-F:\r\n x]{0,400}") {
        let list = List::of(&content);
        let _ = list.examined();
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let _ = runtime.block_on(list.has("password"));
    }
}
