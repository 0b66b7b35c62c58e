//! The only room that draws randomness or touches private keys.
