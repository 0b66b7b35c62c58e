use super::*;

const CHEAP: PasswordCost = PasswordCost::CHEAP;
const SOME_SALT: [u8; 16] = *b"sixteen of these";

fn hashed(password: &str, cost: PasswordCost) -> String {
    hash(password.as_bytes(), SOME_SALT, cost, &mut Memory::default()).unwrap()
}

fn verified(password: &str, phc: &str) -> Result<Verdict, PasswordError> {
    verify(password.as_bytes(), phc, CHEAP, &mut Memory::default())
}

#[test]
fn a_password_matches_its_own_hash_and_no_other_does() {
    let phc = hashed("correct horse", CHEAP);
    assert!(phc.starts_with("$argon2id$v=19$m=64,t=1,p=1$c2l4dGVlbiBvZiB0aGVzZQ$"));
    let same = Verdict { matches: true, needs_rehash: false };
    let other = Verdict { matches: false, needs_rehash: false };
    assert_eq!(verified("correct horse", &phc), Ok(same));
    for wrong in ["correct hors", "correct horse ", "Correct horse", ""] {
        assert_eq!(verified(wrong, &phc), Ok(other));
    }
}

#[test]
fn where_there_is_no_hash_the_memory_of_one_is_filled_and_nothing_matches() {
    let other = Verdict { matches: false, needs_rehash: false };
    let phc = hashed("correct horse", CHEAP);
    let broken = Err(PasswordError::UnknownAlgorithm);
    for (phc, said) in [(Some(phc.as_str()), Ok(other)), (None, Ok(other)), (Some("x"), broken)] {
        let mut memory = Memory::default();
        assert_eq!(verify_or_decoy(b"wrong", phc, CHEAP, &mut memory), said);
        assert_eq!(memory.size(), 64, "{phc:?}");
    }
    let today = Phc { algorithm: Algorithm::Argon2id, version: Version::V0x13, cost: CHEAP };
    assert!(Phc::parse(&decoy(CHEAP)).unwrap().0 == today);
}

#[test]
fn the_default_cost_is_the_one_we_publish() {
    let phc = hashed("password", PasswordCost::default());
    assert!(phc.starts_with("$argon2id$v=19$m=19456,t=2,p=1$"));
    let mut memory = Memory::default();
    let verdict = verify(b"password", &phc, PasswordCost::default(), &mut memory).unwrap();
    assert!(verdict.matches && !verdict.needs_rehash);
    assert_eq!(memory.size(), 19_456);
}

/// From the tests of the reference implementation, github.com/P-H-C/phc-winner-argon2.
const FOREIGN: &[&str] = &[
    "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
    "$argon2id$v=19$m=256,t=2,p=2$c29tZXNhbHQ$bQk8UB/VmZZF4Oo79iDXuL5/0ttZwg2f/5U52iv1cDc",
    "$argon2i$v=19$m=256,t=2,p=1$c29tZXNhbHQ$iekCn0Y3spW+sCcFanM2xBT63UP2sghkUoHLIUpWRS8",
    "$argon2i$m=256,t=2,p=1$c29tZXNhbHQ$/U3YPXYsSb3q9XxHvc0MLxur+GP960kN9j7emXX8zwY",
];

#[test]
fn hashes_from_elsewhere_match_and_are_to_be_renewed() {
    for phc in FOREIGN {
        let verdict = verified("password", phc).unwrap();
        assert_eq!(verdict, Verdict { matches: true, needs_rehash: true }, "{phc}");
        assert!(!verified("Password", phc).unwrap().matches, "{phc}");
    }
}

#[test]
fn every_difference_from_the_cost_of_the_day_asks_for_a_new_hash() {
    for cost in [
        PasswordCost { memory: 65, ..CHEAP },
        PasswordCost { memory: 63, ..CHEAP },
        PasswordCost { passes: 2, ..CHEAP },
        PasswordCost { lanes: 2, ..CHEAP },
    ] {
        let phc = hashed("password", cost);
        assert!(verified("password", &phc).unwrap().needs_rehash);
        let verdict = verify(b"password", &phc, cost, &mut Memory::default()).unwrap();
        assert!(!verdict.needs_rehash);
    }
    let argon2d = Phc { algorithm: Algorithm::Argon2d, version: Version::V0x13, cost: CHEAP };
    let mut output = [0; 32];
    argon2d.compute(b"password", &SOME_SALT, &mut output, &mut Memory::default()).unwrap();
    let salt = BASE64_STANDARD_NO_PAD.encode(SOME_SALT);
    let output = BASE64_STANDARD_NO_PAD.encode(output);
    let phc = format!("$argon2d$v=19$m=64,t=1,p=1${salt}${output}");
    assert_eq!(verified("password", &phc), Ok(Verdict { matches: true, needs_rehash: true }));
}

