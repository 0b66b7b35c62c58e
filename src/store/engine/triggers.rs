//! The triggers that make the security log append-only, for each database.

pub(super) const SQLITE: &str = "
CREATE TRIGGER IF NOT EXISTS security_log_keeps_rows BEFORE UPDATE ON security_log
BEGIN SELECT RAISE(ABORT, 'the security log is append-only'); END;

CREATE TRIGGER IF NOT EXISTS security_log_replaces_none BEFORE INSERT ON security_log
WHEN EXISTS (SELECT 1 FROM security_log l WHERE l.lane = NEW.lane AND l.seq = NEW.seq)
BEGIN SELECT RAISE(ABORT, 'the security log is append-only'); END;

CREATE TRIGGER IF NOT EXISTS security_log_keeps_all_rows BEFORE DELETE ON security_log
WHEN NOT EXISTS (SELECT 1 FROM log_retention r WHERE r.lane = OLD.lane AND r.seq >= OLD.seq)
BEGIN SELECT RAISE(ABORT, 'the security log is append-only'); END;
";

pub(super) const POSTGRES: &str = "
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
