-- No query asks the log for a kind and an id: people and organizations have columns of their own. Each row cost a
-- page of this index, which lay anywhere.
-- oldest_compatible: 1
DROP INDEX security_log_by_entity;
