//! Whether time tells who has an account: wrong passwords for known and for unknown identifiers.
//!
//! Attempts are made in pairs, one of each in random order, so that what the machine does meanwhile
//! falls on both alike; the medians are compared. So are accounts whose hashes were imported at
//! another cost than ours: a wrong password takes the same time for them (adr/0040).

use crate::{
    Outcome,
    connection::Connection,
    figures::{Spread, Verdict},
    report::Section,
    request::post_json,
    servers::{DISCOVERY, Stage, loopback, porteiro::Installation, until_ready},
};
use base64::{Engine as _, prelude::BASE64_STANDARD_NO_PAD};
use porteiro::crypto::{SystemDice, draw, password::PasswordCost};
use serde_json::{Value, json};
use std::{
    fmt::Write as _,
    net::SocketAddr,
    time::{Duration, Instant},
};

pub const NAME: &str = "identifiers";

/// How many accounts of a sort there are; no throttle bears a hundred failures.
const MANY: usize = 50;

/// How much the medians may differ.
const MOST: f64 = 0.02;

/// How much those of one and the same side may: a machine that is not as quiet tells nothing.
const QUIET: f64 = 0.01;

/// How often it is tried while the machine is not quiet: far fewer failures for an identifier than
/// the hundred in a row that no throttle bears.
const TRIES: usize = 3;

/// Of an identifier step there are more pairs: it is short, and so more disturbed.
const MORE: usize = 5;

/// Without even times imported hashes would differ by half and more, which shows soon.
const PAIRS_OF_IMPORTED: usize = 150;

/// Accounts of one sort, all of whose hashes cost the same.
struct Sort {
    name: &'static str,
    hashed: Hashed,
}

/// How a hash is written before its salt.
enum Hashed {
    Phc(String),
    /// Salt and output lie in one, in letters of its own.
    Bcrypt(u8),
}

/// The two sides of a comparison, in seconds.
struct Compared {
    known: Spread,
    unknown: Spread,
    /// Every other attempt for an unknown identifier, against the rest of them: what is no
    /// difference at all.
    noise: f64,
}

impl Compared {
    /// By how much a known identifier takes longer.
    fn difference(&self) -> f64 {
        self.known.median / self.unknown.median - 1.0
    }

    fn row(&self, section: &mut Section, what: &str) {
        section.row(&[
            what,
            &format!("{:.3}", self.known.median * 1e3),
            &format!("{:.3}", self.unknown.median * 1e3),
            &format!("{:+.2} %", self.difference() * 100.0),
            &format!("{:+.2} %", self.noise * 100.0),
        ]);
    }

    fn judge(&self, what: &str) -> Verdict {
        Verdict {
            what: format!("{NAME}: {what}"),
            measured: format!("{:+.2} %", self.difference() * 100.0),
            wanted: format!("≤ {} % either way", MOST * 100.0),
            holds: self.difference().abs() <= MOST,
        }
    }
}

pub async fn measure(stage: &Stage, pairs: usize) -> Outcome<Section> {
    let usual = PasswordCost::default();
    let sound = Sort { name: "known", hashed: Hashed::argon2(usual) };
    let quick = PasswordCost { passes: 1, ..usual };
    let dear = PasswordCost { memory: 65_536, passes: 4, lanes: 1 };
    // The dearest of each kind that is taken (adr/0084), and a cheap one.
    let imported = [
        (Sort { name: "quick", hashed: Hashed::argon2(quick) }, "Argon2id, one pass of two"),
        (Sort { name: "dears", hashed: Hashed::argon2(dear) }, "Argon2id, 64 MiB, four passes"),
        (Sort { name: "blow4", hashed: Hashed::Bcrypt(4) }, "bcrypt, cost 4"),
        (Sort { name: "blow0", hashed: Hashed::Bcrypt(12) }, "bcrypt, cost 12"),
        (Sort { name: "scryp", hashed: Hashed::phc("scrypt$ln=15,r=8,p=1") }, "scrypt, 32 MiB"),
        (
            Sort { name: "pbkdf", hashed: Hashed::phc("pbkdf2-sha256$i=800000,l=32") },
            "PBKDF2-SHA-256, 800,000 passes",
        ),
    ];
    let installation = Installation::prepare(stage, NAME)?;
    let sorts = std::iter::once(&sound).chain(imported.iter().map(|(sort, _)| sort));
    installation.apply_with(&sorts.map(Sort::provisioning).collect::<String>())?;
    let (mut process, address) = (installation.serve()?, loopback(installation.port));
    until_ready(&mut process, address, DISCOVERY).await?;
    let mut visitor = Visitor { connection: Connection::open(address).await?, address };

    let mut section = Section::new("Known and unknown identifiers");
    section.line(&format!(
        "One connection tries wrong passwords for {MANY} known and {MANY} unknown identifiers, in pairs \
         and each in a flow of its own; medians of {pairs} pairs, of the identifier step of {}. In the \
         last rows ({} pairs) the known ones have hashes that were imported at another cost. While \
         unknown identifiers differ among themselves by more than {} %, the machine is not quiet, and the \
         first two rows are measured again, at most {TRIES} times.",
        pairs * MORE,
        pairs.min(PAIRS_OF_IMPORTED),
        QUIET * 100.0,
    ));
    section.table(&[
        "step",
        "known, ms",
        "unknown, ms",
        "difference",
        "of every other unknown to the rest",
    ]);
    let identifier = visitor.compare_quietly(&sound, pairs * MORE, Step::Identifier).await?;
    identifier.row(&mut section, "identifier");
    section.verdicts.push(identifier.judge("identifier step, known against unknown"));
    let password = visitor.compare_quietly(&sound, pairs, Step::Password).await?;
    password.row(&mut section, "password");
    section.verdicts.push(password.judge("password step, known against unknown"));
    for (sort, what) in &imported {
        let pairs = pairs.min(PAIRS_OF_IMPORTED);
        let compared = visitor.compare(sort, pairs, Step::Password).await?;
        compared.row(&mut section, &format!("password, imported: {what}"));
        section.verdicts.push(compared.judge(&format!("imported hashes ({what})")));
    }
    process.stop().await?;
    Ok(section)
}

