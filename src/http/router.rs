//! What is served: one table of routes, and the layers around every one of them.

use super::{
    answer::error::{Problem, Stopped, Voice},
    api,
    app::App,
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
        protected_resource, register, revoke, token, userinfo,
    },
    playground, related_origins, routes,
    screens::{self, SCREENS, Screen},
    vitals::Vitals,
};
use axum::{
    Router,
    routing::{MethodRouter, get, post},
};

/// One path of the public listener. Its name in metrics is the path itself.
#[derive(Clone, Copy)]
struct Route {
    path: &'static str,
    endpoint: Endpoint,
    /// Which pages in a browser may call it.
    callers: Callers,
    /// How its refusals are worded.
    voice: Voice,
}

/// What answers at a path.
#[derive(Clone, Copy)]
enum Endpoint {
    Methods(fn() -> MethodRouter<App>),
    Screen(Screen),
}

impl Endpoint {
    fn methods(self) -> MethodRouter<App> {
        match self {
            Self::Methods(methods) => methods(),
            Self::Screen(screen) => drawn(screen),
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

/// Every route that is served.
const ROUTES: &[Route] = {
    use Callers::{AnySite, NoPage, OurPages};
    use Voice::{OAuth, Problem};
    &[
        route(routes::OPENID_CONFIGURATION, || get(metadata::get), AnySite, Problem),
        route(routes::AUTHORIZATION_SERVER, || get(metadata::get), AnySite, Problem),
        route(routes::PROTECTED_RESOURCE, || get(protected_resource::of_issuer), AnySite, Problem),
        route(routes::PROTECTED_API, || get(protected_resource::of_api), AnySite, Problem),
        route(routes::PROTECTED_OTHER, || get(protected_resource::of_resource), AnySite, Problem),
        route(routes::RELATED_ORIGINS, || get(related_origins::get), AnySite, Problem),
        route(routes::JWKS, || get(jwks::get), AnySite, OAuth),
        route(routes::USERINFO, || get(userinfo::get).post(userinfo::post), AnySite, OAuth),
        route(routes::TOKEN, || post(token::post), AnySite, OAuth),
        route(routes::REVOKE, || post(revoke::post), AnySite, OAuth),
        route(routes::REGISTER, || post(register::post), AnySite, OAuth),
        route(routes::DEVICE, || post(device::post), AnySite, OAuth),
        route(routes::CIBA, || post(ciba::post), NoPage, OAuth),
        route(
            routes::REGISTERED,
            || get(register::read).put(register::replace).delete(register::delete),
            AnySite,
            OAuth,
        ),
        route(routes::AUTHORIZE, authorize::methods, NoPage, OAuth),
        route(routes::LOGOUT, logout::methods, NoPage, OAuth),
        route(routes::PAR, || post(par::post), NoPage, OAuth),
        route(routes::FORM_POST, || get(form_post::get), NoPage, OAuth),
        route(routes::INTROSPECT, || post(introspect::post), NoPage, OAuth),
        route(routes::FLOWS, || post(flows::begin), OurPages, Problem),
        route(routes::FLOW_STOP, || post(flows::stop), OurPages, Problem),
        route(routes::FLOW, || get(flows::show), OurPages, Problem),
        route(routes::FLOW_STEP, || post(flows::step), OurPages, Problem),
        route(routes::ME, || me::methods(routes::ME), OurPages, Problem),
        route(routes::MY_SESSIONS, || me::methods(routes::MY_SESSIONS), OurPages, Problem),
        route(routes::MY_SESSION, || me::methods(routes::MY_SESSION), OurPages, Problem),
        route(routes::MY_PASSKEYS, || me::methods(routes::MY_PASSKEYS), OurPages, Problem),
        route(
            routes::MY_RECOVERY_CODES,
            || me::methods(routes::MY_RECOVERY_CODES),
            OurPages,
            Problem,
        ),
        route(routes::MY_TOTP, || me::methods(routes::MY_TOTP), OurPages, Problem),
        route(routes::MY_PASSWORD, || me::methods(routes::MY_PASSWORD), OurPages, Problem),
        route(routes::MY_EMAIL, || me::methods(routes::MY_EMAIL), OurPages, Problem),
        route(
            routes::MY_EMAIL_CONFIRMED,
            || me::methods(routes::MY_EMAIL_CONFIRMED),
            OurPages,
            Problem,
        ),
        route(routes::MY_PHONE, || me::methods(routes::MY_PHONE), OurPages, Problem),
        route(
            routes::MY_PHONE_CONFIRMED,
            || me::methods(routes::MY_PHONE_CONFIRMED),
            OurPages,
            Problem,
        ),
        route(routes::MY_APPROVALS, || me::methods(routes::MY_APPROVALS), OurPages, Problem),
        route(routes::MY_APPROVAL, || me::methods(routes::MY_APPROVAL), OurPages, Problem),
        route(
            routes::MY_BLOCKED_CLIENTS,
            || me::methods(routes::MY_BLOCKED_CLIENTS),
            OurPages,
            Problem,
        ),
        route(
            routes::MY_BLOCKED_CLIENT,
            || me::methods(routes::MY_BLOCKED_CLIENT),
            OurPages,
            Problem,
        ),
        route(routes::MY_CONSENTS, || me::methods(routes::MY_CONSENTS), OurPages, Problem),
        route(routes::MY_CONSENT, || me::methods(routes::MY_CONSENT), OurPages, Problem),
        route(routes::MY_DELEGATIONS, || me::methods(routes::MY_DELEGATIONS), OurPages, Problem),
        route(routes::MY_DELEGATION, || me::methods(routes::MY_DELEGATION), OurPages, Problem),
        route(
            routes::MY_ORGANIZATIONS,
            || me::methods(routes::MY_ORGANIZATIONS),
            OurPages,
            Problem,
        ),
        route(routes::MY_ORGANIZATION, || me::methods(routes::MY_ORGANIZATION), OurPages, Problem),
        route(routes::MY_HISTORY, || me::methods(routes::MY_HISTORY), OurPages, Problem),
        route(routes::MY_EXPORT, || me::methods(routes::MY_EXPORT), OurPages, Problem),
        route(routes::MY_PASSKEY, || me::methods(routes::MY_PASSKEY), OurPages, Problem),
    ]
};

/// The management API: its operations are a table of their own.
const API: &[Route] = {
    &[
        route(routes::API_OPENAPI, || get(api::openapi), Callers::AnySite, Voice::Problem),
        operations(routes::API_ORGANIZATIONS, || api::methods(routes::API_ORGANIZATIONS)),
        operations(routes::API_ORGANIZATION, || api::methods(routes::API_ORGANIZATION)),
        operations(routes::API_ROLES, || api::methods(routes::API_ROLES)),
        operations(routes::API_ROLE, || api::methods(routes::API_ROLE)),
        operations(routes::API_MEMBERS, || api::methods(routes::API_MEMBERS)),
        operations(routes::API_MEMBER, || api::methods(routes::API_MEMBER)),
        operations(routes::API_IMPERSONATION, || api::methods(routes::API_IMPERSONATION)),
        operations(routes::API_INVITATIONS, || api::methods(routes::API_INVITATIONS)),
        operations(routes::API_INVITATION, || api::methods(routes::API_INVITATION)),
        operations(routes::API_CLIENTS, || api::methods(routes::API_CLIENTS)),
        operations(routes::API_CLIENT, || api::methods(routes::API_CLIENT)),
        operations(routes::API_CLIENT_SECRET, || api::methods(routes::API_CLIENT_SECRET)),
        operations(routes::API_DELEGATIONS, || api::methods(routes::API_DELEGATIONS)),
        operations(routes::API_DELEGATION, || api::methods(routes::API_DELEGATION)),
        operations(routes::API_DELEGATION_TREE, || api::methods(routes::API_DELEGATION_TREE)),
        operations(routes::API_CLIENT_ACTIVITY, || api::methods(routes::API_CLIENT_ACTIVITY)),
        operations(routes::API_ACCOUNTS, || api::methods(routes::API_ACCOUNTS)),
        operations(routes::API_ACCOUNT, || api::methods(routes::API_ACCOUNT)),
        operations(routes::API_KEYS, || api::methods(routes::API_KEYS)),
        operations(routes::API_KEY, || api::methods(routes::API_KEY)),
        operations(routes::API_KEY_ROTATE, || api::methods(routes::API_KEY_ROTATE)),
        operations(routes::API_AUDIT, || api::methods(routes::API_AUDIT)),
        operations(routes::API_AUDIT_EXPORT, || api::methods(routes::API_AUDIT_EXPORT)),
        operations(routes::API_WEBHOOKS, || api::methods(routes::API_WEBHOOKS)),
        operations(routes::API_WEBHOOK, || api::methods(routes::API_WEBHOOK)),
        operations(routes::API_WEBHOOK_ROTATE, || api::methods(routes::API_WEBHOOK_ROTATE)),
        operations(routes::API_WEBHOOK_TEST, || api::methods(routes::API_WEBHOOK_TEST)),
    ]
};

const fn operations(path: &'static str, methods: fn() -> MethodRouter<App>) -> Route {
    // Programs call it with a token of theirs; pages of browsers do not.
    route(path, methods, Callers::NoPage, Voice::Problem)
}

/// Served where there is a mailbox: under `dev`.
const MAILBOX: Route =
    route(routes::MAILBOX, || get(mailbox::get), Callers::NoPage, Voice::Problem);

/// Served under `dev` where people get pages of ours.
const PLAYGROUND: &[Route] = {
    use Callers::NoPage;
    use Voice::Problem;
    &[
        route(routes::ROOT, || get(playground::lead), NoPage, Problem),
        route(routes::PLAYGROUND, || get(playground::get), NoPage, Problem),
        route(routes::PLAYGROUND_FILE, || get(playground::file), NoPage, Problem),
    ]
};

const fn route(
    path: &'static str,
    methods: fn() -> MethodRouter<App>,
    callers: Callers,
    voice: Voice,
) -> Route {
    Route { path, endpoint: Endpoint::Methods(methods), callers, voice }
}

/// Served beside the screens, where people get pages of ours.
const PAGES: &[Route] = {
    use Callers::NoPage;
    use Voice::Problem;
    &[
        route(routes::ASSETS, || get(screens::assets::get), NoPage, Problem),
        route(routes::BRAND_ASSETS, || get(screens::brand::get), NoPage, Problem),
        route(routes::CLIENT_ASSETS, || get(screens::brand::get_of_client), NoPage, Problem),
    ]
};

/// Served with them, but under `dev`, which has a page of its own there.
const HOME: Route = route(routes::ROOT, || get(screens::home), Callers::NoPage, Voice::Problem);

/// Lists every screen.
fn all_screens() -> impl Iterator<Item = Screen> {
    SCREENS.into_iter().chain(screens::ACCOUNT).chain([screens::ORGANIZATION])
}

/// Draws a screen, and takes its forms.
fn drawn(screen: Screen) -> MethodRouter<App> {
    get(move |app, context, origin, query, head| {
        screens::get(screen, app, context, origin, query, head)
    })
    .post(move |app, steps, context, origin, request| {
        screens::post(screen, app, steps, context, origin, request)
    })
}

/// What is served beside the endpoints that every installation has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extras {
    /// Pages of ours, for people.
    pub screens: bool,
    /// What a development server sent.
    pub mailbox: bool,
}

/// Lists the routes that are served.
fn served(extras: Extras) -> impl Iterator<Item = Route> {
    let Extras { screens, mailbox } = extras;
    let screen = |screen: Screen| {
        let (callers, voice) = (Callers::NoPage, Voice::Problem);
        Route { path: screen.path, endpoint: Endpoint::Screen(screen), callers, voice }
    };
    let drawn = all_screens().map(screen).filter(move |_| screens);
    let pages = PAGES.iter().chain((!mailbox).then_some(&HOME)).filter(move |_| screens);
    let playground = PLAYGROUND.iter().filter(move |_| screens && mailbox);
    let fixed = ROUTES.iter().chain(API).chain(pages).chain(playground);
    fixed.chain(mailbox.then_some(&MAILBOX)).copied().chain(drawn)
}

/// Lists the paths that are served, a parameter in braces.
pub fn paths(extras: Extras) -> impl Iterator<Item = &'static str> {
    served(extras).map(|route| route.path)
}

/// Returns counters for every path and grant that is served, and no others.
pub fn vitals(extras: Extras) -> Vitals {
    Vitals::new(paths(extras), token::grants())
}

/// Returns everything that is served on the public listener.
pub fn public(app: &App, steps: &Steps) -> Router {
    let https = app.issuer.starts_with("https://");
    let envelope = Envelope::new(EnvelopeOptions {
        dice: &*app.dice,
        vitals: app.vitals.clone(),
        addresses: app.request_permits.addresses.clone(),
        strict_transport: https,
    });
    let extras = Extras { screens: app.screens, mailbox: app.mailbox.is_some() };
    let mut whole = Router::new();
    for callers in [Callers::AnySite, Callers::OurPages, Callers::NoPage] {
        for voice in [Voice::OAuth, Voice::Problem] {
            let same = |route: &Route| (route.callers, route.voice) == (callers, voice);
            let mut part = Router::new();
            for route in served(extras).filter(same) {
                part = part.route(route.path, route.endpoint.methods());
            }
            part = part.method_not_allowed_fallback(move || async move {
                voice.word(Stopped::MethodNotAllowed)
            });
            let is_rest = (callers, voice) == (Callers::NoPage, Voice::Problem);
            if is_rest {
                part = part.fallback(async || Problem::NOT_FOUND);
            }
            let cors = match callers {
                Callers::AnySite => Cors::AnySite,
                Callers::OurPages => Cors::OurPages(app.origins.clone()),
                Callers::NoPage => Cors::NoPage,
            };
            let admission = Admission { cors, voice, ..app.admission.clone() };
            // A browser navigates to these: what it gets is a page.
            let pages = (app.screens && callers == Callers::NoPage).then(|| app.clone());
            let envelope = envelope.with_voice(voice).with_pages(pages);
            // A flow is told of in this voice, and so are its pages.
            let steps = (voice == Voice::Problem).then(|| steps.clone());
            // Each answer has a request id and the security headers and is counted, a panic included.
            // Inside that, what is not for this host is refused, answers come in time, and pages of
            // other sites read them where the endpoint is for them. A request takes a body permit while
            // its body comes in, and a work permit while it is worked on (http::limits).
            let around = AroundLayer::new(Surroundings { envelope, admission, steps });
            whole = whole.merge(part.layer(around));
        }
    }
    whole.with_state(app.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_of_flows_me_and_the_management_api_is_in_the_openapi_document() {
        let described = api::described_paths();
        let all = ROUTES.iter().chain(API).map(|route| route.path);
        let families = ["/flows", "/me", "/api/organizations"];
        for path in all.filter(|path| families.iter().any(|family| path.starts_with(family))) {
            let path = path.replace("{*", "{");
            assert!(described.contains(&path), "{path}");
        }
    }
}
