//! Hashes of what people choose, as PHC strings of Argon2 (RFC 9106).
//!
//! New hashes are always Argon2id at the cost of the day. Hashes that come from elsewhere may be
//! of any kind of Argon2, as long as checking one costs no more than `PasswordCost::MOST_WORK`, or of
//! the kinds that [`foreign`] knows.

mod foreign;

use argon2::{Algorithm, Argon2, Block, Params, Version};
use base64::{Engine, prelude::BASE64_STANDARD_NO_PAD};
use foreign::ForeignHash;
use subtle::ConstantTimeEq;
use zeroize::{Zeroize, Zeroizing};

const SALT: usize = 16;
const OUTPUT: usize = 32;

/// The least that is reserved for working memory, in blocks of a KiB.
///
/// glibc keeps freed memory for itself unless it was mapped, and sets the bar for mapping by what
/// was freed before, up to 32 MiB. Above that bar memory always goes back to the machine; what is
/// reserved and not used is never touched and costs nothing.
const MAPPED: usize = 33 * 1024;

/// What one hash costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordCost {
    /// Memory, in KiB.
    pub memory: u32,
    /// Passes over that memory.
    pub passes: u32,
    /// Lanes; computed one after the other.
    pub lanes: u32,
}

impl PasswordCost {
    /// The most of each that a hash may cost, ours or another's: 64 MiB.
    pub const MOST: Self = Self { memory: 64 * 1024, passes: 16, lanes: 16 };
    /// The most work it may be, in KiB times passes: 64 MiB four times, which is what PHP does and
    /// more than the second choice of RFC 9106 §4.
    pub const MOST_WORK: u64 = 4 * 64 * 1024;
    /// For tests alone: protects nothing.
    pub const CHEAP: Self = Self { memory: 64, passes: 1, lanes: 1 };

    /// Tells whether it lies between what Argon2 needs and what we bear.
    pub fn is_bearable(&self) -> bool {
        (1..=Self::MOST.lanes).contains(&self.lanes)
            && (1..=Self::MOST.passes).contains(&self.passes)
            && (8 * self.lanes..=Self::MOST.memory).contains(&self.memory)
            && u64::from(self.memory) * u64::from(self.passes) <= Self::MOST_WORK
    }
}

impl Default for PasswordCost {
    fn default() -> Self {
        Self { memory: 19_456, passes: 2, lanes: 1 }
    }
}

/// What came of comparing a password with a hash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict {
    pub matches: bool,
    /// It matches, but `hash` would write something else today.
    pub needs_rehash: bool,
}

/// Why there is no hash and no verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PasswordError {
    #[error("the hash is of no kind that can be verified")]
    UnknownAlgorithm,
    #[error("the hash is not a well-formed phc string")]
    Malformed,
    #[error("the hash has parameters that cannot be honoured")]
    UnknownParameter,
    #[error("the cost is out of bounds")]
    Unbearable,
    #[error("the salt is not of 8 to 64 bytes")]
    SaltLength,
    #[error("the output is not of 16 to 64 bytes")]
    OutputLength,
    #[error("the password is too long")]
    PasswordLength,
    #[error("there is not enough memory")]
    OutOfMemory,
}

/// The working memory of Argon2, for one hash at a time; wiped before it is given back.
#[derive(Default)]
pub struct Memory(Vec<Block>);

impl Memory {
    /// Lends at least the memory of `cost`; what is in it does not matter to Argon2.
    fn at_least(&mut self, cost: PasswordCost) -> Result<&mut [Block], PasswordError> {
        let needed = usize::try_from(cost.memory).map_err(|_| PasswordError::OutOfMemory)?;
        if self.0.len() < needed {
            // A new array, because growing the old one could leave a copy of it behind.
            *self = Self::default();
            let reserved = needed.max(MAPPED);
            self.0.try_reserve_exact(reserved).map_err(|_| PasswordError::OutOfMemory)?;
            self.0.resize(needed, Block::new());
        }
        Ok(&mut self.0)
    }

    /// Returns how much it holds, in KiB.
    pub fn size(&self) -> usize {
        self.0.len()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        self.0.iter_mut().for_each(Zeroize::zeroize);
    }
}

