//! `docs/assurance.md` is written by the function that flows and sessions use.
//!
//! To write it anew: `PORTEIRO_WRITE_DOCS=1 cargo nextest run --test kernel every_combination`.

use porteiro::domain::{
    Timestamp,
    assurance::{Evidence, Factor, Level, Worth, amr},
};
use std::{fmt::Write as _, fs, time::Duration};

const PATH: &str = "docs/assurance.md";
const NOW: Timestamp = Timestamp::from_millis(1_800_000_000_000);

const HEAD: &str = "\
# Assurance

How sure we are of a person follows from what was proved and when, and from nothing else (NIST SP 800-63B-4). This page is written by
the function that flows and sessions use (`src/domain/assurance.rs`), and a test compares the two (`tests/kernel/assurance.rs`): do not edit
it by hand.

- Proofs of two different factors are `aal2`. Two proofs of one factor, be they of one kind or of two, are `aal1`.
- A passkey verifies its user: it proves two factors by itself.
- Mail proves no factor: a code or a link that was mailed is `aal1` alone, and adds nothing to another proof.
- Password and SMS together are `aal2`, and restricted: a number can be taken over. A code by SMS is asked for as the second of them where the account has neither
  a passkey nor an authenticator application, and `porteiro doctor` warns where SMS is configured.
- A factor counts for 24 hours after its proof. When the session was not used for 1 hour, `aal2` lapses to `aal1` until the next proof of a factor.
  The session itself lives on.
- A proof counts while its authenticator is what it was. When a password, an authenticator application, a passkey or an address is changed or removed, what was
  proved by it is no factor any more and never fresh; a flow that was proved by it fails (adr/0104).
- `acr_values` of `phr` (phishing resistant) is met by a passkey among the proofs, `phrh` by one whose hardware was attested; `acr` says the
  level all the same.
- `aal3` is a passkey whose hardware was attested by a maker that the operator believes (`passkeys.attestation`, off by default). It counts for
  12 hours, and until the session was not used for 15 minutes; then it is `aal2`, until that passkey is used again.
- A proof by an organization's provider counts for that organization alone: as one factor, or as two where the organization believes its provider. A code of an
  authenticator application after it counts there as well, and nowhere else (adr/0135, adr/0148). The table is about the account's own proofs.
";

fn name(worth: Worth) -> &'static str {
    match worth {
        Worth::PASSWORD => "password",
        Worth::TOTP => "TOTP",
        Worth::PASSKEY => "passkey",
        Worth::DEVICE_PASSKEY => "device-bound passkey",
        Worth::ATTESTED_PASSKEY => "attested passkey",
        Worth::EMAIL_CODE => "e-mail code",
        Worth::MAGIC_LINK => "magic link",
        Worth::SMS_CODE => "SMS code",
        Worth::RECOVERY_CODE => "recovery code",
        other => panic!("{other:?} has no name in {PATH}"),
    }
}

fn factors(worths: &[Worth]) -> String {
    let mut factors: Vec<Factor> = worths.iter().flat_map(|worth| worth.factors).copied().collect();
    factors.sort_unstable();
    factors.dedup();
    let names = factors.into_iter().map(|factor| match factor {
        Factor::Knowledge => "knowledge",
        Factor::Possession => "possession",
    });
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

fn level(evidence: &Evidence, now: Timestamp) -> &'static str {
    evidence.level(now).map_or("none", Level::name)
}

fn evidence(worths: &[Worth]) -> Evidence {
    worths.iter().fold(Evidence::default(), |evidence, worth| evidence.and(worth.given(NOW)))
}

fn row(worths: &[Worth]) -> String {
    let evidence = evidence(worths);
    let names: Vec<&str> = worths.iter().map(|worth| name(*worth)).collect();
    let resists =
        if evidence.methods().iter().any(|one| one.resists_phishing()) { "yes" } else { "" };
    let unused = evidence.after_use(NOW, NOW + Duration::from_hours(1));
    let lapsed = level(&unused, NOW + Duration::from_hours(1));
    assert_eq!(lapsed, level(&evidence, NOW + Duration::from_hours(24)), "both lapse to one level");
    format!(
        "| {} | {} | `{}` | `{lapsed}` | {resists} | `{}` |",
        names.join(" + "),
        factors(worths),
        level(&evidence, NOW),
        amr(&evidence.methods()).join(" "),
    )
}

/// Every set of proofs but the empty one, smaller sets first.
fn combinations() -> Vec<Vec<Worth>> {
    let of = |set: usize| {
        let held = Worth::ALL.iter().enumerate().filter(|(at, _)| set >> at & 1 == 1);
        held.map(|(_, worth)| *worth).collect()
    };
    let mut all: Vec<Vec<Worth>> = (1..1 << Worth::ALL.len()).map(of).collect();
    all.sort_by_key(Vec::len);
    all
}

#[test]
fn every_combination_of_evidence_has_the_level_that_is_documented() {
    let mut page = HEAD.to_owned();
    page.push_str("\n| proved | factors | level | lapsed | phishing resistant | `amr` |\n");
    page.push_str("|---|---|---|---|---|---|\n");
    for worths in combinations() {
        writeln!(page, "{}", row(&worths)).unwrap();
    }
    if std::env::var_os("PORTEIRO_WRITE_DOCS").is_some() {
        fs::write(PATH, &page).unwrap();
    }
    let written = fs::read_to_string(PATH).unwrap_or_default();
    assert!(written == page, "{PATH} is not what the rules say: write it anew (see this test)");
}

#[test]
fn no_combination_breaks_a_rule_that_is_stated() {
    let mailed = [Worth::EMAIL_CODE, Worth::MAGIC_LINK];
    for worths in combinations() {
        let (reached, names) = (evidence(&worths).level(NOW), &worths);
        let of_factors = |factor| worths.iter().any(|worth| worth.factors.contains(&factor));
        let both = of_factors(Factor::Knowledge) && of_factors(Factor::Possession);
        assert_eq!(reached >= Some(Level::Aal2), both, "{names:?}");
        // Mail neither reaches nor adds to a second factor.
        let rest: Vec<Worth> =
            worths.iter().copied().filter(|worth| !mailed.contains(worth)).collect();
        let expected = evidence(&rest).level(NOW).unwrap_or(Level::Aal1);
        assert_eq!(reached, Some(expected), "{names:?}");
        // A proof given twice is worth what it is worth once.
        let twice: Vec<Worth> = worths.iter().chain(&worths).copied().collect();
        assert_eq!(evidence(&twice).level(NOW), reached, "{names:?}");
        let attested = worths.contains(&Worth::ATTESTED_PASSKEY);
        assert_eq!(reached == Some(Level::Aal3), attested, "{names:?}");
        let passkey = worths.iter().any(|worth| worth.method.resists_phishing());
        assert!(!passkey || reached >= Some(Level::Aal2), "{names:?}");
    }
}