impl Sort {
    /// No person knows these passwords: the hashes are drawn.
    fn provisioning(&self) -> String {
        let mut text = String::new();
        for number in 0..MANY {
            let _ = write!(
                text,
                "\n[[account]]\nemail = \"{}\"\npassword = \"{}\"\n",
                address_of(self.name, number),
                self.hashed.draw(),
            );
        }
        text
    }
}

impl Hashed {
    fn argon2(PasswordCost { memory, passes, lanes }: PasswordCost) -> Self {
        Self::Phc(format!("argon2id$v=19$m={memory},t={passes},p={lanes}"))
    }

    fn phc(text: &str) -> Self {
        Self::Phc(text.to_owned())
    }

    fn draw(&self) -> String {
        let salt = BASE64_STANDARD_NO_PAD.encode(draw::<16>(&SystemDice));
        let output = BASE64_STANDARD_NO_PAD.encode(draw::<32>(&SystemDice));
        match self {
            Self::Phc(head) => format!("${head}${salt}${output}"),
            // 22 letters of salt, the last of which has two bits, and 31 of output, with four in the last.
            Self::Bcrypt(cost) => {
                let (salt, output) = (&salt[..21], &output[..30]);
                format!("$2b${cost:02}${salt}u{output}u").replace('+', ".")
            }
        }
    }
}

/// All of the same length, known or not.
fn address_of(sort: &str, number: usize) -> String {
    format!("{sort}-{:02}@bench.test", number % MANY)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Identifier,
    Password,
}

struct Visitor {
    connection: Connection,
    address: SocketAddr,
}

impl Visitor {
    /// Takes a step in pairs; a round of all accounts counts for nothing.
    async fn compare(&mut self, sort: &Sort, pairs: usize, step: Step) -> Outcome<Compared> {
        let (mut known, mut unknown) = (Vec::new(), Vec::new());
        for number in 0..MANY + pairs {
            let known_first = draw::<1>(&SystemDice)[0].is_multiple_of(2);
            for is_known in [known_first, !known_first] {
                let sort = if is_known { sort.name } else { "other" };
                let took = self.attempt(&address_of(sort, number), step).await?;
                if number >= MANY {
                    let side = if is_known { &mut known } else { &mut unknown };
                    side.push(took.as_secs_f64());
                }
            }
        }
        let half = |first: usize| Spread::of(unknown.iter().skip(first).step_by(2).copied());
        let noise = half(0).median / half(1).median - 1.0;
        Ok(Compared { known: Spread::of(known), unknown: Spread::of(unknown), noise })
    }

    /// Compares until the machine is quiet, or the last time in any case.
    async fn compare_quietly(
        &mut self,
        sort: &Sort,
        pairs: usize,
        step: Step,
    ) -> Outcome<Compared> {
        let mut compared = self.compare(sort, pairs, step).await?;
        for _ in 1..TRIES {
            if compared.noise.abs() <= QUIET {
                break;
            }
            compared = self.compare(sort, pairs, step).await?;
        }
        Ok(compared)
    }

    /// Begins a flow, goes as far as the step that is measured, and says how long that took.
    async fn attempt(&mut self, identifier: &str, step: Step) -> Outcome<Duration> {
        let (begun, _) = self.post("/flows", &json!({ "kind": "sign_in" }), 201).await?;
        let id = begun["id"].as_str().ok_or("a flow has no id")?;
        let body = json!({ "identifier": identifier });
        let (_, took) = self.post(&format!("/flows/{id}/identifier"), &body, 200).await?;
        if step == Step::Identifier {
            return Ok(took);
        }
        let body = json!({ "password": "not the password of anybody" });
        let (_, took) = self.post(&format!("/flows/{id}/password"), &body, 401).await?;
        Ok(took)
    }

    async fn post(
        &mut self,
        path: &str,
        document: &Value,
        status: u16,
    ) -> Outcome<(Value, Duration)> {
        let request = post_json(self.address, path, &[], document);
        let sent = Instant::now();
        let answer = self.connection.exchange(&request).await?;
        let took = sent.elapsed();
        if answer.status != status {
            return Err(answer.unexpected());
        }
        Ok((serde_json::from_slice(answer.body)?, took))
    }
}
