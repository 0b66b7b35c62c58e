//! Porteiro.
fn main() {}
