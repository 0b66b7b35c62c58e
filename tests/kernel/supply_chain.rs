//! What becomes part of the product: licences, bans and sources as `deny.toml` has them, known advisories, and the list of
//! it all that `bin/sbom` writes. No tool is needed (adr/0145).

use semver::{Version, VersionReq};
use serde::Deserialize;
use serde_json::Value;
use std::{
    collections::{BTreeMap, BTreeSet, HashSet},
    fs,
    path::Path,
    process::Command,
};

#[derive(Deserialize)]
struct Policy {
    licenses: Licenses,
    bans: Bans,
    sources: Sources,
    advisories: Advisories,
}

#[derive(Deserialize)]
struct Licenses {
    allow: Vec<String>,
    exceptions: Vec<LicenseException>,
}

#[derive(Deserialize)]
struct LicenseException {
    #[serde(rename = "crate")]
    name: String,
    allow: Vec<String>,
}

#[derive(Deserialize)]
struct Bans {
    deny: Vec<Ban>,
}

#[derive(Deserialize)]
struct Ban {
    #[serde(rename = "crate")]
    name: String,
    reason: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Sources {
    allow_registry: Vec<String>,
}

#[derive(Deserialize)]
struct Advisories {
    ignore: Vec<IgnoredAdvisory>,
}

#[derive(Deserialize)]
struct IgnoredAdvisory {
    id: String,
}

#[derive(Deserialize)]
struct Lock {
    package: Vec<LockedPackage>,
}

#[derive(Deserialize)]
struct LockedPackage {
    name: String,
    version: String,
    source: Option<String>,
    checksum: Option<String>,
}

/// A crate that is compiled here, for the product or for its tests.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct CompiledCrate {
    name: String,
    version: String,
    license: String,
}

fn policy() -> Policy {
    toml::from_str(&fs::read_to_string("deny.toml").unwrap()).unwrap()
}

fn lock() -> Vec<LockedPackage> {
    let lock: Lock = toml::from_str(&fs::read_to_string("Cargo.lock").unwrap()).unwrap();
    lock.package
}

