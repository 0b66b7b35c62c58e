//! What stands behind an API key, read within the commit that rests on it.

use super::{HydrateError, ReadSet};
use crate::domain::{
    account::Account,
    api_key::{Backing, Issuer},
    client::Client,
    membership::Membership,
};

/// Reads the issuer of a key as it is now; what was read must be unchanged when the rest is committed.
pub async fn key_backing(
    reads: &mut ReadSet,
    issuer: &Issuer,
) -> Result<Option<Backing>, HydrateError> {
    Ok(match issuer {
        Issuer::Operator => Some(Backing::Operator),
        Issuer::Membership { id, account } => {
            let epoch = reads.look::<Account>(account).await?.known().map(|known| known.epoch);
            let member = reads.look::<Membership>(id).await?.known().cloned();
            member.zip(epoch).map(|(member, account_epoch)| Backing::Membership {
                member: Box::new(member),
                account_epoch,
            })
        }
        Issuer::Client { client_id } => {
            let client = reads.look::<Client>(client_id).await?.known().cloned();
            client.map(|client| Backing::Client(Box::new(client)))
        }
    })
}
