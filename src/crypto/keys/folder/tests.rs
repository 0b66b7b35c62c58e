use super::*;
use crate::crypto::SystemDice;
use crate::crypto::keys::{Generator, Purpose};
use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use tempfile::TempDir;

const PEM_RSA: &str = include_str!("../fixtures/rsa_2048.pem");
const PEM_P256: &str = include_str!("../fixtures/p256.pem");

fn generator(folder: &Path, origin: Origin, millis: i64) -> Generator<'_> {
    Generator { folder, origin, created_at: Timestamp::from_millis(millis), dice: &SystemDice }
}

/// A folder with an RSA key, a P-256 key and a secret key.
fn complete() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    put(folder.path(), "rsa.pem", PEM_RSA);
    put(folder.path(), "p256.pem", PEM_P256);
    generator(folder.path(), Origin::Generate, 1).generate(Purpose::Secret).unwrap();
    folder
}

fn put(folder: &Path, name: &str, contents: &str) -> PathBuf {
    let path = folder.join(name);
    fs::write(&path, contents).unwrap();
    chmod(&path, 0o600);
    path
}

fn chmod(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
}

fn load(folder: &TempDir) -> Result<Folder, Vec<Fault>> {
    Folder::load(folder.path(), DevKeys::Refused)
}

fn faults(folder: &TempDir) -> Vec<Fault> {
    load(folder).expect_err("faults")
}

#[test]
fn a_complete_folder_is_loaded() {
    let folder = load(&complete()).unwrap();
    assert_eq!(folder.signing().len(), 2);
    assert_eq!(folder.secrets().len(), 1);
    assert_eq!(folder.observed().len(), 2);
}

#[test]
fn what_was_generated_can_be_loaded() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("new/keys");
    let made = generator(&path, Origin::Generate, 1).generate_all().unwrap();
    let folder = Folder::load(&path, DevKeys::Refused).unwrap();
    assert_eq!(made.len(), 4);
    assert_eq!(folder.signing().len(), 3);
    assert_eq!(folder.secrets()[0].key.kid(), made[3].kid);
    assert_eq!(fs::metadata(&path).unwrap().mode() & 0o7777, 0o700);
    for key in made {
        assert_eq!(fs::metadata(key.path).unwrap().mode() & 0o7777, 0o600);
    }
}

#[test]
fn a_world_readable_key_is_refused_by_name() {
    for mode in [0o604, 0o640, 0o620, 0o602, 0o601, 0o644] {
        let folder = complete();
        let path = folder.path().join("p256.pem");
        chmod(&path, mode);
        assert_eq!(faults(&folder), [Fault::new(&path, Problem::FileOpenToOthers { mode })]);
    }
}

#[test]
fn what_can_be_read_of_a_faulty_folder_is_salvaged_for_revoking() {
    let folder = complete();
    let open = folder.path().join("p256.pem");
    chmod(&open, 0o644);
    let noise = put(folder.path(), "noise", "not a key");
    let (salvaged, faults) = Folder::salvage(folder.path());
    let salvaged = salvaged.unwrap();
    assert_eq!((salvaged.signing().len(), salvaged.secrets().len()), (2, 1));
    let named = [
        Fault::new(&noise, Problem::NotAKey),
        Fault::new(&open, Problem::FileOpenToOthers { mode: 0o644 }),
    ];
    assert_eq!(faults, named);
    let empty = tempfile::tempdir().unwrap();
    put(empty.path(), "rsa.pem", PEM_RSA);
    let (salvaged, faults) = Folder::salvage(empty.path());
    assert!(salvaged.is_none(), "without a secret key there is nothing to act with");
    assert!(faults.contains(&Fault::new(empty.path(), Problem::NoSecretKey)));
}

#[test]
fn a_folder_that_others_can_write_to_is_refused() {
    for mode in [0o720, 0o702, 0o777] {
        let folder = complete();
        chmod(folder.path(), mode);
        let expected = Fault::new(folder.path(), Problem::FolderOpenToOthers { mode });
        assert_eq!(faults(&folder), [expected]);
    }
    let folder = complete();
    chmod(folder.path(), 0o755);
    assert!(load(&folder).is_ok());
}

#[test]
fn only_our_own_files_and_those_of_root_are_believed() {
    assert_eq!(foreign_owner(1_000, 1_000), None);
    assert_eq!(foreign_owner(0, 1_000), None);
    assert_eq!(foreign_owner(1_001, 1_000), Some(Problem::ForeignOwner { uid: 1_001 }));
    assert_eq!(foreign_owner(1_000, 0), Some(Problem::ForeignOwner { uid: 1_000 }));
}

#[test]
fn every_fault_is_named_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let weak = put(folder.path(), "a.pem", include_str!("../fixtures/rsa_1024.pem"));
    let open = put(folder.path(), "b.pem", include_str!("../fixtures/p384.pem"));
    chmod(&open, 0o644);
    let noise = put(folder.path(), "c.txt", "hello");
    chmod(folder.path(), 0o770);
    assert_eq!(
        faults(&folder),
        [
            Fault::new(folder.path(), Problem::FolderOpenToOthers { mode: 0o770 }),
            Fault::new(&weak, Problem::WeakModulus { bits: 1024 }),
            Fault::new(&open, Problem::FileOpenToOthers { mode: 0o644 }),
            Fault::new(&open, Problem::UnsupportedCurve),
            Fault::new(&noise, Problem::NotAKey),
            Fault::new(folder.path(), Problem::NoSigningKey(SigningAlgorithm::Rs256)),
            Fault::new(folder.path(), Problem::NoSigningKey(SigningAlgorithm::Es256)),
            Fault::new(folder.path(), Problem::NoSecretKey),
        ]
    );
}