#[test]
fn used_memory_gives_the_same_hash_as_fresh_memory() {
    let mut memory = Memory::default();
    let costs = [64, 256, 8, 64, 300].map(|memory| PasswordCost { memory, ..CHEAP });
    for cost in costs {
        let reused = hash(b"password", SOME_SALT, cost, &mut memory).unwrap();
        assert_eq!(reused, hashed("password", cost));
        assert!(verify(b"password", &reused, cost, &mut memory).unwrap().matches);
    }
    assert_eq!(memory.size(), 300);
}

#[test]
fn hostile_strings_are_refused_before_any_memory_is_touched() {
    let salt = "c29tZXNhbHRzb21lc2FsdA";
    let output = "nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";
    let with = |parameters: &str| format!("$argon2id$v=19${parameters}${salt}${output}");
    let plain = "m=64,t=1,p=1";
    let long = "A".repeat(88);
    for (phc, reason) in [
        (with("m=4294967295,t=1,p=1"), PasswordError::Unbearable),
        (with("m=4294967296,t=1,p=1"), PasswordError::Unbearable),
        (with("m=262144,t=16,p=1"), PasswordError::Unbearable),
        (with("m=65537,t=1,p=1"), PasswordError::Unbearable),
        (with("m=65536,t=5,p=1"), PasswordError::Unbearable),
        (with("m=16385,t=16,p=1"), PasswordError::Unbearable),
        (with("m=0,t=1,p=1"), PasswordError::Unbearable),
        (with("m=7,t=1,p=1"), PasswordError::Unbearable),
        (with("m=64,t=0,p=1"), PasswordError::Unbearable),
        (with("m=64,t=17,p=1"), PasswordError::Unbearable),
        (with("m=64,t=1,p=0"), PasswordError::Unbearable),
        (with("m=1024,t=1,p=17"), PasswordError::Unbearable),
        (with("m=64,t=1,p=9"), PasswordError::Unbearable),
        (with("m=64,t=1,p=4294967295"), PasswordError::Unbearable),
        (with("m=-1,t=1,p=1"), PasswordError::Malformed),
        (with("m=+64,t=1,p=1"), PasswordError::Malformed),
        (with("m=064,t=1,p=1"), PasswordError::Malformed),
        (with("m=,t=1,p=1"), PasswordError::Malformed),
        (with("m=64,t=1,p=1,"), PasswordError::Malformed),
        (with("m,t,p"), PasswordError::Malformed),
        (with(""), PasswordError::Malformed),
        (with("t=1,m=64,p=1"), PasswordError::UnknownParameter),
        (with("m=64,t=1"), PasswordError::UnknownParameter),
        (with("m=64,m=64,t=1,p=1"), PasswordError::UnknownParameter),
        (with("m=64,t=1,p=1,keyid=AAAA"), PasswordError::UnknownParameter),
        (with("m=64,t=1,p=1,data=AAAA"), PasswordError::UnknownParameter),
        (format!("$argon2id$v=20${plain}${salt}${output}"), PasswordError::UnknownParameter),
        (format!("$argon2id$v=${plain}${salt}${output}"), PasswordError::UnknownParameter),
        (format!("$argon2id$v=19${plain}$${output}"), PasswordError::SaltLength),
        (format!("$argon2id$v=19${plain}$c29tZQ${output}"), PasswordError::SaltLength),
        (format!("$argon2id$v=19${plain}${long}${output}"), PasswordError::SaltLength),
        (format!("$argon2id$v=19${plain}${salt}$"), PasswordError::OutputLength),
        (format!("$argon2id$v=19${plain}${salt}$nf65EOgLrQMR"), PasswordError::OutputLength),
        (format!("$argon2id$v=19${plain}${salt}${long}"), PasswordError::OutputLength),
        (format!("$argon2id$v=19${plain}${salt}"), PasswordError::UnknownParameter),
        (format!("$argon2id$v=19${plain}"), PasswordError::Malformed),
        (format!("$argon2id$v=19${plain}${salt}${output}$more"), PasswordError::Malformed),
        (format!("$argon2id$v=19${plain}${salt}${output} "), PasswordError::Malformed),
        (format!("$argon2id$v=19${plain}${salt}${output}=="), PasswordError::Malformed),
        (format!("$argon2id$v=19${plain}${salt}$not*base64"), PasswordError::Malformed),
        (format!("$argon2id$v=19${plain}$not base64${output}"), PasswordError::Malformed),
        (format!("$argon2${plain}${salt}${output}"), PasswordError::UnknownAlgorithm),
        (format!("$ARGON2ID$v=19${plain}${salt}${output}"), PasswordError::UnknownAlgorithm),
        (format!("argon2id$v=19${plain}${salt}${output}"), PasswordError::UnknownAlgorithm),
        (format!("$2b$12${salt}{output}"), PasswordError::Malformed),
        (format!("$scrypt$ln=17,r=8,p=1${salt}${output}"), PasswordError::Unbearable),
        (format!("x$argon2id$v=19${plain}${salt}${output}"), PasswordError::UnknownAlgorithm),
        ("$argon2id".to_owned(), PasswordError::Malformed),
        (String::new(), PasswordError::UnknownAlgorithm),
    ] {
        let mut memory = Memory::default();
        assert_eq!(verify(b"password", &phc, CHEAP, &mut memory), Err(reason), "{phc}");
        assert_eq!(memory.size(), 0, "{phc}");
    }
}