/// Returns the PHC string of `password`; the same for the same salt and cost.
pub fn hash(
    password: &[u8],
    salt: [u8; SALT],
    cost: PasswordCost,
    memory: &mut Memory,
) -> Result<String, PasswordError> {
    let phc = Phc { algorithm: Algorithm::Argon2id, version: Version::V0x13, cost };
    let mut output = Zeroizing::new([0; OUTPUT]);
    phc.compute(password, &salt, &mut *output, memory)?;
    Ok(phc_string(cost, salt, &output))
}

/// Writes how to compute and a salt, as a PHC string begins: several hashes may share it.
pub fn salt_string(salt: [u8; SALT], cost: PasswordCost) -> String {
    let PasswordCost { memory, passes, lanes } = cost;
    let salt = BASE64_STANDARD_NO_PAD.encode(salt);
    format!("$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}")
}

/// Returns the last part of the PHC string of `secret` that begins with `salt`.
pub fn hash_under(secret: &[u8], salt: &str, memory: &mut Memory) -> Result<String, PasswordError> {
    let empty = BASE64_STANDARD_NO_PAD.encode([0; OUTPUT]);
    let (phc, salt, _) = Phc::parse(&format!("{salt}${empty}"))?;
    let mut output = Zeroizing::new([0; OUTPUT]);
    phc.compute(secret, &salt, &mut *output, memory)?;
    Ok(BASE64_STANDARD_NO_PAD.encode(*output))
}

/// Compares `password` with a PHC string, of which `cost` is what it should cost today.
pub fn verify(
    password: &[u8],
    phc: &str,
    cost: PasswordCost,
    memory: &mut Memory,
) -> Result<Verdict, PasswordError> {
    if let Some(foreign) = ForeignHash::parse(phc) {
        let matches = foreign?.matches(password)?;
        return Ok(Verdict { matches, needs_rehash: matches });
    }
    let (phc, salt, expected) = Phc::parse(phc)?;
    let mut output = Zeroizing::new(vec![0; expected.len()]);
    phc.compute(password, &salt, &mut output, memory)?;
    let matches = bool::from(output.ct_eq(&expected));
    let today = Phc { algorithm: Algorithm::Argon2id, version: Version::V0x13, cost };
    let is_todays = phc == today && salt.len() == SALT && expected.len() == OUTPUT;
    Ok(Verdict { matches, needs_rehash: matches && !is_todays })
}

/// Tells whether `verify` could compare anything with a PHC string that comes from elsewhere.
pub fn check(phc: &str) -> Result<(), PasswordError> {
    match ForeignHash::parse(phc) {
        Some(foreign) => foreign.map(drop),
        None => Phc::parse(phc).map(drop),
    }
}

/// Compares `password` with a PHC string; where there is none, takes the same trouble in vain.
///
/// Either way there is one computation. A hash at another cost than today's takes another time than
/// the decoy: the hashing pool evens that out, and such hashes go away by `needs_rehash`.
pub fn verify_or_decoy(
    password: &[u8],
    phc: Option<&str>,
    cost: PasswordCost,
    memory: &mut Memory,
) -> Result<Verdict, PasswordError> {
    let judged = phc.map(|phc| verify(password, phc, cost, memory));
    if let Some(Ok(verdict)) = judged {
        return Ok(verdict);
    }
    // A hash that cannot be used was not computed with either.
    verify(password, &decoy(cost), cost, memory)?;
    judged.unwrap_or(Ok(Verdict { matches: false, needs_rehash: false }))
}

/// Tells whether comparing with a PHC string costs what it should cost today.
pub fn is_of_cost(phc: &str, cost: PasswordCost) -> bool {
    Phc::parse(phc).is_ok_and(|(phc, ..)| phc.cost == cost)
}

/// Returns a PHC string that is the hash of no password.
fn decoy(cost: PasswordCost) -> String {
    phc_string(cost, [0; SALT], &[0; OUTPUT])
}

fn phc_string(cost: PasswordCost, salt: [u8; SALT], output: &[u8; OUTPUT]) -> String {
    format!("{}${}", salt_string(salt, cost), BASE64_STANDARD_NO_PAD.encode(output))
}