#[test]
fn a_missing_folder_and_a_file_in_its_place_are_faults() {
    let folder = complete();
    let missing = folder.path().join("missing");
    let fault = Fault::new(&missing, Problem::NoFolder);
    assert_eq!(Folder::load(&missing, DevKeys::Refused).unwrap_err(), [fault]);
    let file = folder.path().join("rsa.pem");
    let fault = Fault::new(&file, Problem::NotAFolder);
    assert_eq!(Folder::load(&file, DevKeys::Refused).unwrap_err(), [fault]);
}

#[test]
fn dotfiles_and_subfolders_are_passed_over() {
    let folder = complete();
    put(folder.path(), ".hidden", "not a key");
    fs::create_dir(folder.path().join("old")).unwrap();
    put(&folder.path().join("old"), "noise", "not a key");
    assert!(load(&folder).is_ok());
}

#[test]
fn a_key_made_by_dev_is_refused_where_it_counts() {
    let folder = tempfile::tempdir().unwrap();
    generator(folder.path(), Origin::Dev, 1).generate_all().unwrap();
    let faults = faults(&folder);
    assert_eq!(faults.len(), 4);
    assert!(faults.iter().all(|fault| fault.problem == Problem::MadeByDev));
    let accepted = Folder::load(folder.path(), DevKeys::Accepted).unwrap();
    assert!(accepted.signing().iter().all(|file| file.made_by_dev));
    assert!(accepted.secrets().iter().all(|file| file.made_by_dev));
}

#[test]
fn the_same_key_in_two_files_is_refused() {
    let folder = complete();
    let again = put(folder.path(), "z.pem", include_str!("../fixtures/p256_sec1.pem"));
    let other = folder.path().join("p256.pem");
    assert_eq!(faults(&folder), [Fault::new(&again, Problem::Duplicate { other })]);
}

#[test]
fn a_file_larger_than_any_key_is_refused() {
    let folder = complete();
    let large = put(folder.path(), "large", &" ".repeat(64 * 1024 + 1));
    assert_eq!(faults(&folder), [Fault::new(&large, Problem::TooLarge)]);
    put(folder.path(), "large", &" ".repeat(64 * 1024));
    assert_eq!(faults(&folder), [Fault::new(&large, Problem::NotAKey)]);
}

#[test]
fn a_link_is_judged_by_the_file_it_points_to() {
    let (folder, elsewhere) = (complete(), tempfile::tempdir().unwrap());
    let target = put(elsewhere.path(), "ed25519.pem", include_str!("../fixtures/ed25519.pem"));
    let link = folder.path().join("link.pem");
    symlink(&target, &link).unwrap();
    assert_eq!(load(&folder).unwrap().signing().len(), 3);
    chmod(&target, 0o644);
    let fault = Fault::new(&link, Problem::FileOpenToOthers { mode: 0o644 });
    assert_eq!(faults(&folder), [fault]);
    fs::remove_file(&target).unwrap();
    let fault = Fault::new(&link, Problem::Unreadable(io::ErrorKind::NotFound));
    assert_eq!(faults(&folder), [fault]);
}

#[test]
fn a_socket_is_refused_without_waiting_for_its_other_end() {
    let folder = complete();
    let path = folder.path().join("socket");
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    chmod(&path, 0o600);
    assert_eq!(faults(&folder), [Fault::new(&path, Problem::NotAFile)]);
}

#[test]
fn the_newest_secret_key_seals_and_the_older_ones_open() {
    let folder = complete();
    let sealed = load(&folder).unwrap().vault().seal("test", b"", b"x", &SystemDice);
    let newest = generator(folder.path(), Origin::Generate, 3).generate(Purpose::Secret).unwrap();
    generator(folder.path(), Origin::Generate, 2).generate(Purpose::Secret).unwrap();
    let rotated = load(&folder).unwrap();
    assert_eq!(rotated.secrets()[0].key.kid(), newest.kid);
    assert_eq!(rotated.vault().mac_key("test").kid(), newest.kid);
    assert!(rotated.vault().open("test", b"", &sealed).is_ok());
}

#[test]
fn signing_keys_are_observed_oldest_first() {
    let folder = complete();
    let purpose = Purpose::Signing(SigningAlgorithm::Es256);
    let newest = generator(folder.path(), Origin::Generate, 9).generate(purpose).unwrap();
    assert_eq!(load(&folder).unwrap().observed()[2].kid, newest.kid);
}

#[test]
fn a_fault_names_the_file_and_quotes_nothing_of_it() {
    let folder = complete();
    let k = "c2VjcmV0LXNlY3JldC1zZWNyZXQ";
    put(
        folder.path(),
        "bad.json",
        &format!(r#"{{"kty":"oct","use":"porteiro-secret","k":"{k}"}}"#),
    );
    put(folder.path(), "worse.json", &format!(r#"{{"kty":"{k}","{k}"}}"#));
    let faults = faults(&folder);
    assert_eq!(faults.len(), 2);
    for fault in faults {
        let told = format!("{fault} {fault:?}");
        assert!(told.contains(".json"));
        assert!(!told.contains(k));
    }
}
