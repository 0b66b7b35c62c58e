//! What is the issuer's own: no file may declare it, nor let a client introspect it.

use super::{clients::INTROSPECTS, file::File, table::excerpt};
use crate::config::Complaint;
use url::Url;

impl File {
    /// Complains of every resource that is the issuer or lies below it, and of every client that would
    /// introspect it: tokens for the issuer are Porteiro's own.
    pub fn check_against_issuer(&self, issuer: &str) -> Result<(), Vec<Complaint>> {
        let Ok(issuer) = Url::parse(issuer) else { return Ok(()) };
        // An issuer is an origin: whatever has the same is the issuer or lies below it.
        let is_ours =
            |text: &str| Url::parse(text).is_ok_and(|url| url.origin() == issuer.origin());
        let mut complaints = Vec::new();
        for declared in self.resources.iter().filter(|one| is_ours(&one.draft.identifier)) {
            let id = excerpt(&declared.draft.identifier);
            let text = format!("resource `{id}`: is the issuer's own, or lies below it");
            complaints.push(Complaint::new(declared.lines.of_field("identifier"), text));
        }
        for declared in &self.clients {
            let id = excerpt(&declared.draft.client_id);
            let asked = declared.draft.introspects.iter().flatten();
            for resource in asked.filter(|resource| is_ours(resource)) {
                let line = declared.lines.of_member(INTROSPECTS, resource);
                let resource = excerpt(resource);
                let text = format!("client `{id}`: `{resource}` is the issuer's own");
                complaints.push(Complaint::new(line, text));
            }
        }
        complaints.sort_by_key(|complaint| complaint.line);
        if complaints.is_empty() { Ok(()) } else { Err(complaints) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_the_issuers_own_is_refused_with_its_line() {
        let text = "[[resource]]\nidentifier = \"https://id.example.com\"\n\
             [[resource]]\nidentifier = \"https://id.example.com:443/x\"\n\
             [[resource]]\nidentifier = \"https://id.example.com.evil.test/\"\n\
             [[client]]\nclient_id = \"c\"\nintrospects = [\"urn:a:b\", \"https://id.example.com\"]\n";
        let file = File::parse(text).unwrap();
        let refused = file.check_against_issuer("https://id.example.com").unwrap_err();
        let lines: Vec<usize> = refused.iter().map(|complaint| complaint.line).collect();
        assert_eq!(lines, [2, 4, 9], "{refused:?}");
        assert_eq!(file.check_against_issuer("https://other.example.com"), Ok(()));
    }
}
