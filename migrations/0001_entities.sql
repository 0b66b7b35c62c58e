-- One row an entity: the machine's state as JSON and the revision of the machine that wrote it, the
-- version that compare-and-swap rests on, until when it confers authority, and when it may be
-- forgotten.
-- oldest_compatible: 1
CREATE TABLE entities (
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    version BIGINT NOT NULL,
    revision BIGINT NOT NULL,
    state TEXT NOT NULL,
    live_until BIGINT NOT NULL,
    forget_at BIGINT,
    PRIMARY KEY (kind, id)
);

CREATE INDEX entities_by_forget_at ON entities (forget_at) WHERE forget_at IS NOT NULL;