#[test]
fn a_cost_we_would_not_bear_from_others_is_refused_from_ourselves() {
    let dear = PasswordCost { memory: PasswordCost::MOST.memory + 1, ..CHEAP };
    let outcome = hash(b"password", SOME_SALT, dear, &mut Memory::default());
    assert_eq!(outcome, Err(PasswordError::Unbearable));
    assert!(PasswordCost::default().is_bearable() && !PasswordCost::MOST.is_bearable());
    // What PHP and argon2-cffi choose, the low-memory choice of RFC 9106, and those of OWASP.
    for (memory, passes, lanes) in [
        (65_536, 4, 1),
        (65_536, 3, 4),
        (47_104, 1, 1),
        (19_456, 2, 1),
        (12_288, 3, 1),
        (9_216, 4, 1),
        (7_168, 5, 1),
    ] {
        assert!(PasswordCost { memory, passes, lanes }.is_bearable(), "{memory} {passes} {lanes}");
    }
}

/// Measures a process, so it runs itself again in one where no other test is at work.
#[cfg(target_os = "linux")]
#[test]
fn dropped_memory_goes_back_to_the_machine() {
    const ALONE: &str = "PORTEIRO_TEST_ALONE";
    if std::env::var_os(ALONE).is_none() {
        let name = "crypto::password::tests::dropped_memory_goes_back_to_the_machine";
        let child = std::process::Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&child.stdout);
        assert!(child.status.success() && said.contains("1 passed"), "{said}");
        return;
    }
    let resident_mib = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() / 1024
    };
    let before = resident_mib();
    // The allocator changes its options after the first time, hence more than one.
    for _ in 0..4 {
        let mut memory = Memory::default();
        memory.at_least(PasswordCost { memory: 30 * 1024, ..CHEAP }).unwrap();
        assert!(resident_mib() > before + 25);
    }
    assert!(resident_mib() < before + 10, "{} MiB, {before} MiB before", resident_mib());
}

#[test]
fn what_passes_the_check_can_be_verified_and_nothing_else() {
    for phc in FOREIGN {
        assert_eq!(check(phc), Ok(()), "{phc}");
    }
    for bad in [
        "",
        "open sesame",
        "$2b$12$abcdefghijklmnopqrstuv",
        "$argon2id$v=19$m=9999999,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4",
        "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65",
    ] {
        assert_eq!(check(bad), verified("password", bad).map(drop), "{bad}");
        assert!(check(bad).is_err(), "{bad}");
    }
}

#[test]
fn a_salt_that_several_share_is_the_beginning_of_each_ones_phc_string() {
    let mut memory = Memory::default();
    let (salt, shared) = ([5; SALT], salt_string([5; SALT], CHEAP));
    let whole = hash(b"password", salt, CHEAP, &mut memory).unwrap();
    let last = hash_under(b"password", &shared, &mut memory).unwrap();
    assert_eq!(whole, format!("{shared}${last}"));
    for bad in
        ["", "$", "$argon2id$v=19$m=64,t=1,p=1", "$argon2id$v=19$m=9999999,t=2,p=1$c29tZXNhbHQ"]
    {
        assert!(hash_under(b"password", bad, &mut memory).is_err(), "{bad}");
    }
}
