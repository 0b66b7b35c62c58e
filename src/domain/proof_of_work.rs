//! Proof of work: a caller shows that it has spent time on one flow and one address.
//!
//! Nothing is kept. The challenge is what the flow is known by, which the server has drawn; the answer
//! is any text for which the SHA-256 of `challenge:address:answer` begins with so many zero bits.

use sha2::{Digest as _, Sha256};

/// More would keep people out as well.
pub const MOST_BITS: u32 = 24;

/// No answer needs to be longer.
pub const LONGEST_ANSWER: usize = 64;

/// Tells whether `answer` solves the challenge for this address.
pub fn is_solved(bits: u32, challenge: &str, email: &str, answer: &str) -> bool {
    if bits == 0 {
        return true;
    }
    if answer.len() > LONGEST_ANSWER {
        return false;
    }
    let digest = Sha256::digest(format!("{challenge}:{email}:{answer}"));
    let mut zeros = 0;
    for byte in digest {
        zeros += byte.leading_zeros();
        if byte != 0 {
            break;
        }
    }
    zeros >= bits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(bits: u32, challenge: &str, email: &str) -> String {
        let mut answers = (0_u32..).map(|number| number.to_string());
        answers.find(|answer| is_solved(bits, challenge, email, answer)).unwrap()
    }

    #[test]
    fn an_answer_is_for_one_flow_and_one_address() {
        let answer = solve(12, "flow", "ana@acme.test");
        assert!(is_solved(12, "flow", "ana@acme.test", &answer));
        assert!(is_solved(0, "flow", "ana@acme.test", ""), "none is asked for");
        assert!(!is_solved(12, "other", "ana@acme.test", &answer));
        assert!(!is_solved(12, "flow", "eva@acme.test", &answer));
        assert!(!is_solved(12, "flow", "ana@acme.test", ""));
    }

    #[test]
    fn an_answer_is_bounded() {
        let mut padded = (0_u64..).map(|number| format!("{number:0>65}"));
        let solving = |answer: &String| {
            let digest = Sha256::digest(format!("flow:ana@acme.test:{answer}"));
            digest[0] == 0
        };
        let long = padded.find(solving).unwrap();
        assert!(!is_solved(8, "flow", "ana@acme.test", &long));
    }
}
