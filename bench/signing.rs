//! Signatures by a key in a token, beside those by a key in memory: ratios within one run.
//!
//! `bench/run-signing` makes a token of `SoftHSM`, runs this and keeps the report. A real HSM is slower or faster: run it
//! with its module in order to know.

#![expect(clippy::unwrap_used, reason = "a benchmark that cannot go on has failed")]
#![expect(clippy::disallowed_methods, reason = "measuring is what clocks are for here")]
#![expect(clippy::print_stdout, reason = "the report is printed")]
#![expect(clippy::cast_precision_loss, reason = "rates are far below 2^52")]

use porteiro::{
    clock::SystemClock,
    crypto::{
        Signer, SystemDice,
        keys::{DevKeys, Generator, KeySources, Origin, pkcs11::TokenSettings},
    },
    domain::{Clock as _, signing_keys::SigningAlgorithm},
};
use serde_json::json;
use std::{
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};

/// How long each key signs in a round.
const ROUND: Duration = Duration::from_millis(400);
const ROUNDS: usize = 5;

fn main() {
    let given = |name: &str| std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"));
    let token = TokenSettings {
        module: given("PORTEIRO_KEYS__PKCS11_MODULE").into(),
        label: given("PORTEIRO_KEYS__PKCS11_TOKEN"),
        pin_file: given("PORTEIRO_KEYS__PKCS11_PIN_FILE").into(),
        waiting: |wait| wait(),
    };
    let folder = tempfile::tempdir().unwrap();
    let files = sources(&folder.path().join("files"), None);
    let hardware = sources(&folder.path().join("hardware"), Some(token));
    println!("| algorithm | file, signatures/s | token, signatures/s | ratio |\n|---|---|---|---|");
    for algorithm in SigningAlgorithm::ALL {
        let pair = signer(&files, algorithm).zip(signer(&hardware, algorithm));
        let Some((file, token)) = pair else {
            println!("| {algorithm} | | the token makes no such key | |");
            continue;
        };
        let mut rates = [Vec::new(), Vec::new()];
        for _ in 0..ROUNDS {
            rates[0].push(rate(&file));
            rates[1].push(rate(&token));
        }
        let [file, token] = rates.map(median);
        println!("| {algorithm} | {file:.0} | {token:.0} | {:.2} |", token / file);
    }
}

/// Makes keys in a place that has none.
fn sources(folder: &Path, token: Option<TokenSettings>) -> KeySources {
    let sources = KeySources::open(folder, token).unwrap();
    let created_at = SystemClock.now();
    let generator = Generator { folder, origin: Origin::Generate, created_at, dice: &SystemDice };
    sources.generate_all(&generator).unwrap();
    sources
}

fn signer(sources: &KeySources, algorithm: SigningAlgorithm) -> Option<Arc<Signer>> {
    let keys = sources.load(DevKeys::Refused).unwrap();
    let mut all = keys.signing().iter().map(|file| file.signer.clone());
    all.find_map(|signer| {
        if signer.algorithm() == algorithm {
            return Some(signer);
        }
        signer.by(algorithm).map(Arc::new)
    })
}

/// Signs for a while on this thread, as a request does.
fn rate(signer: &Signer) -> f64 {
    let claims = json!({ "iss": "https://id.example.com", "sub": "someone", "exp": 1_800_000_000 });
    let began = Instant::now();
    let mut signed = 0_u64;
    while began.elapsed() < ROUND {
        signer.sign("at+jwt", &claims).unwrap();
        signed += 1;
    }
    signed as f64 / began.elapsed().as_secs_f64()
}

fn median(mut rates: Vec<f64>) -> f64 {
    rates.sort_by(f64::total_cmp);
    rates[rates.len() / 2]
}
