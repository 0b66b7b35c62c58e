//! The checker of `bin/chaos` finds each violation that it is for, and no other (adr/0163).

use crate::programs::there_are;
use std::process::Command;

#[test]
fn the_checker_of_chaos_finds_what_it_is_for_and_each_planted_bug_can_be_planted() {
    if !there_are(&["python3"]) {
        return;
    }
    let output = Command::new("bin/chaos").arg("--self-test").output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}\n{}", String::from_utf8_lossy(&output.stderr));
}
