use super::*;
use place_database::{LISBON, SYDNEY, place_database};

#[path = "../../tests/shared/place_database.rs"]
mod place_database;

const NOW: Timestamp = Timestamp::from_seconds(1_800_000_000);
const BUILT: u64 = 1_799_000_000;
const DAY: u64 = 24 * 60 * 60;

/// A folder with one file.
struct DatabaseFile {
    _folder: tempfile::TempDir,
    path: PathBuf,
}

fn written(content: &[u8]) -> DatabaseFile {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("city.mmdb");
    std::fs::write(&path, content).unwrap();
    DatabaseFile { _folder: folder, path }
}

fn usual() -> Vec<u8> {
    place_database(BUILT, &[LISBON, SYDNEY])
}

fn name(database: &GeoDatabase, address: &str, locale: Locale) -> Option<String> {
    database.place(address.parse().unwrap(), locale).name
}

#[test]
fn an_address_is_named_in_the_language_of_the_person() {
    let file = written(&usual());
    let database = GeoDatabase::open(&file.path, NOW);
    let named = |address, locale| name(&database, address, locale);
    assert_eq!(named("192.0.2.9", Locale::English).as_deref(), Some("Lisbon, Portugal"));
    assert_eq!(named("192.0.2.9", Locale::Portuguese).as_deref(), Some("Lisboa, Portugal"));
    let mapped = named("::ffff:198.51.100.7", Locale::English);
    assert_eq!(mapped.as_deref(), Some("Sydney, Australia"));
    for unknown in ["203.0.113.9", "127.0.0.1", "::1", "2001:db8::1"] {
        assert_eq!(database.place(unknown.parse().unwrap(), Locale::English), Place::default());
    }
    let point = |address: &str| database.place(address.parse().unwrap(), Locale::English).point;
    let (lisbon, sydney) = (point("192.0.2.9").unwrap(), point("198.51.100.7").unwrap());
    assert!(lisbon.least_distance_km(sydney) > 17_000);
    assert_eq!(name(&GeoDatabase::none(), "192.0.2.9", Locale::English), None);
}

#[test]
fn a_database_that_is_broken_old_huge_or_gone_is_refused_and_stops_nothing() {
    let good = usual();
    let fault = |content: &[u8]| load(&written(content).path, NOW).err().map(|one| one.to_string());
    assert_eq!(fault(&good), None);
    assert_eq!(fault(b"").as_deref(), Some("is no database of places"));
    assert_eq!(fault(&[7; 10_000]).as_deref(), Some("is no database of places"));
    // Cut off anywhere, or with a byte that is another: refused, or answered; never a panic.
    for length in (0..good.len()).step_by(7) {
        drop(load(&written(&good[..length]).path, NOW));
    }
    for place in (0..good.len()).step_by(3) {
        let mut broken = good.clone();
        broken[place] ^= 0xff;
        let file = written(&broken);
        let database = GeoDatabase::open(&file.path, NOW);
        for address in ["192.0.2.9", "198.51.100.7", "203.0.113.9", "::1"] {
            drop(name(&database, address, Locale::English));
        }
    }
    let year = 365 * DAY;
    let aged = |seconds: u64| load(&written(&place_database(seconds, &[LISBON])).path, NOW).err();
    let built = u64::try_from(NOW.seconds()).unwrap();
    assert!(aged(built - year).is_none());
    let old = aged(built - year - 1).unwrap().to_string();
    assert!(old.starts_with("is older than a year: it was built at 2026-"), "{old}");
    assert!(aged(built + DAY).is_none(), "a clock that is behind is no reason");
    let huge = written(&good);
    File::options().write(true).open(&huge.path).unwrap().set_len(LARGEST_FILE + 1).unwrap();
    assert_eq!(load(&huge.path, NOW).err().unwrap().to_string(), "is larger than 512 MB");
    let gone = GeoDatabase::open(Path::new("/nowhere/city.mmdb"), NOW);
    assert_eq!(name(&gone, "192.0.2.9", Locale::English), None);
}

#[test]
fn a_file_is_read_again_and_one_that_cannot_be_used_changes_nothing() {
    let file = written(&place_database(BUILT, &[LISBON]));
    let database = GeoDatabase::open(&file.path, NOW);
    assert_eq!(name(&database, "198.51.100.7", Locale::English), None);
    std::fs::write(&file.path, usual()).unwrap();
    database.reload(NOW);
    assert!(name(&database, "198.51.100.7", Locale::English).is_some());
    std::fs::write(&file.path, b"broken").unwrap();
    database.reload(NOW);
    assert!(name(&database, "198.51.100.7", Locale::English).is_some());
}
