//! Hashes of other kinds than Argon2, which come from elsewhere: they are compared with, never written.
//!
//! | kind | written as | bounds |
//! |---|---|---|
//! | bcrypt | `$2b$10$…` (also `2a`, `2y`) | cost 4 to 12 |
//! | scrypt | `$scrypt$ln=14,r=8,p=1$salt$output` | 32 MiB of memory, 48 MiB in all lanes |
//! | PBKDF2 | `$pbkdf2-sha256$i=600000,l=32$salt$output` (also `-sha1`, `-sha512`) | 800,000 passes of SHA-1 or SHA-256, half of that of SHA-512 |
//!
//! The dearest of each takes less than the time after which a wrong password is told, so that this time
//! tells nothing (adr/0040, adr/0084).

use super::{PasswordError, decimal, decode};
use aws_lc_rs::pbkdf2;
use std::num::NonZeroU32;
use subtle::ConstantTimeEq as _;
use zeroize::Zeroizing;

const BCRYPT_COSTS: std::ops::RangeInclusive<u32> = 4..=12;
/// `$2b$10$`, then 22 characters of salt and 31 of output.
const BCRYPT_LENGTH: usize = 60;
const SCRYPT_MEMORY: u64 = 32 * 1024 * 1024;
const SCRYPT_WORK: u64 = 48 * 1024 * 1024;
/// Passes of a digest of up to 32 bytes; longer digests take twice as long.
const PBKDF2_PASSES: u64 = 800_000;

/// A hash that can be compared with.
pub(super) enum ForeignHash {
    Bcrypt(String),
    Scrypt { params: scrypt::Params, salt: Vec<u8>, output: Vec<u8> },
    Pbkdf2 { digest: Digest, passes: NonZeroU32, salt: Vec<u8>, output: Vec<u8> },
}

/// The digest under PBKDF2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Digest {
    Sha1,
    Sha256,
    Sha512,
}

impl Digest {
    fn algorithm(self) -> pbkdf2::Algorithm {
        match self {
            Self::Sha1 => pbkdf2::PBKDF2_HMAC_SHA1,
            Self::Sha256 => pbkdf2::PBKDF2_HMAC_SHA256,
            Self::Sha512 => pbkdf2::PBKDF2_HMAC_SHA512,
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
            Self::Sha512 => 64,
        }
    }

    fn most_passes(self) -> u64 {
        match self {
            Self::Sha1 | Self::Sha256 => PBKDF2_PASSES,
            Self::Sha512 => PBKDF2_PASSES / 2,
        }
    }
}

impl ForeignHash {
    /// Reads a hash of one of these kinds; `None` is of another.
    pub(super) fn parse(text: &str) -> Option<Result<Self, PasswordError>> {
        let (name, rest) = text.strip_prefix('$')?.split_once('$')?;
        match name {
            "2a" | "2b" | "2y" => Some(bcrypt_of(text, rest)),
            "scrypt" => Some(scrypt_of(rest)),
            "pbkdf2-sha1" => Some(pbkdf2_of(Digest::Sha1, rest)),
            "pbkdf2-sha256" => Some(pbkdf2_of(Digest::Sha256, rest)),
            "pbkdf2-sha512" => Some(pbkdf2_of(Digest::Sha512, rest)),
            _ => None,
        }
    }

    pub(super) fn matches(&self, password: &[u8]) -> Result<bool, PasswordError> {
        match self {
            Self::Bcrypt(text) => {
                bcrypt::verify(password, text).map_err(|_| PasswordError::Malformed)
            }
            Self::Scrypt { params, salt, output } => {
                let mut made = Zeroizing::new(vec![0; output.len()]);
                scrypt::scrypt(password, salt, params, &mut made)
                    .map_err(|_| PasswordError::OutputLength)?;
                Ok(made.ct_eq(output).into())
            }
            Self::Pbkdf2 { digest, passes, salt, output } => {
                Ok(pbkdf2::verify(digest.algorithm(), *passes, salt, password, output).is_ok())
            }
        }
    }
}

