//! What is served: the table of endpoints (`routes`) with its handlers, and the layers around every one of them.

pub use super::options::Extras;
use super::{
    answer::error::{ErrorFormat, Problem, RequestFailure},
    api,
    app::App,
    extract::forwarded_certificate::ForwardedCertificates,
    flows::{self, steps::Steps},
    layers::{
        admission::Admission,
        around::{AroundLayer, Surroundings},
        cors::Cors,
        envelope::{Envelope, EnvelopeOptions},
    },
    mailbox, me,
    oauth::{
        authorize, ciba, device, form_post, introspect, jwks, logout, metadata, par,
        protected_resource, register, revoke, sso, token, userinfo,
    },
    playground, related_origins, routes, scim,
    screens::{self, Screen},
    vitals::Vitals,
    well_known,
};
use axum::{
    Router,
    routing::{MethodFilter, MethodRouter, get},
};

/// One path of the public listener. Its name in metrics is the path itself.
#[derive(Clone, Copy)]
struct Route {
    path: &'static str,
    /// What it is for; of flows, `/me` and the API each operation says so itself.
    about: &'static str,
    endpoint: Endpoint,
    /// Which pages in a browser may call it.
    callers: Callers,
    /// How its refusals are worded.
    error_format: ErrorFormat,
    takes: Takes,
}

/// What an endpoint takes of its caller. Where it takes something, clients with certificates are served too (RFC 8705 §5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    /// Nothing, or a cookie.
    Open,
    /// A client authenticates, or names itself.
    Client,
    /// An access token: one that is bound is taken from the holder of its key alone.
    Token,
    /// The token that a client was given when it registered.
    Registration,
}

/// What answers at a path.
#[derive(Clone, Copy)]
enum Endpoint {
    /// Names of methods, and what serves them.
    Methods(&'static [&'static str], fn() -> MethodRouter<App>),
    /// Operations under `/me`.
    Me,
    /// Operations of the management API.
    Operations,
    /// Operations of SCIM.
    Scim,
    Screen(Screen),
}

impl Route {
    fn methods(&self) -> MethodRouter<App> {
        match self.endpoint {
            Endpoint::Methods(_, methods) => methods(),
            Endpoint::Me => me::methods(self.path),
            Endpoint::Operations => api::methods(self.path),
            Endpoint::Scim => scim::methods(self.path),
            Endpoint::Screen(screen) => drawn(screen),
        }
    }
}

/// Which pages in a browser may call an endpoint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Callers {
    /// Pages of any site, without credentials: the endpoint looks at no cookie.
    AnySite,
    /// Our own pages, with cookies.
    OurPages,
    /// None: it is for programs, or for navigation.
    NoPage,
}

/// Reads methods and handlers, or what makes both.
macro_rules! methods {
    (by $made:path, $($method:ident),+) => {
        Endpoint::Methods(&[$(stringify!($method)),+], $made)
    };
    ($($method:ident $handler:path),+) => {
        Endpoint::Methods(&[$(stringify!($method)),+], || {
            MethodRouter::new()$(.on(MethodFilter::$method, $handler))+
        })
    };
}

