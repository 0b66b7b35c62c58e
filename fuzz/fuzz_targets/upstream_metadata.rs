#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| porteiro::fuzzing::run("upstream_metadata", bytes));
