//! Where everything is: one constant a path, so that what is listed is what is served.

pub const OPENID_CONFIGURATION: &str = "/.well-known/openid-configuration";
pub const AUTHORIZATION_SERVER: &str = "/.well-known/oauth-authorization-server";
pub const JWKS: &str = "/connect/jwks";
pub const TOKEN: &str = "/connect/token";
pub const INTROSPECT: &str = "/connect/introspect";
pub const REVOKE: &str = "/connect/revoke";

/// Every path that is served; metrics know no others.
pub const ALL: [&str; 6] =
    [OPENID_CONFIGURATION, AUTHORIZATION_SERVER, JWKS, TOKEN, INTROSPECT, REVOKE];
