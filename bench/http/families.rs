//! Rows as large as Porteiro's token families, for those who commit and do nothing else.

use crate::{Outcome, scene::Scene};
use porteiro::{
    clock::SystemClock,
    crypto::{SecretKey, SharedVault, SystemDice, Vault, draw_id, draw_text, draw_uuid},
    domain::{
        Clock as _, Fingerprint, Machine as _,
        assurance::{Level, Method},
        authority::{Audience, Scopes},
        authorization_details::Details,
        grant::{Grant, MembershipRef},
        requested_claims::RequestedClaims,
        token_family::{Begin, CodeLifetimes, TokenFamily},
    },
    store::{Change, Commit, Delta, ExpectedRow, NothingFails, Store, StoreOptions},
    system::log_chain,
};
use std::{sync::Arc, time::Duration};

/// A store with nothing but families in it.
pub struct Families {
    store: Store,
    /// Written each time; what it says does not matter here.
    state: String,
}

/// A row as it was written last: all that must be known to write it again.
#[derive(Clone)]
pub struct Written {
    pub id: String,
    version: i64,
}

/// How long a row counts as alive.
const LIVES: Duration = Duration::from_mins(5);

impl Families {
    pub async fn open(store: &str, scene: &Scene) -> Outcome<Self> {
        let vault = SharedVault::new(Vault::new(SecretKey::new(&[7; 32]), vec![]));
        let options = StoreOptions {
            url: store.to_owned(),
            node: draw_text(&SystemDice, 16),
            chain_keys: log_chain(vault),
            fault_injection: Arc::new(NothingFails),
        };
        let store = Store::open(options, SystemClock.now()).await?;
        Ok(Self { store, state: state(scene)? })
    }

    /// Writes a row that was not there, and waits until it is durable.
    pub async fn begin(&self) -> Outcome<Written> {
        self.write(draw_id(&SystemDice), ExpectedRow::NewId).await
    }

    /// Writes a row that was there, and waits until it is durable.
    pub async fn change(&self, written: Written) -> Outcome<Written> {
        self.write(written.id, ExpectedRow::Version(written.version)).await
    }

    /// Reads of a row which version it is at and until when it is live: what answers about tokens rest on.
    pub async fn look(&self, id: &str) -> Outcome<()> {
        match self.store.liveness(&[(TokenFamily::KIND, id)]).await?.first() {
            Some(Some(_)) => Ok(()),
            _ => Err(format!("there is no row {id}").into()),
        }
    }

    /// Reads a whole row.
    pub async fn read(&self, id: &str) -> Outcome<()> {
        match self.store.load(TokenFamily::KIND, id).await? {
            Some(_) => Ok(()),
            None => Err(format!("there is no row {id}").into()),
        }
    }

    pub async fn close(&self) {
        self.store.close().await;
    }

    async fn write(&self, id: String, expected: ExpectedRow) -> Outcome<Written> {
        let at = SystemClock.now();
        let change = Change {
            kind: TokenFamily::KIND,
            id: id.clone(),
            expected,
            id_is_derived: false,
            revision: TokenFamily::REVISION,
            state: self.state.clone(),
            live_until: at + LIVES,
            forget_at: Some(at + 2 * LIVES),
            names: Delta { added: vec![], removed: vec![] },
            listings: Delta { added: vec![], removed: vec![] },
        };
        let (requirements, records, messages) = (vec![], vec![], vec![]);
        let commit = Commit {
            at,
            changes: vec![change],
            requirements,
            locks_requirements: true,
            records,
            messages,
        };
        let version = self.store.commit(commit).await?;
        Ok(Written { id, version })
    }
}

impl Written {
    /// Says it in a code or a token, so that whoever issues one need not remember it.
    pub fn text(&self) -> String {
        format!("{}.{}", self.id, self.version)
    }

    pub fn read(text: &str) -> Option<Self> {
        let (id, version) = text.split_once('.')?;
        Some(Self { id: id.to_owned(), version: version.parse().ok()? })
    }
}

/// What a person of the scene grants its portal.
pub fn grant(scene: &Scene) -> Outcome<Grant> {
    let (id, organization) = (draw_uuid(&SystemDice), scene.organization.clone());
    Ok(Grant {
        sign_on: None,
        client_id: scene.portal.clone(),
        account: Some(draw_uuid(&SystemDice)),
        session: Some(draw_id(&SystemDice)),
        parents: vec![],
        epoch: 0,
        membership: Some(MembershipRef { id: Some(id), organization, epoch: 0 }),
        audience: Audience::Resource(scene.resource.clone()),
        scopes: Scopes::parse(&scene.personal_scope())?,
        claims: RequestedClaims::default(),
        details: Details::default(),
        authenticated_at: SystemClock.now(),
        level: Level::Aal1,
        methods: vec![Method::Password],
        delegation: None,
    })
}

/// The state of a family whose code is out.
fn state(scene: &Scene) -> Outcome<String> {
    let begin = Begin {
        grant: grant(scene)?,
        code: Fingerprint::of(b"a code"),
        lives: CodeLifetimes { code: Duration::from_mins(1), access_token: Duration::from_mins(5) },
        redirect_uri: scene.redirect_uri.clone(),
        challenge: Fingerprint::of(b"a verifier"),
        key: None,
        nonce: Some("n-0S6_WzA2Mj".to_owned()),
        pushed: None,
        noted_in: None,
        requirements: vec![],
    };
    Ok(TokenFamily::birth("", begin, SystemClock.now()).state)
}
