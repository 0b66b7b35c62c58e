//! TXT records of a name, asked for when they are wanted: there is no cache of ours between a person who has
//! just published one and what DNS says (adr/0131).

use super::resolver::{DEADLINE, DnsResolver};
use hickory_resolver::{
    TokioResolver,
    config::{ResolverConfig, ResolverOpts},
    net::{DnsError, NetError, runtime::TokioRuntimeProvider},
    proto::{
        op::ResponseCode,
        rr::{Name, RData, RecordType},
    },
};
use std::{future::Future, io, pin::Pin, time::Duration};
use tokio::time::timeout;

/// No more records of a name are looked at, and none that is longer.
const MOST_RECORDS: usize = 64;
const LONGEST_RECORD: usize = 1_024;

/// What DNS says of the TXT records of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TxtAnswer {
    /// Those at the very name, each with its strings joined. It may be none: what a CNAME leads to is not the
    /// name's.
    Records(Vec<Vec<u8>>),
    /// No server has said in time which there are.
    Unanswered,
}

/// Such an answer, once it is known.
pub type TxtAnswerFuture<'a> = Pin<Box<dyn Future<Output = TxtAnswer> + Send + 'a>>;

/// Finds TXT records.
pub trait TxtResolver: Send + Sync {
    /// Asks for those of a name that is complete as it stands.
    fn txt_of<'a>(&'a self, name: &'a str) -> TxtAnswerFuture<'a>;
}

impl TxtResolver for DnsResolver {
    fn txt_of<'a>(&'a self, name: &'a str) -> TxtAnswerFuture<'a> {
        Box::pin(async move {
            let found = timeout(DEADLINE, self.ask_txt(name)).await;
            match found {
                Ok(Ok(answer)) => answer,
                Ok(Err(error)) => {
                    tracing::debug!(%error, name, "TXT records could not be asked for");
                    TxtAnswer::Unanswered
                }
                Err(_late) => TxtAnswer::Unanswered,
            }
        })
    }
}

impl DnsResolver {
    async fn ask_txt(&self, text: &str) -> io::Result<TxtAnswer> {
        let mut name = Name::from_ascii(text).map_err(io::Error::other)?;
        // Complete: the search list of the system is not for it.
        name.set_fqdn(true);
        let names = self.names()?;
        match names.txt.lookup(name.clone(), RecordType::TXT).await {
            Ok(found) => {
                let at_name = found.answers().iter().filter(|record| record.name == name);
                let strings = at_name.filter_map(|record| match &record.data {
                    RData::TXT(text) => Some(text.txt_data.concat()),
                    _ => None,
                });
                let fits = strings.take(MOST_RECORDS).filter(|text| text.len() <= LONGEST_RECORD);
                Ok(TxtAnswer::Records(fits.collect()))
            }
            Err(error) if says_there_is_none(&error) => Ok(TxtAnswer::Records(Vec::new())),
            Err(error) => Err(io::Error::other(error)),
        }
    }
}

/// Tells whether a server has said that there is no such name, or no such record of it.
fn says_there_is_none(error: &NetError) -> bool {
    let NetError::Dns(DnsError::NoRecordsFound(none)) = error else { return false };
    matches!(none.response_code, ResponseCode::NXDomain | ResponseCode::NoError)
}

/// Makes what asks for TXT records, which remembers nothing.
pub(super) fn without_cache(
    config: ResolverConfig,
    mut options: ResolverOpts,
) -> io::Result<TokioResolver> {
    options.cache_size = 0;
    (options.positive_max_ttl, options.negative_max_ttl) =
        (Some(Duration::ZERO), Some(Duration::ZERO));
    let mut builder = TokioResolver::builder_with_config(config, TokioRuntimeProvider::default());
    *builder.options_mut() = options;
    builder.build().map_err(io::Error::other)
}
