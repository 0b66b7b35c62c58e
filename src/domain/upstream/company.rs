//! Issuers that serve many companies: whose token it is, the issuer alone does not say.

use super::{Issuer, Provider, claims::is_text};
use serde_json::{Map, Value};
use url::Url;

/// Whom a connection signs in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionScope {
    /// Members of one organization: what its company says is believed of its addresses.
    Organization,
    /// Accounts outside any organization: every address is proved by a code of ours.
    Installation,
}

/// Why a connection cannot be made, or whose token it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CompanyFault {
    #[error("this issuer serves every company: `company` must say which domain `hd` has to name")]
    Required,
    #[error(
        "Microsoft's common, organizations and consumers serve every company: use the issuer of one tenant"
    )]
    EveryTenant,
    #[error("Microsoft's issuers name the tenant by its id, which is a GUID")]
    NoTenant,
    #[error("`company` is not the tenant that the issuer names")]
    OtherTenant,
    #[error("`company` is empty, too long or not printable")]
    Malformed,
    #[error("the person is of another company: `hd` or `tid` is not the configured one")]
    Other,
}

impl CompanyFault {
    /// A stable name for machines.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Required => "company_required",
            Self::EveryTenant => "issuer_of_every_tenant",
            Self::NoTenant => "issuer_without_tenant",
            Self::OtherTenant => "company_of_another_tenant",
            Self::Malformed => "company_malformed",
            Self::Other => "another_company",
        }
    }
}

/// Bytes of a domain name or an id.
const LONGEST: usize = 255;

/// What Microsoft's issuers may name in place of a tenant.
const EVERY_TENANT: [&str; 3] = ["common", "organizations", "consumers"];

/// Microsoft's tenant of all personal accounts.
const PERSONAL: &str = "9188040d-6c67-4c5b-b112-36a304b66dad";

/// Judges issuer and company of a connection that is being made.
pub fn check_issuer(
    issuer: &Issuer,
    company: Option<&str>,
    scope: ConnectionScope,
) -> Result<(), CompanyFault> {
    if company.is_some_and(|company| !is_text(company, LONGEST)) {
        return Err(CompanyFault::Malformed);
    }
    let is_organization = scope == ConnectionScope::Organization;
    match Provider::of(issuer) {
        Provider::Google if is_organization && company.is_none() => Err(CompanyFault::Required),
        Provider::Microsoft => {
            let tenant = tenant(issuer)?;
            if is_organization && tenant == PERSONAL {
                return Err(CompanyFault::EveryTenant);
            }
            // Such a connection would refuse every token.
            let is_other = company.is_some_and(|company| company != tenant);
            if is_other { Err(CompanyFault::OtherTenant) } else { Ok(()) }
        }
        Provider::Google | Provider::Apple | Provider::Other => Ok(()),
    }
}

/// Judges whether a token is of the company that a connection names.
pub fn check_claims(
    issuer: &Issuer,
    company: Option<&str>,
    claims: &Map<String, Value>,
) -> Result<(), CompanyFault> {
    let Some(company) = company else { return Ok(()) };
    let is_named = |claim: &str| claims.get(claim).and_then(Value::as_str) == Some(company);
    let is_of_company = match Provider::of(issuer) {
        Provider::Google => is_named("hd"),
        Provider::Microsoft => is_named("tid"),
        Provider::Apple | Provider::Other => is_named("hd") || is_named("tid"),
    };
    if is_of_company { Ok(()) } else { Err(CompanyFault::Other) }
}

/// Returns the tenant that an issuer of Microsoft's names: the first segment of its path.
fn tenant(issuer: &Issuer) -> Result<String, CompanyFault> {
    let url = Url::parse(issuer.as_str()).map_err(|_| CompanyFault::NoTenant)?;
    let mut segments = url.path_segments().ok_or(CompanyFault::NoTenant)?;
    let tenant = segments.next().unwrap_or_default().to_ascii_lowercase();
    if EVERY_TENANT.contains(&tenant.as_str()) {
        return Err(CompanyFault::EveryTenant);
    }
    if is_guid(&tenant) { Ok(tenant) } else { Err(CompanyFault::NoTenant) }
}

