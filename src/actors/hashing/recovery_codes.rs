//! Recovery codes are hashed in the pool as passwords are.

use super::{HashingError, HashingPool};
use crate::{
    crypto::{RecoveryCode, hash_recovery_codes, password::Memory},
    domain::account::{PasswordHash, RecoveryCodes},
};

impl HashingPool {
    /// Hashes a new set of recovery codes. It is one job: in a busy pool ten would not all get in.
    pub async fn hash_recovery_codes(
        &self,
        codes: Vec<RecoveryCode>,
        salt: [u8; 16],
    ) -> Result<RecoveryCodes, HashingError> {
        let cost = self.common.cost;
        let job = move |memory: &mut Memory| hash_recovery_codes(&codes, salt, cost, memory);
        Ok(self.run(job).await??)
    }

    /// Hashes a recovery code as those of the set with this salt were; where there is none it takes as
    /// long, and there is no hash.
    pub async fn hash_recovery_code(
        &self,
        code: RecoveryCode,
        salt: Option<String>,
    ) -> Result<Option<PasswordHash>, HashingError> {
        let cost = self.common.cost;
        let job = move |memory: &mut Memory| code.hash_as(salt.as_deref(), cost, memory);
        Ok(self.run(job).await??)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        actors::hashing::HashingOptions,
        crypto::{SystemDice, draw_recovery_codes, password::PasswordCost},
    };

    #[tokio::test]
    async fn codes_hashed_in_the_pool_are_found_again_in_the_pool() {
        let cost = PasswordCost::CHEAP;
        let pool =
            HashingPool::start(HashingOptions { cost, ..HashingOptions::default() }).unwrap();
        let codes = draw_recovery_codes(&SystemDice);
        let set = pool.hash_recovery_codes(codes.clone(), [7; 16]).await.unwrap();
        let salt = Some(set.salt.clone());
        let found = pool.hash_recovery_code(codes[3].clone(), salt).await.unwrap();
        assert_eq!(found.as_ref(), Some(&set.hashes[3]));
        assert_eq!(pool.vitals().done, 2, "a set is one job");
        assert_eq!(pool.hash_recovery_code(codes[3].clone(), None).await, Ok(None));
        assert_eq!(pool.vitals().done, 3, "and without a set there is one as well");
        let unreadable = pool.hash_recovery_code(codes[3].clone(), Some("?".to_owned())).await;
        assert!(matches!(unreadable, Err(HashingError::Rejected(_))));
        pool.stop().await;
    }
}
