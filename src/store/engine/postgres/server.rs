//! Where a server is, and in which way it can be used: found out once, before it is used.

use super::{
    alone, examination,
    session::{Session, Sessions},
    settings,
};
use crate::store::engine::{faults::Result, unfit::UnfitServer};
use sqlx::{ConnectOptions as _, Connection as _, PgConnection, postgres::PgConnectOptions};
use std::{str::FromStr as _, sync::Arc};
use tokio::sync::OnceCell;
use url::Url;

/// Prepared statements that a connection keeps.
const PREPARED: usize = 256;

/// A server of PostgreSQL, or a pooler in front of one.
#[derive(Clone)]
pub(in crate::store) struct Server {
    address: Arc<Address>,
    /// Its answers may be older than a revocation.
    takes_standby: bool,
}

/// How a server is reached.
struct Address {
    /// With our settings as start-up options.
    straight: PgConnectOptions,
    /// Without options, which poolers refuse.
    plain: PgConnectOptions,
    /// What the address gives as options.
    given: Option<String>,
    sessions: OnceCell<Sessions>,
}

impl Server {
    pub(in crate::store::engine) fn parse(url: &str) -> Result<Self> {
        let named = |options: PgConnectOptions| {
            // No statement of ours has a number that is not whole, and poolers refuse the setting.
            options
                .application_name("porteiro")
                .extra_float_digits(None)
                .disable_statement_logging()
        };
        let given = named(PgConnectOptions::from_str(url)?);
        let plain = named(PgConnectOptions::from_str(&without_options(url))?);
        let plain = plain.statement_cache_capacity(0);
        let options = given.get_options().map(str::to_owned);
        let straight = given.statement_cache_capacity(PREPARED).options(settings::at_start());
        let sessions = OnceCell::new();
        let address = Arc::new(Address { straight, plain, given: options, sessions });
        Ok(Self { address, takes_standby: false })
    }

    /// The same, also where it is a standby: for what looks at a store and decides nothing.
    pub(in crate::store::engine) fn or_standby(self) -> Self {
        Self { takes_standby: true, ..self }
    }

    /// Opens a connection that writes beside others.
    pub(in crate::store::engine) async fn connect(&self) -> Result<Session> {
        let mut session = self.connect_unshared().await?;
        if !session.is_lent() {
            alone::share(&mut session).await?;
        }
        Ok(session)
    }

    /// Opens a connection; the first one is opened after the server was examined.
    pub(super) async fn connect_unshared(&self) -> Result<Session> {
        let sessions = self.address.sessions.get_or_try_init(|| examination::examine(self)).await?;
        self.open(sessions).await
    }

    pub(super) async fn open(&self, sessions: &Sessions) -> Result<Session> {
        let options = match sessions {
            Sessions::Own => &self.address.straight,
            Sessions::Lent(_) => &self.address.plain,
        };
        let connection = PgConnection::connect_with(options).await?;
        let mut session = Session::new(connection, sessions.clone(), self.takes_standby);
        if matches!(sessions, Sessions::Own) {
            // A pooler that ignores start-up options may have been put in front since.
            examination::require_settings(&mut session, self.takes_standby).await?;
        }
        Ok(session)
    }

    /// Returns how a pooler is used.
    pub(super) fn lent_sessions(&self) -> Result<Sessions> {
        if self.address.plain.get_options().is_some() {
            return Err(UnfitServer::Environment.into());
        }
        let given = settings::read_options(self.address.given.as_deref().unwrap_or_default())?;
        Ok(Sessions::Lent(settings::beginning(&given).into()))
    }
}

/// Returns the address without its `options`.
fn without_options(address: &str) -> String {
    let Ok(mut url) = Url::parse(address) else { return address.to_owned() };
    let is_option = |name: &str| name == "options" || name.starts_with("options[");
    let pairs = url.query_pairs().into_owned();
    let kept: Vec<(String, String)> = pairs.filter(|(name, _)| !is_option(name)).collect();
    url.set_query(None);
    if !kept.is_empty() {
        url.query_pairs_mut().extend_pairs(kept);
    }
    url.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_without_its_options_is_otherwise_the_same() {
        for (given, expected) in [
            ("postgres://u@h/d", "postgres://u@h/d"),
            ("postgres://u:p%2Fw@h:1/d?options=-csearch_path%3Da", "postgres://u:p%2Fw@h:1/d"),
            (
                "postgres:///d?host=/run&options[work_mem]=4MB&sslmode=disable",
                "postgres:///d?host=%2Frun&sslmode=disable",
            ),
        ] {
            assert_eq!(without_options(given), expected);
        }
    }

    #[test]
    fn what_the_address_sets_is_set_at_a_pooler_too() {
        let server = Server::parse("postgres://u@h/d?options=-csearch_path%3Da").unwrap();
        let Sessions::Lent(begin) = server.lent_sessions().unwrap() else { panic!("not lent") };
        assert!(begin.contains("set_config(E'search_path', E'a', true)"), "{begin}");
        let server = Server::parse("postgres://u@h/d?options=-B4").unwrap();
        assert!(server.lent_sessions().is_err(), "it is not left out");
    }
}
