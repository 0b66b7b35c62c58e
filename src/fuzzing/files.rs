//! Files of an operator: a mistake in them is named, and stops nothing else.

use super::{Outcome, text, two};
use crate::provisioning::{File, Format, Import};

/// A provisioning file that names no other.
pub(super) fn provisioning(bytes: &[u8]) -> Outcome {
    let Some(file) = text(bytes) else { return Outcome::NO_TEXT };
    let read = File::parse(file);
    Outcome::of(&read.map(|file| file.accounts.len()).map_err(|complaints| complaints.len()))
}

/// Where an export is from in the first line, the export after it.
pub(super) fn import(bytes: &[u8]) -> Outcome {
    let (format, export) = two(bytes);
    let Some(export) = text(export) else { return Outcome::NO_TEXT };
    let format = match format {
        b"keycloak" => Format::Keycloak,
        b"auth0" => Format::Auth0,
        _ => Format::Porteiro,
    };
    let read = Import::parse(export, format);
    let read = read.map(|import| (import.file.accounts.len(), import.left_out.len()));
    Outcome::of(&read.map_err(|complaints| complaints.len()))
}
