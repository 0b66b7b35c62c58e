//! The triggers that make the security log append-only and count the messages of the outbox, for each database.

/// What is installed with a migration.
#[derive(Clone, Copy)]
pub(in crate::store) enum Triggers {
    /// The security log is append-only.
    Log,
    /// Messages are counted by topic. PostgreSQL counts in stripes, so that connections do not wait for each other.
    Outbox,
    /// Members are counted by organization, in the same stripes.
    Members,
}

pub(super) const MEMBERS_SQLITE: &str = "
CREATE TRIGGER IF NOT EXISTS list_counts_new AFTER INSERT ON listings WHEN NEW.list = 'members'
BEGIN
    INSERT INTO list_counts (list, owner, stripe, entries) VALUES (NEW.list, NEW.owner, 0, 1)
    ON CONFLICT (list, owner, stripe) DO UPDATE SET entries = entries + 1;
END;

CREATE TRIGGER IF NOT EXISTS list_counts_erased AFTER DELETE ON listings WHEN OLD.list = 'members'
BEGIN
    UPDATE list_counts SET entries = entries - 1
     WHERE list = OLD.list AND owner = OLD.owner AND stripe = 0;
END;
";

pub(super) const MEMBERS_POSTGRES: &str = "
CREATE OR REPLACE FUNCTION member_is_listed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO list_counts AS counted (list, owner, stripe, entries)
    VALUES (NEW.list, NEW.owner, pg_backend_pid() % 64, 1)
    ON CONFLICT (list, owner, stripe) DO UPDATE SET entries = counted.entries + 1;
    RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION member_is_delisted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO list_counts AS counted (list, owner, stripe, entries)
    VALUES (OLD.list, OLD.owner, pg_backend_pid() % 64, -1)
    ON CONFLICT (list, owner, stripe) DO UPDATE SET entries = counted.entries - 1;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER list_counts_new AFTER INSERT ON listings
FOR EACH ROW WHEN (NEW.list = 'members') EXECUTE FUNCTION member_is_listed();

CREATE OR REPLACE TRIGGER list_counts_erased AFTER DELETE ON listings
FOR EACH ROW WHEN (OLD.list = 'members') EXECUTE FUNCTION member_is_delisted();
";

pub(super) const OUTBOX_SQLITE: &str = "
CREATE TRIGGER IF NOT EXISTS outbox_counts_new AFTER INSERT ON outbox
BEGIN
    INSERT INTO outbox_counts (topic, stripe, messages) VALUES (NEW.topic, 0, 1)
    ON CONFLICT (topic, stripe) DO UPDATE SET messages = messages + 1;
END;

CREATE TRIGGER IF NOT EXISTS outbox_counts_erased AFTER DELETE ON outbox
BEGIN
    UPDATE outbox_counts SET messages = messages - 1 WHERE topic = OLD.topic AND stripe = 0;
END;
";

pub(super) const OUTBOX_POSTGRES: &str = "
CREATE OR REPLACE FUNCTION outbox_is_counted() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO outbox_counts AS counted (topic, stripe, messages)
    SELECT topic, pg_backend_pid() % 64, CASE TG_OP WHEN 'INSERT' THEN COUNT(*) ELSE -COUNT(*) END
      FROM changed GROUP BY topic ORDER BY topic
    ON CONFLICT (topic, stripe) DO UPDATE SET messages = counted.messages + excluded.messages;
    RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER outbox_counts_new AFTER INSERT ON outbox
REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION outbox_is_counted();

CREATE OR REPLACE TRIGGER outbox_counts_erased AFTER DELETE ON outbox
REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION outbox_is_counted();
";

pub(super) const LOG_SQLITE: &str = "
CREATE TRIGGER IF NOT EXISTS security_log_keeps_rows BEFORE UPDATE ON security_log
BEGIN SELECT RAISE(ABORT, 'the security log is append-only'); END;

CREATE TRIGGER IF NOT EXISTS security_log_replaces_none BEFORE INSERT ON security_log
WHEN EXISTS (SELECT 1 FROM security_log l WHERE l.lane = NEW.lane AND l.seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the security log is append-only'); END;

CREATE TRIGGER IF NOT EXISTS security_log_keeps_all_rows BEFORE DELETE ON security_log
WHEN NOT EXISTS (SELECT 1 FROM log_retention r WHERE r.lane = OLD.lane AND r.seq >= OLD.seq)
BEGIN SELECT RAISE(ABORT, 'the security log is append-only'); END;
";

pub(super) const LOG_POSTGRES: &str = "
CREATE OR REPLACE FUNCTION security_log_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    allowed boolean := FALSE;
BEGIN
    IF TG_OP = 'DELETE' THEN
        -- By its full name: a temporary table of the same name must not stand in for it.
        EXECUTE format(
            'SELECT EXISTS (SELECT 1 FROM %I.log_retention r WHERE r.lane = $1 AND r.seq >= $2)',
            TG_TABLE_SCHEMA
        ) INTO allowed USING OLD.lane, OLD.seq;
    END IF;
    IF NOT allowed THEN
        RAISE EXCEPTION 'the security log is append-only';
    END IF;
    RETURN OLD;
END $$;

CREATE OR REPLACE TRIGGER security_log_keeps_rows BEFORE UPDATE OR DELETE ON security_log
FOR EACH ROW EXECUTE FUNCTION security_log_is_append_only();

CREATE OR REPLACE TRIGGER security_log_keeps_all_rows BEFORE TRUNCATE ON security_log
FOR EACH STATEMENT EXECUTE FUNCTION security_log_is_append_only();
";
