//! How a page of an organization looks: its style sheet, its logo and its name (adr/0076).
//!
//! Both files are served under the slug and a name that changes with the content, and that cannot be
//! told without the secret key: a stranger who guesses a slug and its colour learns nothing.

use super::assets;
use crate::{
    domain::{brand::Texts, organization::Known, picture::Format},
    http::{answer::error::Problem, app::App, extract::origin::Origin, flows::Document},
    wording::quotable,
};
use axum::{
    extract::{Path, State},
    response::{IntoResponse as _, Response},
};
use bytes::Bytes;

/// How many letters the name of a file has after the slug.
const NAME: usize = 22;
/// How high a logo is drawn, as in `assets/porteiro.css`.
const LOGO_HEIGHT: u32 = 24;
/// How wide it is at most.
const LOGO_WIDTH: u32 = 144;

/// The brand of a page.
pub struct BrandShown {
    /// Of the organization.
    pub name: String,
    /// The path of the style sheet, where there is a colour.
    pub style: Option<String>,
    pub logo: Option<LogoShown>,
    pub text: Option<Texts>,
}

/// A logo in a page.
pub struct LogoShown {
    pub path: String,
    pub width: u32,
    pub height: u32,
}

/// Returns the brand of the page of a flow.
pub async fn of_page(app: &App, document: &Document) -> Option<BrandShown> {
    of(app, document.belongs_to.as_deref()?).await
}

/// Returns the brand of an organization; none where it has none, or confers nothing.
async fn of(app: &App, slug: &str) -> Option<BrandShown> {
    // Without it the person goes on all the same.
    let seen = app.views.organizations.look(slug).await.ok()?;
    let known = seen.machine.known().filter(|known| has_brand(known))?;
    let brand = &known.brand;
    let style = brand.colour.map(|colour| {
        let sheet = app.brands.sheet(colour);
        format!("/assets/brand/{}", app.brands.file(slug, &sheet, "css"))
    });
    let logo = brand.logo.as_ref().map(|logo| {
        let file = app.brands.file(slug, &logo.hash, logo.format.ending());
        let (width, height) = drawn(logo.width, logo.height);
        LogoShown { path: format!("/assets/brand/{file}"), width, height }
    });
    Some(BrandShown { name: quotable(&known.name), style, logo, text: brand.text.clone() })
}

fn has_brand(known: &Known) -> bool {
    known.enabled && !known.brand.is_plain()
}

/// Returns how large a logo of these sides is drawn.
fn drawn(width: u32, height: u32) -> (u32, u32) {
    let (width, height) = (u64::from(width.max(1)), u64::from(height.max(1)));
    let side = |points: u64| u32::try_from(points.max(1)).unwrap_or(u32::MAX);
    let wide = width * u64::from(LOGO_HEIGHT) / height;
    if wide <= u64::from(LOGO_WIDTH) {
        return (side(wide), LOGO_HEIGHT);
    }
    (LOGO_WIDTH, side(height * u64::from(LOGO_WIDTH) / width))
}

/// Serves the style sheet or the logo of an organization.
pub async fn get(
    State(app): State<App>,
    Origin(address): Origin,
    Path(file): Path<String>,
) -> Response {
    let found = match app.limits.request_permits.work(address) {
        Ok(_permit) => find(&app, &file).await,
        Err(full) => return Problem::from(full).into_response(),
    };
    found.unwrap_or_else(|| Problem::NOT_FOUND.into_response())
}

async fn find(app: &App, file: &str) -> Option<Response> {
    let (name, ending) = file.rsplit_once('.')?;
    let end = name.len().checked_sub(NAME + 1)?;
    let slug = name.get(..end)?;
    let seen = app.views.organizations.look(slug).await.ok()?;
    let brand = &seen.machine.known().filter(|known| has_brand(known))?.brand;
    if ending == "css" {
        let sheet = app.brands.sheet(brand.colour?);
        let is_now = app.brands.file(slug, &sheet, ending) == file;
        let content = Bytes::copy_from_slice(sheet.as_bytes());
        return is_now.then(|| assets::kept_for_ever(assets::CSS, content));
    }
    let logo = brand.logo.as_ref()?;
    if app.brands.file(slug, &logo.hash, logo.format.ending()) != file {
        return None;
    }
    // It is large, browsers keep it, and nothing here does.
    let seen = app.views.brand_logos.peek(slug).await.ok()?;
    let picture = seen.machine.picture().filter(|picture| picture.facts == *logo)?;
    let content = Bytes::copy_from_slice(&picture.bytes);
    Some(assets::kept_for_ever(picture.facts.format.media_type(), content))
}

/// Serves the logo of a client that was fetched for a page.
pub async fn get_of_client(State(app): State<App>, Path(file): Path<String>) -> Response {
    let parts = file.rsplit_once('.');
    let found = parts.and_then(|(hash, ending)| {
        let picture = app.documents.logos.find(hash)?;
        let format = picture.facts.format;
        let shown = format.ending() == ending && format != Format::Svg;
        let content = shown.then(|| Bytes::copy_from_slice(&picture.bytes))?;
        Some(assets::kept_for_ever(format.media_type(), content))
    });
    found.unwrap_or_else(|| Problem::NOT_FOUND.into_response())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_logo_is_drawn_in_its_proportion_within_the_plate() {
        assert_eq!(drawn(96, 24), (96, 24));
        assert_eq!(drawn(500, 500), (24, 24));
        assert_eq!(drawn(2_000, 100), (144, 7));
        assert_eq!(drawn(2_048, 1), (144, 1));
        assert_eq!(drawn(1, 2_048), (1, 24));
    }
}