/// Reads rows that say who calls them and what handles them.
macro_rules! handled {
    ($(#[doc = $about:literal] $name:ident $path:literal ($callers:ident $error_format:ident $takes:ident, $($methods:tt)+))*) => {
        &[$(Route {
            path: $path,
            about: $about,
            endpoint: methods!($($methods)+),
            callers: Callers::$callers,
            error_format: ErrorFormat::$error_format,
            takes: Takes::$takes,
        }),*]
    };
}

/// Reads rows of flows: each operation has a handler.
macro_rules! flow_routes {
    ($($name:ident $path:literal { $(
        $method:ident $handler:path: $operation:literal, $status:literal, $flags:tt, $summary:literal;
    )+ })*) => {
        &[$(Route {
            path: $path,
            about: "",
            endpoint: methods!($($method $handler),+),
            callers: Callers::OurPages,
            error_format: ErrorFormat::Problem,
            takes: Takes::Open,
        }),*]
    };
}

/// Reads rows whose operations are read elsewhere.
macro_rules! operation_routes {
    ($callers:ident $takes:ident $endpoint:ident $error_format:ident $($name:ident $path:literal $row:tt)*) => {
        &[$(Route {
            path: $path,
            about: "",
            endpoint: Endpoint::$endpoint,
            callers: Callers::$callers,
            error_format: ErrorFormat::$error_format,
            takes: Takes::$takes,
        }),*]
    };
}

macro_rules! screen_routes {
    ($(#[doc = $about:literal] $name:ident $path:literal ($begins:literal))*) => {
        &[$(Route {
            path: $path,
            about: $about,
            endpoint: Endpoint::Screen(Screen { path: $path, begins: $begins }),
            callers: Callers::NoPage,
            error_format: ErrorFormat::Problem,
            takes: Takes::Open,
        }),*]
    };
}

/// Reads the table of endpoints, section by section.
macro_rules! table {
    (
        standards { $($standards:tt)* }
        flows { $($flows:tt)* }
        me { $($me:tt)* }
        api { $($api:tt)* }
        scim { $($scim:tt)* }
        screens { $($screens:tt)* }
        pages { $($pages:tt)* }
        change_password { $($change_password:tt)* }
        security_txt { $($security_txt:tt)* }
        playground { $($playground:tt)* }
        mailbox { $($mailbox:tt)* }
    ) => {
        const STANDARDS: &[Route] = handled!($($standards)*);
        const FLOWS: &[Route] = flow_routes!($($flows)*);
        const ME: &[Route] = operation_routes!(OurPages Open Me Problem $($me)*);
        // Programs call it with a token of theirs; pages of browsers do not.
        const API: &[Route] = operation_routes!(NoPage Token Operations Problem $($api)*);
        const SCIM: &[Route] = operation_routes!(NoPage Token Scim Scim $($scim)*);
        /// Served where people get pages of ours.
        const SCREENS: &[Route] = screen_routes!($($screens)*);
        /// Served beside the screens.
        const PAGES: &[Route] = handled!($($pages)*);
        /// Served where people get pages of ours, or are sent to another page for it.
        const CHANGE_PASSWORD: &[Route] = handled!($($change_password)*);
        /// Served where the operator says where a weakness is reported.
        const SECURITY_TXT: &[Route] = handled!($($security_txt)*);
        /// Served under `dev` where people get pages of ours.
        const PLAYGROUND: &[Route] = handled!($($playground)*);
        /// Served where there is a mailbox: under `dev`.
        const MAILBOX: &[Route] = handled!($($mailbox)*);
    };
}

routes::endpoints!(table);

/// Draws a screen, and takes its forms.
fn drawn(screen: Screen) -> MethodRouter<App> {
    get(move |app, context, origin, query, head| {
        screens::get(screen, app, context, origin, query, head)
    })
    .post(move |app, steps, context, origin, request| {
        screens::post(screen, app, steps, context, origin, request)
    })
}

/// Lists the routes that are served.
fn served(extras: Extras) -> impl Iterator<Item = &'static Route> {
    let Extras { screens, mailbox, change_password, security_txt } = extras;
    let drawn = SCREENS.iter().chain(PAGES).filter(move |_| screens);
    let passwords = CHANGE_PASSWORD.iter().filter(move |_| change_password);
    let security = SECURITY_TXT.iter().filter(move |_| security_txt);
    let playground = PLAYGROUND.iter().filter(move |_| screens && mailbox);
    let mails = MAILBOX.iter().filter(move |_| mailbox);
    let fixed = STANDARDS.iter().chain(FLOWS).chain(ME).chain(API).chain(SCIM);
    fixed.chain(drawn).chain(passwords).chain(security).chain(playground).chain(mails)
}

/// An endpoint as `docs/endpoints.md` lists it.
pub struct DocumentedEndpoint {
    pub methods: String,
    pub path: &'static str,
    pub about: &'static str,
}

/// Lists everything that can be served, in the order of the table; each operation of flows, `/me` and the API by itself.
pub fn documented() -> impl Iterator<Item = DocumentedEndpoint> {
    served(Extras::ALL).flat_map(|route| {
        let (path, about) = (route.path, route.about.trim());
        let row =
            |methods: &[&str]| DocumentedEndpoint { methods: methods.join(", "), path, about };
        match route.endpoint {
            Endpoint::Methods(methods, _) if !about.is_empty() => vec![row(methods)],
            Endpoint::Screen(_) => vec![row(&["GET", "POST"])],
            _ => api::summaries()
                .chain(scim::summaries())
                .filter(|(_, of, _)| *of == path)
                .map(|(method, _, about)| DocumentedEndpoint {
                    methods: method.to_owned(),
                    path,
                    about,
                })
                .collect(),
        }
    })
}

/// Lists the paths that are served, a parameter in braces.
pub fn paths(extras: Extras) -> impl Iterator<Item = &'static str> {
    served(extras).map(|route| route.path)
}

