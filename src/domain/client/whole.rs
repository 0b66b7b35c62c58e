//! What members of client metadata say of one another: what contradicts.

use super::{
    ApplicationType, ClientMetadata, FieldFault, FieldProblem, Wrong, read::MOST_ENTRIES,
    redirect_uri,
};

impl ClientMetadata {
    /// Says what contradicts, whatever else may still come.
    pub(super) fn contradictions(&self) -> Vec<FieldFault> {
        let mut faults = Vec::new();
        // RFC 8252 §7.1: private-use schemes are how systems find native applications.
        if self.application_type == Some(ApplicationType::Web) {
            for (field, uris) in [
                ("redirect_uris", &self.redirect_uris),
                ("post_logout_redirect_uris", &self.post_logout_redirect_uris),
            ] {
                for uri in uris.iter().filter(|uri| redirect_uri::is_private_use(uri)) {
                    let (value, wrong) = (uri.clone(), Wrong::NativeOnly);
                    faults.push(FieldFault::new(field, FieldProblem::Contains { value, wrong }));
                }
            }
        }
        if let Some(name) = self.localized.keys().nth(MOST_ENTRIES) {
            faults.push(FieldFault::new(name, FieldProblem::TooMany { most: MOST_ENTRIES }));
        }
        faults
    }
}