fn compiled() -> BTreeSet<CompiledCrate> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let arguments =
        ["tree", "--locked", "--all-features", "-e", "normal,build,dev", "--prefix", "none"];
    let output = Command::new(cargo).args(arguments).args(["-f", "{p}|{l}"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    let read = |line: &str| {
        let (package, license) = line.rsplit_once('|')?;
        let (name, rest) = package.split_once(" v")?;
        let version = rest.split(' ').next()?;
        let license = license.trim_end_matches(" (*)").to_owned();
        Some(CompiledCrate { name: name.to_owned(), version: version.to_owned(), license })
    };
    text.lines().filter(|line| !line.is_empty()).map(|line| read(line).expect(line)).collect()
}

/// Tells whether an SPDX expression can be satisfied by licences that are allowed.
fn is_allowed(expression: &str, allowed: &dyn Fn(&str) -> bool) -> bool {
    // Crates of before 2018 wrote a slash for `OR`.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut rest = words.as_slice();
    let result = either(&mut rest, allowed);
    result && rest.is_empty()
}

fn either(words: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut result = both(words, allowed);
    while let ["OR", rest @ ..] = *words {
        *words = rest;
        let other = both(words, allowed);
        result |= other;
    }
    result
}

fn both(words: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> bool {
    let mut result = one(words, allowed);
    while let ["AND", rest @ ..] = *words {
        *words = rest;
        let other = one(words, allowed);
        result &= other;
    }
    result
}

fn one(words: &mut &[&str], allowed: &dyn Fn(&str) -> bool) -> bool {
    match *words {
        ["(", rest @ ..] => {
            *words = rest;
            let result = either(words, allowed);
            let [")", rest @ ..] = *words else { return false };
            *words = rest;
            result
        }
        [license, "WITH", exception, rest @ ..] => {
            *words = rest;
            allowed(&format!("{license} WITH {exception}"))
        }
        [license, rest @ ..] => {
            *words = rest;
            allowed(license)
        }
        [] => false,
    }
}

#[test]
fn an_expression_is_allowed_where_one_reading_of_it_is() {
    let allowed =
        |license: &str| ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"].contains(&license);
    let yes = ["MIT", "MIT OR GPL-3.0", "GPL-3.0/MIT", "(MIT OR GPL-3.0) AND ISC", "(MIT)"];
    let more = ["Apache-2.0 WITH LLVM-exception OR GPL-3.0", "ISC AND (GPL-2.0 OR MIT) AND MIT"];
    for expression in yes.into_iter().chain(more) {
        assert!(is_allowed(expression, &allowed), "{expression}");
    }
    let no = ["", "GPL-3.0", "MIT AND GPL-3.0", "MIT AND", "(MIT", "MIT)", "Apache-2.0", "MIT ISC"];
    for expression in no.into_iter().chain(["GPL-3.0 OR (MIT AND GPL-2.0)", "MIT WITH x"]) {
        assert!(!is_allowed(expression, &allowed), "{expression}");
    }
}

#[test]
fn every_crate_has_a_licence_that_we_accept_and_none_is_banned() {
    let Policy { licenses, bans, .. } = policy();
    let compiled = compiled();
    assert!(compiled.len() > 100, "the tree was read");
    let mut used = BTreeSet::new();
    for CompiledCrate { name, version, license } in &compiled {
        let exception = licenses.exceptions.iter().find(|exception| exception.name == *name);
        let excepted = exception.map(|exception| exception.allow.as_slice()).unwrap_or_default();
        used.extend(exception.map(|exception| exception.name.as_str()));
        let allowed = |one: &str| licenses.allow.iter().chain(excepted).any(|known| known == one);
        assert!(is_allowed(license, &allowed), "{name} {version} has the licence {license:?}");
        if let Some(ban) = bans.deny.iter().find(|ban| ban.name == *name) {
            panic!("{name} {version} is banned: {}", ban.reason);
        }
    }
    let stale =
        licenses.exceptions.iter().find(|exception| !used.contains(exception.name.as_str()));
    assert!(stale.is_none_or(|stale| panic!("{} is excepted and not there", stale.name)));
}

#[test]
fn everything_comes_from_the_registry_and_is_pinned_by_its_hash() {
    let registries = policy().sources.allow_registry;
    for LockedPackage { name, version, source, checksum } in lock() {
        let Some(source) = source else {
            assert_eq!(name, "porteiro", "{name} {version} comes from this machine");
            continue;
        };
        let registry = source.strip_prefix("registry+").unwrap_or(&source);
        assert!(registries.iter().any(|known| known == registry), "{name} comes from {source}");
        let is_hash =
            |text: &String| text.len() == 64 && text.bytes().all(|b| b.is_ascii_hexdigit());
        assert!(checksum.as_ref().is_some_and(is_hash), "{name} {version} has no hash");
    }
}

/// An entry of the `RustSec` database, as far as it is read here.
#[derive(Deserialize)]
struct Advisory {
    advisory: AdvisoryHead,
    #[serde(default)]
    versions: AffectedVersions,
}

#[derive(Deserialize)]
struct AdvisoryHead {
    id: String,
    package: String,
    /// Such an entry tells of no hole: a crate is not looked after any more, say.
    informational: Option<String>,
    withdrawn: Option<String>,
}

#[derive(Default, Deserialize)]
struct AffectedVersions {
    #[serde(default)]
    patched: Vec<String>,
    #[serde(default)]
    unaffected: Vec<String>,
}

impl Advisory {
    /// Reads the front matter of an entry.
    fn read(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("```toml")?;
        toml::from_str(rest.split_once("```")?.0).ok()
    }

    fn affects(&self, package: &LockedPackage) -> bool {
        let AffectedVersions { patched, unaffected } = &self.versions;
        let version = Version::parse(&package.version).unwrap();
        let mut good =
            patched.iter().chain(unaffected).map(|good| VersionReq::parse(good).unwrap());
        let is_good = good.any(|good| good.matches(&version));
        package.name == self.advisory.package && !is_good && self.advisory.withdrawn.is_none()
    }
}

/// Lists the holes that a copy of the database knows in what is locked, and after them what is no hole.
fn known_holes(
    database: &Path,
    locked: &[LockedPackage],
    ignored: &HashSet<String>,
) -> [Vec<String>; 2] {
    let (mut holes, mut notes) = (Vec::new(), Vec::new());
    for package in locked {
        let Ok(entries) = fs::read_dir(database.join("crates").join(&package.name)) else {
            continue;
        };
        for path in entries.map(|entry| entry.unwrap().path()) {
            let text = fs::read_to_string(&path).unwrap();
            let advisory = Advisory::read(&text).unwrap_or_else(|| panic!("{}", path.display()));
            let AdvisoryHead { id, informational, .. } = &advisory.advisory;
            if !advisory.affects(package) || ignored.contains(id) {
                continue;
            }
            let line = format!("{id}: {} {}", package.name, package.version);
            match informational {
                Some(kind) => notes.push(format!("{line} ({kind})")),
                None => holes.push(line),
            }
        }
    }
    holes.sort_unstable();
    [holes, notes]
}

#[test]
fn a_hole_is_found_in_the_versions_that_have_it_alone() {
    let folder = tempfile::tempdir().unwrap();
    let put = |name: &str, id: &str, rest: &str| {
        let crates = folder.path().join("crates").join(name);
        fs::create_dir_all(&crates).unwrap();
        let text = format!(
            "```toml\n[advisory]\nid = \"{id}\"\npackage = \"{name}\"\n{rest}\n```\n\n# A hole\n"
        );
        fs::write(crates.join(format!("{id}.md")), text).unwrap();
    };
    put("a", "RUSTSEC-1", "[versions]\npatched = [\">= 1.2.3\"]\nunaffected = [\"< 1.0.0\"]");
    put("a", "RUSTSEC-2", "withdrawn = \"2026-01-01\"\n[versions]\npatched = []");
    put("a", "RUSTSEC-3", "informational = \"unmaintained\"\n[versions]\npatched = []");
    put("b", "RUSTSEC-4", "[versions]\npatched = []");
    let locked = |name: &str, version: &str| LockedPackage {
        name: name.to_owned(),
        version: version.to_owned(),
        source: None,
        checksum: None,
    };
    let all = ["0.9.0", "1.0.0", "1.2.2", "1.2.3", "2.0.0"].map(|version| locked("a", version));
    let none = HashSet::new();
    let [found, notes] = known_holes(folder.path(), &all, &none);
    assert_eq!(found, ["RUSTSEC-1: a 1.0.0", "RUSTSEC-1: a 1.2.2"]);
    assert_eq!((notes.len(), notes[0].as_str()), (5, "RUSTSEC-3: a 0.9.0 (unmaintained)"));
    let holes = |name: &str, ignored: &HashSet<String>| {
        let [holes, _] = known_holes(folder.path(), &[locked(name, "1.0.0")], ignored);
        holes
    };
    assert_eq!(holes("b", &none), ["RUSTSEC-4: b 1.0.0"]);
    let ignored = HashSet::from(["RUSTSEC-4".to_owned()]);
    assert!(holes("b", &ignored).is_empty() && holes("c", &none).is_empty());
}

#[test]
#[ignore = "needs a copy of the RustSec database: PORTEIRO_ADVISORY_DB"]
fn no_crate_has_a_known_hole() {
    let database = std::env::var_os("PORTEIRO_ADVISORY_DB").expect("PORTEIRO_ADVISORY_DB");
    let database = Path::new(&database);
    assert!(database.join("crates").is_dir(), "{} has no crates", database.display());
    let ignored = policy().advisories.ignore.into_iter().map(|one| one.id).collect();
    let [holes, notes] = known_holes(database, &lock(), &ignored);
    for note in notes {
        println!("{note}");
    }
    assert!(holes.is_empty(), "{holes:#?}");
}

/// Texts of a member of each entry.
fn texts<'a>(list: &'a Value, name: &str) -> Vec<&'a str> {
    list.as_array().unwrap().iter().map(|entry| entry[name].as_str().unwrap()).collect()
}

