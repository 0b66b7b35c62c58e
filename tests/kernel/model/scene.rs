//! Who is on the scene: one family, its session, a client and an impostor, and a few instants.

use porteiro::domain::{
    Birth, Device, Fingerprint, Machine as _, Requirement, Timestamp,
    assurance::{Acr, Evidence, Level, Method, Worth},
    authority::{Audience, Permission, Scopes},
    authorization_details::Details,
    grant::{Grant, HeldPermissions, Limits, MembershipRef},
    person::Person,
    possession::Possession,
    requested_claims::RequestedClaims,
    session::{self, Session},
    token_family::{
        Begin, CodeLifetimes, Command, Issuing, Lifetimes, Narrowing, Redeem, Refresh, Reply,
        TokenFamily,
    },
};
use std::{sync::LazyLock, time::Duration};

/// The number of the request whose answer a refresh token is issued in.
pub type Token = u8;

/// The most requests of a run.
pub const MOST_REQUESTS: u8 = 8;

const BIRTH: i64 = 1_800_000_000_000 + 25 * MINUTE;
const MINUTE: i64 = 60_000;

/// Birth; the code is over; a refresh token as old as the family is over; the ceiling is reached,
/// though one issued at the second instant would idle on.
///
/// Each is the very millisecond at which something expires.
pub const INSTANTS: [Timestamp; 4] = [
    Timestamp::from_millis(BIRTH),
    Timestamp::from_millis(BIRTH + 60 * MINUTE),
    Timestamp::from_millis(BIRTH + 14 * 60 * MINUTE),
    // A whole hour: what lay unused is forgotten then.
    Timestamp::from_millis(BIRTH + 14 * 60 * MINUTE + 35 * MINUTE),
];

/// Longer than a real one, so that few instants tell all ends apart.
const CODE_LIVES: Duration = Duration::from_hours(1);

const LIFETIMES: Lifetimes = Lifetimes {
    access_token: Duration::from_mins(5),
    refresh_idle: Duration::from_hours(14),
    refresh_ceiling: Duration::from_mins(14 * 60 + 35),
};

/// The kind of what the limits are read from.
pub const MEMBERSHIP: &str = "membership";

/// Who asks.
///
/// A thief who also has the client's own secrets cannot be told from the client, and asks as it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Asker {
    Client,
    /// Presents the code without its verifier under the client's name, and a refresh token as another
    /// client.
    Impostor,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Ask {
    Redeem(Asker),
    Refresh(Asker, Token),
    Revoke,
}

/// What the person holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Limit {
    Full,
    /// The role is lost.
    Shrunk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Request {
    pub ask: Ask,
    /// Which request it is, and so which refresh token it would yield.
    pub number: Token,
    /// As it was read when it was asked.
    pub limit: Limit,
}

impl Limit {
    /// The version of the row it is read from.
    pub fn version(self) -> i64 {
        match self {
            Self::Full => 1,
            Self::Shrunk => 2,
        }
    }
}

/// Every scope that may be issued under a limit, as the model sees it.
pub fn held(limit: Limit) -> &'static [&'static str] {
    match limit {
        Limit::Full => &["openid", "offline_access", "invoices:read"],
        Limit::Shrunk => &["openid", "offline_access"],
    }
}

/// When the code is over.
pub fn code_until() -> Timestamp {
    INSTANTS[0] + CODE_LIVES
}

/// When a refresh token is over that was issued at an instant.
pub fn token_until(issued_at: u8) -> Timestamp {
    let idle = INSTANTS[usize::from(issued_at)] + LIFETIMES.refresh_idle;
    idle.min(INSTANTS[0] + LIFETIMES.refresh_ceiling)
}

fn code() -> Fingerprint {
    Fingerprint::of(b"code")
}

fn verifier() -> Fingerprint {
    Fingerprint::of(b"verifier")
}

fn token(number: Token) -> Fingerprint {
    static TOKENS: LazyLock<Vec<Fingerprint>> =
        LazyLock::new(|| (0..MOST_REQUESTS).map(|n| Fingerprint::of(&[n])).collect());
    TOKENS[usize::from(number)]
}

