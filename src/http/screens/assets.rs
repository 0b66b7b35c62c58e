//! What pages need beside themselves: a style sheet, a script, pictures. The name of each has a hash of
//! its content in it, so that browsers keep it for ever and never an old one.

use crate::http::answer::error::Problem;
use axum::{
    extract::Path,
    http::{HeaderValue, header},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;
use sha2::{Digest as _, Sha256};
use std::{fmt::Write as _, sync::LazyLock};

const FOREVER: HeaderValue = HeaderValue::from_static("public, max-age=31536000, immutable");
/// What is opened by itself runs nothing and fetches nothing.
const POLICY: HeaderValue =
    HeaderValue::from_static("default-src 'none'; frame-ancestors 'none'; sandbox");
/// A drawing has styles in it.
const POLICY_OF_DRAWINGS: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; sandbox",
);
const SVG: &str = "image/svg+xml";

/// What a style sheet is served as.
pub const CSS: &str = "text/css; charset=utf-8";

/// One file that is served.
pub struct Asset {
    /// Its path, with the hash.
    pub path: String,
    kind: &'static str,
    content: Bytes,
}

/// Every file that pages name.
pub struct Assets {
    pub style: Asset,
    pub script: Asset,
    pub icons: Asset,
    pub mark: Asset,
    pub arches: Asset,
}

static ASSETS: LazyLock<Assets> = LazyLock::new(Assets::new);

/// Returns what pages name.
pub fn assets() -> &'static Assets {
    &ASSETS
}

impl Assets {
    fn new() -> Self {
        let arches = Asset::new("arches", "svg", SVG, include_str!("../../../assets/arches.svg"));
        let style =
            include_str!("../../../assets/porteiro.css").replace("arches.svg", &arches.path);
        let script = include_str!("../../../assets/porteiro.js");
        Self {
            style: Asset::new("porteiro", "css", CSS, &style),
            script: Asset::new("porteiro", "js", "text/javascript; charset=utf-8", script),
            icons: Asset::new("icons", "svg", SVG, include_str!("../../../assets/icons.svg")),
            mark: Asset::new("mark", "svg", SVG, include_str!("../../../assets/mark.svg")),
            arches,
        }
    }

    fn all(&self) -> [&Asset; 5] {
        let Self { style, script, icons, mark, arches } = self;
        [style, script, icons, mark, arches]
    }
}

impl Asset {
    pub fn new(name: &str, ending: &str, kind: &'static str, content: &str) -> Self {
        let mut hash = String::new();
        for byte in &Sha256::digest(content.as_bytes())[..8] {
            write!(hash, "{byte:02x}").expect("a String takes it all");
        }
        let path = format!("/assets/{name}-{hash}.{ending}");
        Self { path, kind, content: Bytes::copy_from_slice(content.as_bytes()) }
    }

    /// The same under another path.
    pub fn below(mut self, folder: &str) -> Self {
        self.path = self.path.replace("/assets/", folder);
        self
    }

    #[cfg(test)]
    pub fn size(&self) -> usize {
        self.content.len()
    }

    #[cfg(test)]
    pub fn content(&self) -> &[u8] {
        &self.content
    }

    pub fn answer(&self) -> Response {
        kept_for_ever(self.kind, self.content.clone())
    }
}

pub async fn get(Path(file): Path<String>) -> Response {
    let named = |asset: &&&Asset| asset.path.strip_prefix("/assets/") == Some(&*file);
    let found = assets().all().iter().find(named).copied();
    found.map_or_else(|| Problem::NOT_FOUND.into_response(), Asset::answer)
}

/// Answers with a file whose name changes with its content.
pub fn kept_for_ever(kind: &'static str, content: Bytes) -> Response {
    let policy = if kind == SVG { POLICY_OF_DRAWINGS } else { POLICY };
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(kind)),
        (header::CACHE_CONTROL, FOREVER),
        (header::CONTENT_SECURITY_POLICY, policy),
    ];
    (headers, content).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_change_with_the_content() {
        let one = Asset::new("a", "css", "text/css", "one");
        let two = Asset::new("a", "css", "text/css", "two");
        assert_ne!(one.path, two.path);
        assert_eq!(one.path, Asset::new("a", "css", "text/css", "one").path);
    }

    #[test]
    fn everything_together_is_small() {
        let bytes: usize = assets().all().iter().map(|asset| asset.content.len()).sum();
        assert!(bytes < 48_000, "{bytes}: a page and all it needs have at most 60 kB");
    }

    #[test]
    fn no_asset_names_another_host() {
        for asset in assets().all() {
            let text = std::str::from_utf8(&asset.content).unwrap();
            let text = text.replace("http://www.w3.org/2000/svg", "");
            assert!(!text.contains("http:") && !text.contains("https:"), "{}", asset.path);
        }
    }
}