fn bcrypt_of(text: &str, rest: &str) -> Result<ForeignHash, PasswordError> {
    let of_bcrypt = |byte: u8| byte.is_ascii_alphanumeric() || b"./".contains(&byte);
    let (cost, hash) = rest.split_once('$').ok_or(PasswordError::Malformed)?;
    // Two digits, the first of which may be zero.
    let digits = cost.len() == 2 && cost.bytes().all(|byte| byte.is_ascii_digit());
    if !digits || text.len() != BCRYPT_LENGTH || !hash.bytes().all(of_bcrypt) {
        return Err(PasswordError::Malformed);
    }
    let cost = cost.parse().map_err(|_| PasswordError::Malformed)?;
    if !BCRYPT_COSTS.contains(&cost) {
        return Err(PasswordError::Unbearable);
    }
    match text.parse::<bcrypt::HashParts>() {
        Ok(_) => Ok(ForeignHash::Bcrypt(text.to_owned())),
        Err(_) => Err(PasswordError::Malformed),
    }
}

fn scrypt_of(rest: &str) -> Result<ForeignHash, PasswordError> {
    let (parameters, salt, output) = parts(rest)?;
    let (log_n, blocks, lanes) = match pairs(parameters)?[..] {
        [("ln", log_n), ("r", blocks), ("p", lanes)] => {
            (decimal(log_n)?, decimal(blocks)?, decimal(lanes)?)
        }
        _ => return Err(PasswordError::UnknownParameter),
    };
    let log_n = u8::try_from(log_n).ok().filter(|log_n| (1..=30).contains(log_n));
    let log_n = log_n.ok_or(PasswordError::Unbearable)?;
    let memory = (u64::from(blocks) * 128).checked_mul(1 << log_n);
    let memory = memory.filter(|memory| *memory <= SCRYPT_MEMORY);
    let work = memory.and_then(|memory| memory.checked_mul(lanes.into()));
    if work.is_none_or(|work| work > SCRYPT_WORK) {
        return Err(PasswordError::Unbearable);
    }
    let params =
        scrypt::Params::new(log_n, blocks, lanes).map_err(|_| PasswordError::Unbearable)?;
    Ok(ForeignHash::Scrypt { params, salt, output })
}

fn pbkdf2_of(digest: Digest, rest: &str) -> Result<ForeignHash, PasswordError> {
    let (parameters, salt, output) = parts(rest)?;
    let (passes, length) = match pairs(parameters)?[..] {
        [("i", passes)] => (decimal(passes)?, None),
        [("i", passes), ("l", length)] => (decimal(passes)?, Some(decimal(length)?)),
        _ => return Err(PasswordError::UnknownParameter),
    };
    if length.is_some_and(|length| length as usize != output.len()) {
        return Err(PasswordError::OutputLength);
    }
    // Each piece of output as long as the digest takes all the passes.
    let pieces = output.len().div_ceil(digest.length()) as u64;
    let passes = NonZeroU32::new(passes).ok_or(PasswordError::Unbearable)?;
    if u64::from(passes.get()) * pieces > digest.most_passes() {
        return Err(PasswordError::Unbearable);
    }
    Ok(ForeignHash::Pbkdf2 { digest, passes, salt, output })
}

/// Splits `parameters$salt$output`. A salt may be shorter than one of Argon2, and may not be absent.
fn parts(rest: &str) -> Result<(&str, Vec<u8>, Vec<u8>), PasswordError> {
    let fields: Vec<&str> = rest.split('$').collect();
    let [parameters, salt, output] = fields[..] else { return Err(PasswordError::Malformed) };
    let (salt, output) = (decode(salt)?, decode(output)?);
    if !(1..=64).contains(&salt.len()) {
        return Err(PasswordError::SaltLength);
    }
    if !(16..=64).contains(&output.len()) {
        return Err(PasswordError::OutputLength);
    }
    Ok((parameters, salt, output))
}

