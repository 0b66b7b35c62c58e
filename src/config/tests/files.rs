//! Files that are not what their path promised.

use crate::config::{Complaint, read_text};
use std::fs;

#[test]
fn a_file_that_is_no_text_is_refused_with_the_line_where_it_ceases_to_be() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("porteiro.toml");
    fs::write(&path, b"a = 1\nb = \"\xff\"\n").unwrap();
    let complaint = read_text(&path, 1024).unwrap_err();
    assert_eq!(complaint, Complaint::new(2, "is not text in UTF-8"));
    let said = complaint.of_file(&path);
    assert!(said.ends_with("porteiro.toml:2: is not text in UTF-8"), "{said}");
}

#[test]
fn a_file_is_read_up_to_its_limit_and_refused_beyond() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("porteiro.toml");
    fs::write(&path, "#".repeat(1024)).unwrap();
    assert_eq!(read_text(&path, 1024).unwrap().len(), 1024);
    fs::write(&path, "#".repeat(1025)).unwrap();
    let complaint = read_text(&path, 1024).unwrap_err();
    assert_eq!(complaint, Complaint::new(0, "is larger than 1 KiB"));
}

#[test]
fn what_is_no_file_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let complaint = read_text(folder.path(), 1024).unwrap_err();
    assert_eq!(complaint.text, "is a folder, not a file");
    let missing = folder.path().join("missing.toml");
    let complaint = read_text(&missing, 1024).unwrap_err();
    assert_eq!(complaint.text, "there is no such file");
    assert!(complaint.of_file(&missing).ends_with("missing.toml: there is no such file"));
}
