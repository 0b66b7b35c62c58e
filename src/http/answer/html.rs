//! Text in pages: nothing that came in becomes markup.

pub use crate::html::escape;