fn is_guid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths: Vec<usize> = groups.iter().map(|group| group.len()).collect();
    lengths == [8, 4, 4, 4, 12] && text.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::{ConnectionScope::*, *};
    use serde_json::json;

    const TENANT: &str = "9f7a4b52-1c3d-4e5f-8a9b-0c1d2e3f4a5b";

    fn microsoft(tenant: &str) -> Issuer {
        issuer(&format!("https://login.microsoftonline.com/{tenant}/v2.0"))
    }

    fn issuer(text: &str) -> Issuer {
        Issuer::parse(text).unwrap()
    }

    fn google() -> Issuer {
        issuer("https://accounts.google.com")
    }

    fn claims(value: &Value) -> Map<String, Value> {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn google_needs_a_company_in_an_organization() {
        assert_eq!(check_issuer(&google(), None, Organization), Err(CompanyFault::Required));
        assert_eq!(check_issuer(&google(), Some("acme.test"), Organization), Ok(()));
        assert_eq!(check_issuer(&google(), None, Installation), Ok(()));
    }

    #[test]
    fn microsoft_is_one_tenant_by_its_guid() {
        for every in ["common", "organizations", "consumers", "Common", "CONSUMERS"] {
            for scope in [Organization, Installation] {
                let judged = check_issuer(&microsoft(every), Some("acme.test"), scope);
                assert_eq!(judged, Err(CompanyFault::EveryTenant), "{every}");
            }
        }
        for short in [
            "https://login.microsoftonline.com/common",
            "https://login.microsoftonline.us/common/v2.0/",
        ] {
            let judged = check_issuer(&issuer(short), None, Organization);
            assert_eq!(judged, Err(CompanyFault::EveryTenant), "{short}");
        }
        for none in ["acme.onmicrosoft.com", "{tenantid}", "9f7a4b521c3d4e5f8a9b0c1d2e3f4a5b"] {
            let text = format!("https://login.microsoftonline.com/{none}/v2.0");
            let Ok(issuer) = Issuer::parse(&text) else { panic!("{none}") };
            assert_eq!(check_issuer(&issuer, None, Organization), Err(CompanyFault::NoTenant));
        }
        assert_eq!(check_issuer(&microsoft(TENANT), None, Organization), Ok(()));
        assert_eq!(check_issuer(&microsoft(TENANT), Some(TENANT), Organization), Ok(()));
        let other = check_issuer(&microsoft(TENANT), Some("acme.test"), Organization);
        assert_eq!(other, Err(CompanyFault::OtherTenant));
        let personal = check_issuer(&microsoft(PERSONAL), None, Organization);
        assert_eq!(personal, Err(CompanyFault::EveryTenant));
        assert_eq!(check_issuer(&microsoft(PERSONAL), None, Installation), Ok(()));
    }

    #[test]
    fn any_other_issuer_may_have_a_company_that_can_be_read() {
        let acme = issuer("https://login.acme.test");
        assert_eq!(check_issuer(&acme, None, Organization), Ok(()));
        assert_eq!(check_issuer(&acme, Some("acme.test"), Organization), Ok(()));
        for bad in ["", "a\nb", &"a".repeat(256)] {
            let judged = check_issuer(&acme, Some(bad), Organization);
            assert_eq!(judged, Err(CompanyFault::Malformed), "{bad}");
        }
    }

    #[test]
    fn a_token_is_of_the_company_by_the_claim_of_its_issuer() {
        let named = |name: &str, value: &str| claims(&json!({ name: value }));
        let other = Err(CompanyFault::Other);
        let hd = Some("acme.test");
        assert_eq!(check_claims(&google(), hd, &named("hd", "acme.test")), Ok(()));
        assert_eq!(check_claims(&google(), hd, &named("hd", "evil.test")), other);
        assert_eq!(check_claims(&google(), hd, &named("tid", "acme.test")), other);
        assert_eq!(check_claims(&google(), hd, &Map::new()), other, "a private account has none");
        let tid = Some(TENANT);
        assert_eq!(check_claims(&microsoft(TENANT), tid, &named("tid", TENANT)), Ok(()));
        assert_eq!(check_claims(&microsoft(TENANT), tid, &named("hd", TENANT)), other);
        let acme = issuer("https://login.acme.test");
        assert_eq!(check_claims(&acme, hd, &named("hd", "acme.test")), Ok(()));
        assert_eq!(check_claims(&acme, hd, &named("tid", "acme.test")), Ok(()));
        assert_eq!(check_claims(&acme, hd, &named("company", "acme.test")), other);
        assert_eq!(check_claims(&acme, hd, &claims(&json!({ "hd": ["acme.test"] }))), other);
        assert_eq!(check_claims(&acme, None, &Map::new()), Ok(()));
    }
}