/// Returns counters for every path and grant that is served, and no others.
pub fn vitals(extras: Extras) -> Vitals {
    Vitals::new(paths(extras), token::grants())
}

/// Lists each path that is served with what it takes of its caller.
pub fn taking(extras: Extras) -> impl Iterator<Item = (&'static str, Takes)> {
    served(extras).map(|route| (route.path, route.takes))
}

/// Returns everything that is served on the public listener.
pub fn public(app: &App, steps: &Steps) -> Router {
    whole(app, Some(steps), |_| true)
}

/// Returns what is served where clients come with certificates: what authenticates a client, or takes a token. No browser
/// belongs there, which would ask people for a certificate.
pub fn for_certificates(app: &App) -> Router {
    whole(app, None, |route| route.takes != Takes::Open)
}

/// Returns the endpoints of one listener.
fn whole(app: &App, steps: Option<&Steps>, is_wanted: impl Fn(&Route) -> bool) -> Router {
    let https = app.issuer.starts_with("https://");
    let envelope = Envelope::new(EnvelopeOptions {
        dice: &*app.dice,
        vitals: app.vitals.clone(),
        addresses: app.limits.request_permits.addresses.clone(),
        strict_transport: https,
    });
    let certificates = ForwardedCertificates {
        believed: app.settings.mutual_tls.as_ref().is_some_and(|mutual_tls| mutual_tls.forwarded),
        addresses: app.limits.request_permits.addresses.clone(),
    };
    let extras = app.settings.extras;
    let mut whole = Router::new();
    for callers in [Callers::AnySite, Callers::OurPages, Callers::NoPage] {
        for error_format in [ErrorFormat::OAuth, ErrorFormat::Problem, ErrorFormat::Scim] {
            let same =
                |route: &&Route| (route.callers, route.error_format) == (callers, error_format);
            let mut part = Router::new();
            for route in served(extras).filter(same).filter(|route| is_wanted(route)) {
                part = part.route(route.path, route.methods());
            }
            part = part.method_not_allowed_fallback(move || async move {
                error_format.word(RequestFailure::MethodNotAllowed)
            });
            let is_rest = (callers, error_format) == (Callers::NoPage, ErrorFormat::Problem);
            if is_rest {
                part = part.fallback(async || Problem::NOT_FOUND);
            }
            let cors = match callers {
                Callers::AnySite => Cors::AnySite,
                Callers::OurPages => Cors::OurPages(app.settings.origins.clone()),
                Callers::NoPage => Cors::NoPage,
            };
            let admission = Admission {
                cors,
                error_format,
                ..Admission::public(app.settings.hosts, app.settings.deadline)
            };
            // A browser navigates to these: what it gets is a page.
            let pages = (app.settings.screens && callers == Callers::NoPage).then(|| app.clone());
            let envelope = envelope.with_error_format(error_format).with_pages(pages);
            // A flow is told of in this format, and so are its pages.
            let steps = steps.filter(|_| error_format == ErrorFormat::Problem).cloned();
            // Each answer has a request id and the security headers and is counted, a panic included.
            // Inside that, what is not for this host is refused, answers come in time, and pages of
            // other sites read them where the endpoint is for them. A request takes a body permit while
            // its body comes in, and a work permit while it is worked on (http::limits).
            let nonces = app.settings.dpop_nonce.then(|| app.clone());
            let certificates = certificates.clone();
            let surroundings = Surroundings { envelope, admission, steps, certificates, nonces };
            let around = AroundLayer::new(surroundings);
            whole = whole.merge(part.layer(around));
        }
    }
    whole.with_state(app.clone())
}
