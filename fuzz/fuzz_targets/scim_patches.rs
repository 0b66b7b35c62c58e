#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| porteiro::fuzzing::run("scim_patches", bytes));