fn pairs(parameters: &str) -> Result<Vec<(&str, &str)>, PasswordError> {
    let pairs = parameters.split(',').map(|pair| pair.split_once('='));
    pairs.collect::<Option<_>>().ok_or(PasswordError::Malformed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(password: &str, phc: &str) -> Result<bool, PasswordError> {
        ForeignHash::parse(phc)
            .ok_or(PasswordError::UnknownAlgorithm)??
            .matches(password.as_bytes())
    }

    /// Of OpenSSL and libxcrypt; the password is `correct horse battery staple`.
    const KNOWN: [&str; 5] = [
        "$2b$04$abcdefghijklmnopqrstuu7EJV7kdjBBQxyb0HjTh9KS7.Lah/6CG",
        "$scrypt$ln=4,r=8,p=1$MDEyMzQ1Njc4OWFiY2RlZg$0Pz6RuN9WCY6OfE3FYH5Myx0JqvNjul84VbFyWLBf4g",
        "$pbkdf2-sha1$i=1000,l=20$MDEyMzQ1Njc4OWFiY2RlZg$wmIXv0mv7iouqkc9CKjRvCX21po",
        "$pbkdf2-sha256$i=1000,l=32$MDEyMzQ1Njc4OWFiY2RlZg$yqSq2SygY1sB4EcH9f2FG0JTMES+wqLsOT5YmiRBplI",
        "$pbkdf2-sha512$i=1000,l=64$MDEyMzQ1Njc4OWFiY2RlZg$5bTW2oeyDJyGJPcmEr+mRDE11ghpozWrDGnSNhRXo2ZCu0KHRDiUMAVEGzLJC+oDhRoeIja9J1iLIv9ptDJMfQ",
    ];

    #[test]
    fn a_password_matches_a_hash_that_other_programs_made_and_no_other_does() {
        for phc in KNOWN {
            assert_eq!(judged("correct horse battery staple", phc), Ok(true), "{phc}");
            for wrong in ["", "correct horse battery stapl", "Correct horse battery staple"] {
                assert_eq!(judged(wrong, phc), Ok(false), "{phc}");
            }
        }
    }

    #[test]
    fn hashes_of_absurd_cost_are_refused() {
        let with = |name: &str, parameters: &str| {
            format!("${name}${parameters}$c29tZXNhbHQ${}", "A".repeat(43))
        };
        for (name, parameters) in [
            ("scrypt", "ln=16,r=8,p=1"),
            ("scrypt", "ln=15,r=8,p=2"),
            ("scrypt", "ln=31,r=1,p=1"),
            ("scrypt", "ln=0,r=8,p=1"),
            ("scrypt", "ln=14,r=0,p=1"),
            ("scrypt", "ln=14,r=8,p=0"),
            ("scrypt", "ln=14,r=4294967295,p=4294967295"),
            ("scrypt", "ln=1,r=1,p=4294967295"),
            ("pbkdf2-sha256", "i=800001"),
            ("pbkdf2-sha256", "i=0"),
            ("pbkdf2-sha256", "i=4294967295,l=32"),
            ("pbkdf2-sha1", "i=400001,l=32"),
            ("pbkdf2-sha512", "i=400001"),
        ] {
            let said = judged("x", &with(name, parameters));
            assert_eq!(said, Err(PasswordError::Unbearable), "{name} {parameters}");
        }
        for cost in ["00", "03", "13", "31", "99"] {
            let phc = format!("$2b${cost}${}", "a".repeat(53));
            assert_eq!(judged("x", &phc), Err(PasswordError::Unbearable), "{phc}");
        }
    }

    #[test]
    fn what_is_not_well_formed_is_refused() {
        let output = "A".repeat(43);
        for (phc, reason) in [
            ("$2b$10$short".to_owned(), PasswordError::Malformed),
            (format!("$2b$1x${}", "a".repeat(53)), PasswordError::Malformed),
            (format!("$2b$10${}", "a".repeat(54)), PasswordError::Malformed),
            (format!("$2b$10${}!", "a".repeat(52)), PasswordError::Malformed),
            (format!("$2x$10${}", "a".repeat(53)), PasswordError::UnknownAlgorithm),
            (format!("$scrypt$ln=14,r=8$c29tZQ${output}"), PasswordError::UnknownParameter),
            (format!("$scrypt$ln=14,r=8,p=1${output}"), PasswordError::Malformed),
            (format!("$scrypt$ln=14,r=8,p=1$${output}"), PasswordError::SaltLength),
            ("$scrypt$ln=14,r=8,p=1$c29tZQ$nf65".to_owned(), PasswordError::OutputLength),
            (format!("$pbkdf2-sha256$1000$c29tZQ${output}"), PasswordError::Malformed),
            (format!("$pbkdf2-sha256$i=+5$c29tZQ${output}"), PasswordError::Malformed),
            (format!("$pbkdf2-sha256$i=5,l=33$c29tZQ${output}"), PasswordError::OutputLength),
            (format!("$pbkdf2-md5$i=5$c29tZQ${output}"), PasswordError::UnknownAlgorithm),
            (format!("$pbkdf2-sha256$i=5$c29tZQ${output}="), PasswordError::Malformed),
        ] {
            assert_eq!(judged("x", &phc), Err(reason), "{phc}");
        }
    }
}
