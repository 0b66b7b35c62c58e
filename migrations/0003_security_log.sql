-- The security log: append-only (triggers come from the engine file), each row chained to the one
-- before it in its lane. A lane has one writer at a time; `log_retention` says up to where an
-- appended checkpoint allows rows to be deleted, under a seal, since what is written there decides
-- what goes.
-- oldest_compatible: 1
CREATE TABLE security_log (
    lane TEXT NOT NULL,
    seq BIGINT NOT NULL,
    at BIGINT NOT NULL,
    event TEXT NOT NULL,
    organization TEXT,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    detail TEXT NOT NULL,
    mac_key TEXT NOT NULL,
    mac BYTEA NOT NULL,
    PRIMARY KEY (lane, seq)
);

CREATE INDEX security_log_by_time ON security_log (at);
CREATE INDEX security_log_by_organization ON security_log (organization, at) WHERE organization IS NOT NULL;
CREATE INDEX security_log_by_entity ON security_log (kind, id);

CREATE TABLE log_lanes (
    lane TEXT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    mac BYTEA NOT NULL,
    holder TEXT NOT NULL,
    held_until BIGINT NOT NULL
);

CREATE TABLE log_retention (
    lane TEXT NOT NULL PRIMARY KEY,
    seq BIGINT NOT NULL,
    mac BYTEA NOT NULL,
    seal_key TEXT NOT NULL,
    seal BYTEA NOT NULL
);
