-- Messages for the outside, written in the commit that caused them. A lease is a `due_at` moved
-- into the future; whoever moved it, by compare-and-swap, delivers.
-- oldest_compatible: 1
CREATE TABLE outbox (
    id TEXT NOT NULL PRIMARY KEY,
    topic TEXT NOT NULL,
    payload BYTEA NOT NULL,
    due_at BIGINT NOT NULL,
    attempts BIGINT NOT NULL,
    expires_at BIGINT NOT NULL
);

CREATE INDEX outbox_by_due_at ON outbox (due_at);
