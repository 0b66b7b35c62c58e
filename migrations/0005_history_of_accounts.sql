-- Whose account a row of the security log is about, so that people find their own history without a
-- search. It is read off the row's own words, which the chain covers; rows of an older binary have none.
-- oldest_compatible: 1
ALTER TABLE security_log ADD COLUMN account TEXT;

CREATE INDEX security_log_by_account ON security_log (account, at, lane, seq) WHERE account IS NOT NULL;
