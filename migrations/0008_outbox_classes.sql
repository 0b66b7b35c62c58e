-- Messages wait in classes and, within a class and topic, in queues, one for each key (adr/0118). One that waits has
-- `waiting` 1 and is found by its queue; one that is leased or put off has 0, and waits again when `due_at` has come.
-- What an earlier binary writes has no class and no key: it waits in a class of its own. That binary still finds every
-- due message by its time alone, for which the index it uses stays until none of them runs any more.
-- How many messages there are is counted by triggers (the engine file has them), which count those of earlier binaries, too.
-- oldest_compatible: 1
ALTER TABLE outbox ADD COLUMN class BIGINT NOT NULL DEFAULT 4;
ALTER TABLE outbox ADD COLUMN queue TEXT NOT NULL DEFAULT '-';
ALTER TABLE outbox ADD COLUMN waiting BIGINT NOT NULL DEFAULT 1;

CREATE INDEX outbox_by_queue ON outbox (class, topic, queue, due_at, id) WHERE waiting = 1;
CREATE INDEX outbox_by_return ON outbox (class, due_at) WHERE waiting = 0;
CREATE INDEX outbox_by_topic ON outbox (topic, due_at);
CREATE INDEX outbox_by_expiry ON outbox (expires_at);

CREATE TABLE outbox_counts (
    topic TEXT NOT NULL,
    stripe BIGINT NOT NULL,
    messages BIGINT NOT NULL,
    PRIMARY KEY (topic, stripe)
);

INSERT INTO outbox_counts SELECT topic, 0, COUNT(*) FROM outbox GROUP BY topic;