#[test]
fn the_sbom_lists_exactly_what_is_locked() {
    let output = Command::new("bin/sbom").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let sbom: Value = serde_json::from_slice(&output.stdout).unwrap();
    // CycloneDX 1.6
    assert_eq!(sbom["bomFormat"], "CycloneDX");
    assert_eq!((sbom["specVersion"].as_str(), sbom["version"].as_u64()), (Some("1.6"), Some(1)));
    let serial = sbom["serialNumber"].as_str().unwrap().strip_prefix("urn:uuid:").unwrap();
    assert!(uuid::Uuid::try_parse(serial).is_ok(), "{serial}");
    let own = &sbom["metadata"]["component"];
    assert_eq!(
        (own["type"].as_str(), own["name"].as_str()),
        (Some("application"), Some("porteiro"))
    );
    let components = &sbom["components"];
    let locked: BTreeMap<String, LockedPackage> = lock()
        .into_iter()
        .filter(|package| package.source.is_some())
        .map(|package| (format!("pkg:cargo/{}@{}", package.name, package.version), package))
        .collect();
    let listed: BTreeSet<&str> = texts(components, "bom-ref").into_iter().collect();
    assert!(listed.iter().eq(locked.keys()), "the lock file and the list differ");
    for component in components.as_array().unwrap() {
        let reference = component["bom-ref"].as_str().unwrap();
        let package = &locked[reference];
        assert_eq!(component["type"], "library");
        assert_eq!(component["name"], package.name);
        assert_eq!(component["version"], package.version);
        assert_eq!(component["purl"], reference);
        assert_eq!(component["hashes"][0]["alg"], "SHA-256");
        assert_eq!(component["hashes"][0]["content"].as_str(), package.checksum.as_deref());
        let scope = component["scope"].as_str().unwrap();
        assert!(["required", "excluded"].contains(&scope), "{reference}: {scope}");
    }
    let of = |name: &str| components.as_array().unwrap().iter().find(|one| one["name"] == name);
    assert_eq!(of("rustls").unwrap()["scope"], "required");
    assert_eq!(of("rustls").unwrap()["licenses"][0]["expression"], "Apache-2.0 OR ISC OR MIT");
    assert_eq!(of("fnv").unwrap()["licenses"][0]["expression"], "Apache-2.0 OR MIT");
    assert_eq!(of("proptest").unwrap()["scope"], "excluded", "for tests alone");
    let dependencies = sbom["dependencies"].as_array().unwrap();
    assert_eq!(dependencies.len(), locked.len() + 1, "each says what it depends on");
    let own = own["bom-ref"].as_str().unwrap();
    for dependency in dependencies {
        let reference = dependency["ref"].as_str().unwrap();
        assert!(reference == own || listed.contains(reference), "{reference}");
        for on in dependency["dependsOn"].as_array().unwrap() {
            assert!(listed.contains(on.as_str().unwrap()), "{reference} depends on {on}");
        }
    }
}