/// The session in which the code was granted.
pub fn session() -> Birth {
    let evidence = Evidence::of(Worth::PASSWORD.given(INSTANTS[0]));
    let begin = session::Begin {
        person: Person { account: "ana".to_owned(), epoch: 0, evidence },
        token: Fingerprint::of(b"session"),
        idle: LIFETIMES.refresh_ceiling,
        ceiling: LIFETIMES.refresh_ceiling,
        device: Device::default(),
        told: None,
    };
    Session::birth("session", begin, INSTANTS[0])
}

pub fn begin(offline: bool) -> Begin {
    let scopes =
        if offline { "openid invoices:read offline_access" } else { "openid invoices:read" };
    let grant = Grant {
        sign_on: None,
        client_id: "app".to_owned(),
        account: Some("ana".to_owned()),
        epoch: 0,
        session: Some("session".to_owned()),
        parents: Vec::new(),
        membership: Some(MembershipRef {
            id: Some("m1".to_owned()),
            organization: "acme".to_owned(),
            epoch: 0,
        }),
        audience: Audience::Resource("api:invoices".to_owned()),
        scopes: Scopes::parse(scopes).unwrap(),
        claims: RequestedClaims::default(),
        details: Details::default(),
        authenticated_at: INSTANTS[0],
        level: Level::Aal1,
        methods: vec![Method::Password],
        delegation: None,
    };
    Begin {
        grant,
        code: code(),
        lives: CodeLifetimes { code: CODE_LIVES, access_token: Duration::ZERO },
        redirect_uri: "https://app.example/cb".to_owned(),
        challenge: verifier(),
        key: None,
        nonce: None,
        pushed: None,
        noted_in: None,
        requirements: Vec::new(),
    }
}

/// The command that a request becomes; `presented` is the refresh token it bears.
pub fn command(request: Request, presented: Option<Token>) -> Command {
    let Request { ask, number, limit } = request;
    let issuing = |client_id: &str| Issuing {
        client_id: client_id.to_owned(),
        narrowing: Narrowing::default(),
        next: token(number),
        limits: limits(limit),
        requirements: vec![membership(limit)],
        lifetimes: LIFETIMES,
        possession: Possession::default(),
    };
    match ask {
        Ask::Redeem(asker) => Command::Redeem(Box::new(Redeem {
            code: code(),
            redirect_uri: None,
            verifier: (asker == Asker::Client).then(verifier),
            refreshable: true,
            longest: None,
            issuing: issuing("app"),
        })),
        Ask::Refresh(asker, _) => Command::Refresh(Box::new(Refresh {
            token: token(presented.unwrap()),
            rotates: true,
            issuing: issuing(if asker == Asker::Client { "app" } else { "eve" }),
        })),
        Ask::Revoke => Command::Revoke { client_id: "app".to_owned() },
    }
}

fn limits(limit: Limit) -> Limits {
    let permissions = match limit {
        Limit::Full => vec![Permission::parse("invoices:*").unwrap()],
        Limit::Shrunk => Vec::new(),
    };
    let held = HeldPermissions {
        organization: "acme".to_owned(),
        permissions: permissions.iter().collect(),
    };
    let offered = vec!["invoices:read".to_owned()];
    Limits { held: Some(held), offered, required: Acr::Aal1, ..Limits::default() }
}

/// The fact that the limits have not changed since they were read.
pub fn membership(limit: Limit) -> Requirement {
    Requirement::Unchanged { kind: MEMBERSHIP, id: "m1".to_owned(), version: limit.version() }
}

/// The refresh token of a family that is good, if there is one.
pub fn present(family: &TokenFamily) -> Option<Token> {
    let Ok(Reply::Shown(shown)) = family.decide(&Command::Show, INSTANTS[0]).outcome else {
        return None;
    };
    let present = shown.refresh?;
    (0..MOST_REQUESTS).find(|number| token(*number) == present.fingerprint)
}
