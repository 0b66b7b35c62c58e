-- For SQLite alone: a table has a tree by hidden numbers, and another by its key. These three are found by their keys and
-- never by those numbers: each row was written to a page more, and looked for in a tree more. PostgreSQL has no such number.
-- oldest_compatible: 1
CREATE TABLE names_by_key (
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (space, name)
) WITHOUT ROWID;

INSERT INTO names_by_key SELECT space, name, kind, id FROM names;
DROP TABLE names;
ALTER TABLE names_by_key RENAME TO names;
CREATE INDEX names_by_entity ON names (kind, id);

CREATE TABLE listings_by_key (
    list TEXT NOT NULL,
    owner TEXT NOT NULL,
    rank TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (list, owner, rank, id, kind)
) WITHOUT ROWID;

INSERT INTO listings_by_key SELECT list, owner, rank, kind, id FROM listings;
DROP TABLE listings;
ALTER TABLE listings_by_key RENAME TO listings;
CREATE INDEX listings_by_entity ON listings (kind, id);

CREATE TABLE security_log_by_key (
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
    account TEXT,
    PRIMARY KEY (lane, seq)
) WITHOUT ROWID;

INSERT INTO security_log_by_key
SELECT lane, seq, at, event, organization, kind, id, detail, mac_key, mac, account FROM security_log;
DROP TABLE security_log;
ALTER TABLE security_log_by_key RENAME TO security_log;
CREATE INDEX security_log_by_time ON security_log (at);
CREATE INDEX security_log_by_organization ON security_log (organization, at) WHERE organization IS NOT NULL;
CREATE INDEX security_log_by_account ON security_log (account, at) WHERE account IS NOT NULL;