/// The part of a PHC string that says how to compute.
#[derive(PartialEq)]
struct Phc {
    algorithm: Algorithm,
    version: Version,
    cost: PasswordCost,
}

impl Phc {
    /// Splits `$argon2id$v=19$m=…,t=…,p=…$salt$output`; without `v` it is the first version.
    fn parse(text: &str) -> Result<(Self, Vec<u8>, Vec<u8>), PasswordError> {
        let fields: Vec<&str> = text.split('$').collect();
        let (name, version, parameters, salt, output) = match fields[..] {
            ["", name, version, parameters, salt, output] => {
                (name, version, parameters, salt, output)
            }
            ["", name, parameters, salt, output] => (name, "v=16", parameters, salt, output),
            ["", name, ..] if algorithm(name).is_some() => return Err(PasswordError::Malformed),
            _ => return Err(PasswordError::UnknownAlgorithm),
        };
        let algorithm = algorithm(name).ok_or(PasswordError::UnknownAlgorithm)?;
        let version = match version {
            "v=19" => Version::V0x13,
            "v=16" => Version::V0x10,
            _ => return Err(PasswordError::UnknownParameter),
        };
        let cost = parse_cost(parameters)?;
        let salt = decode(salt)?;
        let output = decode(output)?;
        if !(8..=64).contains(&salt.len()) {
            return Err(PasswordError::SaltLength);
        }
        if !(16..=64).contains(&output.len()) {
            return Err(PasswordError::OutputLength);
        }
        Ok((Self { algorithm, version, cost }, salt, output))
    }

    fn compute(
        &self,
        password: &[u8],
        salt: &[u8],
        output: &mut [u8],
        memory: &mut Memory,
    ) -> Result<(), PasswordError> {
        let PasswordCost { memory: size, passes, lanes } = self.cost;
        if !self.cost.is_bearable() {
            return Err(PasswordError::Unbearable);
        }
        let params = Params::new(size, passes, lanes, Some(output.len()))
            .map_err(|_| PasswordError::Unbearable)?;
        Argon2::new(self.algorithm, self.version, params)
            .hash_password_into_with_memory(password, salt, output, memory.at_least(self.cost)?)
            .map_err(|error| match error {
                argon2::Error::PwdTooLong => PasswordError::PasswordLength,
                argon2::Error::SaltTooShort | argon2::Error::SaltTooLong => {
                    PasswordError::SaltLength
                }
                _ => PasswordError::Unbearable,
            })
    }
}

fn algorithm(name: &str) -> Option<Algorithm> {
    match name {
        "argon2id" => Some(Algorithm::Argon2id),
        "argon2i" => Some(Algorithm::Argon2i),
        "argon2d" => Some(Algorithm::Argon2d),
        _ => None,
    }
}

/// Reads `m=…,t=…,p=…`, in that order; a secret key or associated data could not be honoured.
fn parse_cost(parameters: &str) -> Result<PasswordCost, PasswordError> {
    let pairs: Option<Vec<_>> = parameters.split(',').map(|pair| pair.split_once('=')).collect();
    let cost = match pairs.ok_or(PasswordError::Malformed)?[..] {
        [("m", memory), ("t", passes), ("p", lanes)] => PasswordCost {
            memory: decimal(memory)?,
            passes: decimal(passes)?,
            lanes: decimal(lanes)?,
        },
        _ => return Err(PasswordError::UnknownParameter),
    };
    if cost.is_bearable() { Ok(cost) } else { Err(PasswordError::Unbearable) }
}

/// Reads a number as PHC strings write it: digits alone, no zero in front.
fn decimal(digits: &str) -> Result<u32, PasswordError> {
    let plain = digits.bytes().all(|byte| byte.is_ascii_digit());
    if !plain || digits.is_empty() || (digits.len() > 1 && digits.starts_with('0')) {
        return Err(PasswordError::Malformed);
    }
    digits.parse().map_err(|_| PasswordError::Unbearable)
}

fn decode(text: &str) -> Result<Vec<u8>, PasswordError> {
    BASE64_STANDARD_NO_PAD.decode(text).map_err(|_| PasswordError::Malformed)
}

#[cfg(test)]
mod tests;
