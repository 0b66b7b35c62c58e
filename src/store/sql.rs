//! Every statement, grouped by table, valid in both engines; a batch has a text for each. Values are numbered in the order
//! in which they come: SQLite counts them so.

use super::batch::{
    Batch, BatchSet,
    Column::{self, Bytes, Int, Text},
};
use std::sync::LazyLock;

/// What a group of commits writes, but for the log.
pub(super) static WRITE: LazyLock<BatchSet<7>> = LazyLock::new(|| {
    BatchSet::new([&*CREATE, &*CLAIM, &*ADVANCE, &*RELEASE_NAME, &*DELIST, &*ENLIST, &*POST])
});

// entities

pub(super) const LOAD: &str =
    "SELECT version, state, revision FROM entities WHERE kind = $1 AND id = $2";

pub(super) const VERSION: &str = "SELECT version FROM entities WHERE kind = $1 AND id = $2";

pub(super) const LIVENESS_OF_ONE: &str =
    "SELECT version, live_until FROM entities WHERE kind = $1 AND id = $2";

// Two statements and no upsert: an upsert would resurrect a row the janitor removed.
const NEW_ENTITY: &str = "entities (kind, id, version, state, live_until, forget_at, revision)";
const OF_ENTITY: &[Column] = &[Text, Text, Int, Text, Int, Int, Int];

pub(super) static CREATE: LazyLock<Batch> =
    LazyLock::new(|| Batch::insert(OF_ENTITY, NEW_ENTITY, "ON CONFLICT (kind, id) DO NOTHING"));

pub(super) static CREATE_AND_TELL: LazyLock<Batch> = LazyLock::new(|| {
    Batch::insert(OF_ENTITY, NEW_ENTITY, "ON CONFLICT (kind, id) DO NOTHING RETURNING kind, id")
});

pub(super) static ADVANCE: LazyLock<Batch> = LazyLock::new(|| {
    Batch::new(
        OF_ENTITY,
        "UPDATE entities SET version = ?3 + 1, state = ?4, live_until = ?5, forget_at = ?6, revision = ?7 \
          WHERE kind = ?1 AND id = ?2 AND version = ?3",
        (
            "UPDATE entities \
                SET version = next.expected + 1, state = next.state, \
                    live_until = next.live_until, forget_at = next.forget_at, \
                    revision = next.revision \
               FROM",
            "AS next (kind, id, expected, state, live_until, forget_at, revision) \
              WHERE entities.kind = next.kind AND entities.id = next.id \
                AND entities.version = next.expected",
        ),
    )
    // SQLite writes an index anew for each column that a statement sets, whatever its value was.
    .trying(
        "UPDATE entities SET version = ?3 + 1, state = ?4, live_until = ?5, revision = ?7 \
          WHERE kind = ?1 AND id = ?2 AND version = ?3 AND forget_at IS ?6",
    )
});

pub(super) const ERASE: &str = "DELETE FROM entities WHERE kind = $1 AND id = $2";

// names and listings

const NEW_NAME: &str = "names (space, name, kind, id)";
const OF_NAME: &[Column] = &[Text, Text, Text, Text];

pub(super) static CLAIM: LazyLock<Batch> =
    LazyLock::new(|| Batch::insert(OF_NAME, NEW_NAME, "ON CONFLICT (space, name) DO NOTHING"));

pub(super) static CLAIM_AND_TELL: LazyLock<Batch> = LazyLock::new(|| {
    Batch::insert(OF_NAME, NEW_NAME, "ON CONFLICT (space, name) DO NOTHING RETURNING space, name")
});

pub(super) static RELEASE_NAME: LazyLock<Batch> = LazyLock::new(|| {
    Batch::new(
        OF_NAME,
        "DELETE FROM names WHERE space = $1 AND name = $2 AND kind = $3 AND id = $4",
        (
            "DELETE FROM names USING",
            "AS gone (space, name, kind, id) \
              WHERE names.space = gone.space AND names.name = gone.name \
                AND names.kind = gone.kind AND names.id = gone.id",
        ),
    )
});

pub(super) const FIND: &str = "SELECT kind, id FROM names WHERE space = $1 AND name = $2";

const OF_LISTING: &[Column] = &[Text, Text, Text, Text, Text];

pub(super) static ENLIST: LazyLock<Batch> = LazyLock::new(|| {
    Batch::insert(
        OF_LISTING,
        "listings (list, owner, rank, id, kind)",
        "ON CONFLICT (list, owner, rank, id, kind) DO NOTHING",
    )
});

pub(super) static DELIST: LazyLock<Batch> = LazyLock::new(|| {
    Batch::new(
        OF_LISTING,
        "DELETE FROM listings \
          WHERE list = $1 AND owner = $2 AND rank = $3 AND id = $4 AND kind = $5",
        (
            "DELETE FROM listings USING",
            "AS gone (list, owner, rank, id, kind) \
              WHERE listings.list = gone.list AND listings.owner = gone.owner \
                AND listings.rank = gone.rank AND listings.id = gone.id \
                AND listings.kind = gone.kind",
        ),
    )
});

// `+ 0`: SQLite plans a bare `LIMIT $5` again each time a number is bound to it.
pub(super) const LIST: &str = "SELECT l.rank, l.kind, l.id, e.version, e.state, e.revision \
      FROM listings l JOIN entities e ON e.kind = l.kind AND e.id = l.id \
     WHERE l.list = $1 AND l.owner = $2 AND (l.rank, l.id) > ($3, $4) \
     ORDER BY l.rank, l.id LIMIT $5 + 0";

pub(super) const LIST_OF_ALL: &str = "SELECT l.rank, l.kind, l.id, e.version, e.state, e.revision, l.owner \
      FROM listings l JOIN entities e ON e.kind = l.kind AND e.id = l.id \
     WHERE l.list = $1 AND (l.owner, l.rank, l.id) > ($2, $3, $4) \
     ORDER BY l.owner, l.rank, l.id LIMIT $5 + 0";

pub(super) const LIST_BELOW: &str = "SELECT l.rank, l.kind, l.id, e.version, e.state, e.revision \
      FROM listings l JOIN entities e ON e.kind = l.kind AND e.id = l.id \
     WHERE l.list = $1 AND l.owner = $2 AND (l.rank, l.id) > ($3, $4) AND l.rank < $5 \
     ORDER BY l.rank, l.id LIMIT $6 + 0";

pub(super) const COUNT_PART: &str = "SELECT COUNT(*) FROM \
     (SELECT 1 FROM listings l \
       WHERE l.list = $1 AND l.owner = $2 AND l.rank > $3 AND l.rank < $4 LIMIT $5 + 0) AS listed";

pub(super) const LIVE_BEYOND: &str = "SELECT l.id \
      FROM listings l JOIN entities e ON e.kind = l.kind AND e.id = l.id \
     WHERE l.list = $1 AND l.owner = $2 AND l.rank > $3 AND l.rank < $4 AND e.live_until > $5 \
     ORDER BY l.rank, l.id LIMIT $6 + 0 OFFSET $7 + 0";

/// Only of lists that are counted (`engine::triggers`).
pub(super) const COUNTED: &str = "SELECT CAST(COALESCE(SUM(entries), 0) AS BIGINT) FROM list_counts WHERE list = $1 AND owner = $2";

/// Passes over entries without reading them.
pub(super) const LIST_FROM: &str = "SELECT l.rank, l.kind, l.id, e.version, e.state, e.revision \
      FROM (SELECT rank, kind, id FROM listings WHERE list = $1 AND owner = $2 \
             ORDER BY rank, id LIMIT $3 + 0 OFFSET $4 + 0) AS l \
      JOIN entities e ON e.kind = l.kind AND e.id = l.id ORDER BY l.rank, l.id";

pub(super) const LIST_IDS: &str = "SELECT rank, id FROM listings \
     WHERE list = $1 AND owner = $2 AND (rank, id) > ($3, $4) ORDER BY rank, id LIMIT $5 + 0";

pub(super) const COUNT: &str = "SELECT COUNT(*) FROM \
     (SELECT 1 FROM listings WHERE list = $1 AND owner = $2 LIMIT $3 + 0) AS listed";

// security log

const OF_LOG: &[Column] = &[Text, Int, Int, Text, Text, Text, Text, Text, Text, Bytes, Text];

/// Moves a lane, by the values of [`MOVE_LANE`] after the arrays of [`APPEND_TO_MOVED`].
macro_rules! move_lane_after_rows {
    () => {
        "UPDATE log_lanes SET seq = $12, mac = $13, held_until = $14 \
          WHERE lane = $15 AND seq = $16 AND holder = $17 RETURNING 1"
    };
}

macro_rules! append_to_moved {
    () => {
        "INSERT INTO security_log \
         (lane, seq, at, event, organization, kind, id, detail, mac_key, mac, account) \
         SELECT list.* FROM moved CROSS JOIN"
    };
}

pub(super) const MOVE_LANE_AFTER_ROWS: &str = move_lane_after_rows!();

/// Appends rows where a lane was `moved` by a part of the same statement.
pub(super) static APPEND_TO_MOVED: LazyLock<Batch> =
    LazyLock::new(|| Batch::new(OF_LOG, "", (append_to_moved!(), "AS list")));

/// PostgreSQL moves the lane in the same statement, by the values of [`MOVE_LANE`], and appends only if it was moved.
pub(super) static APPEND: LazyLock<Batch> = LazyLock::new(|| {
    Batch::new(
        OF_LOG,
        "INSERT INTO security_log \
         (lane, seq, at, event, organization, kind, id, detail, mac_key, mac, account) \
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)",
        (concat!("WITH moved AS (", move_lane_after_rows!(), ") ", append_to_moved!()), "AS list"),
    )
});

pub(super) const FREE_LANES: &str = "SELECT lane, seq, mac FROM log_lanes \
     WHERE held_until < $1 AND lane <> $2 ORDER BY lane LIMIT 16";

pub(super) const TAKE_LANE: &str = "UPDATE log_lanes SET holder = $1, held_until = $2 \
     WHERE lane = $3 AND seq = $4 AND held_until < $5";

pub(super) const LANE_HELD_BY: &str =
    "SELECT lane, seq, mac FROM log_lanes WHERE holder = $1 ORDER BY lane LIMIT 1";

pub(super) const LANE: &str = "SELECT lane, seq, mac FROM log_lanes WHERE lane = $1";

pub(super) const LANES: &str = "SELECT lane, seq, mac FROM log_lanes ORDER BY lane";

// Changes nothing: it waits for the writer that is changing the lane, in either engine.
pub(super) const AWAIT_LANE: &str = "UPDATE log_lanes SET holder = holder WHERE lane = $1";

pub(super) const OPEN_LANE: &str = "INSERT INTO log_lanes (lane, seq, mac, holder, held_until) \
     VALUES ($1, $2, $3, $4, $5) ON CONFLICT (lane) DO NOTHING";

pub(super) const MOVE_LANE: &str = "UPDATE log_lanes SET seq = $1, mac = $2, held_until = $3 \
     WHERE lane = $4 AND seq = $5 AND holder = $6";

pub(super) const RELEASE_LANE: &str =
    "UPDATE log_lanes SET held_until = 0 WHERE lane = $1 AND holder = $2";

pub(super) const ABANDON_LANE: &str =
    "UPDATE log_lanes SET holder = $1, held_until = $2 WHERE lane = $3";

pub(super) const LOG_PAGE: &str = "SELECT seq, at, event, organization, kind, id, detail, mac_key, mac \
       FROM security_log WHERE lane = $1 AND seq > $2 ORDER BY seq LIMIT $3";

pub(super) const TRAIL: &str = "SELECT lane, seq, at, event, organization, kind, id, detail \
       FROM security_log WHERE organization = $1 AND at >= $2 AND at < $3 AND ($4 = '' OR event = $4) \
       AND (at, lane, seq) < ($5, $6, $7) \
       ORDER BY at DESC, lane DESC, seq DESC LIMIT $8";

// Its condition on `detail` is that of the index (migration 0010), word by word.
pub(super) const TRAIL_OF_DIRECTORIES: &str = "SELECT lane, seq, at, event, organization, kind, id, detail \
       FROM security_log WHERE organization = $1 AND at >= $2 AND at < $3 AND ($4 = '' OR event = $4) \
       AND (at, lane, seq) < ($5, $6, $7) \
       AND (detail LIKE '%\"cause\":\"scim\"%' OR (event = 'api.refused' AND detail LIKE '%\"operation\":\"scim%')) \
       ORDER BY at DESC, lane DESC, seq DESC LIMIT $8";

// The same columns, then the lane.
pub(super) const LOG_AFTER: &str = "SELECT seq, at, event, organization, kind, id, detail, mac_key, mac, lane \
       FROM security_log WHERE (at, lane, seq) > ($1, $2, $3) \
      ORDER BY at, lane, seq LIMIT $4 + 0";

pub(super) const LOG_OF_ORGANIZATION_AFTER: &str = "SELECT seq, at, event, organization, kind, id, detail, mac_key, mac, lane \
       FROM security_log WHERE (at, lane, seq) > ($1, $2, $3) AND organization = $4 \
      ORDER BY at, lane, seq LIMIT $5 + 0";

// `+ 0`: as for lists.
pub(super) const LOG_OF_ACCOUNT: &str = "SELECT lane, seq, at, event, organization, kind, id, detail \
       FROM security_log WHERE account = $1 AND (at, lane, seq) < ($2, $3, $4) \
      ORDER BY at DESC, lane DESC, seq DESC LIMIT $5 + 0";

pub(super) const LOG_SINCE: &str =
    "SELECT lane, MIN(seq) FROM security_log WHERE at >= $1 GROUP BY lane";

// One lane after the other: DISTINCT would read every row.
pub(super) const LOG_FIRST_LANE: &str = "SELECT MIN(lane) FROM security_log";

pub(super) const LOG_NEXT_LANE: &str = "SELECT MIN(lane) FROM security_log WHERE lane > $1";

pub(super) const LOG_BEFORE_FIRST: &str =
    "SELECT seq FROM security_log WHERE lane = $1 AND seq <= 0 ORDER BY seq LIMIT 1";

pub(super) const LOG_MAC: &str = "SELECT mac FROM security_log WHERE lane = $1 AND seq = $2";

pub(super) const LOG_WRITTEN_AFTER: &str = "SELECT seq FROM security_log \
     WHERE lane = $1 AND seq > $2 AND kind <> $3 ORDER BY seq LIMIT 1";

// Never backwards: of two checkpoints at once, the one that allows more is in force.
pub(super) const RETAIN_FROM: &str = "INSERT INTO log_retention (lane, seq, mac, seal_key, seal) \
     VALUES ($1, $2, $3, $4, $5) \
     ON CONFLICT (lane) DO UPDATE SET seq = excluded.seq, mac = excluded.mac, \
            seal_key = excluded.seal_key, seal = excluded.seal \
      WHERE log_retention.seq <= excluded.seq";

pub(super) const RETENTION: &str =
    "SELECT lane, seq, mac, seal_key, seal FROM log_retention ORDER BY lane";

pub(super) const TRIM_LOG: &str = "DELETE FROM security_log \
     WHERE lane = $1 AND seq IN (SELECT seq FROM security_log \
                                  WHERE lane = $1 AND seq <= $2 ORDER BY seq LIMIT $3)";

// outbox

pub(super) static POST: LazyLock<Batch> = LazyLock::new(|| {
    Batch::insert(
        &[Text, Text, Bytes, Int, Int, Int, Int, Text],
        "outbox (id, topic, payload, due_at, attempts, expires_at, class, queue)",
        "",
    )
});

// `waiting = 1` and `waiting = 0` are written out everywhere: an index holds the rows of one of them. Values that come from no
// column are numbers of 64 bits, as PostgreSQL must be told.

// In which classes and topics messages wait. One look-up in an index each: topics are few, and counted.
pub(super) const OUTBOX_LANES: &str = "SELECT lanes.class, lanes.topic FROM \
     (SELECT classes.class, topics.topic FROM \
       (SELECT CAST(0 AS BIGINT) AS class UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS classes \
       CROSS JOIN (SELECT DISTINCT topic FROM outbox_counts) AS topics) AS lanes \
     WHERE (SELECT MIN(o.queue) FROM outbox o \
             WHERE o.waiting = 1 AND o.class = lanes.class AND o.topic = lanes.topic) IS NOT NULL \
     ORDER BY lanes.class, lanes.topic";

// The next queues of a class and topic in which messages wait, one look-up in an index each.
pub(super) const OUTBOX_QUEUES: &str = "WITH RECURSIVE next (queue, place) AS (\
     SELECT (SELECT MIN(o.queue) FROM outbox o \
              WHERE o.waiting = 1 AND o.class = $1 AND o.topic = $2 AND o.queue > $3), CAST(1 AS BIGINT) \
      UNION ALL \
     SELECT (SELECT MIN(o.queue) FROM outbox o \
              WHERE o.waiting = 1 AND o.class = $1 AND o.topic = $2 AND o.queue > next.queue), next.place + 1 \
       FROM next WHERE next.queue IS NOT NULL AND next.place < $4) \
     SELECT queue FROM next WHERE queue IS NOT NULL ORDER BY place";

pub(super) const OUTBOX_DUE: &str = "SELECT id, payload, due_at, attempts, expires_at FROM outbox \
     WHERE waiting = 1 AND class = $1 AND topic = $2 AND queue = $3 AND due_at <= $4 \
     ORDER BY due_at, id LIMIT $5 + 0";

pub(super) const OUTBOX_EXPIRED: &str = "SELECT id, topic, attempts FROM outbox \
     WHERE expires_at <= $1 AND due_at <= $1 ORDER BY expires_at LIMIT $2 + 0";

// Whether a message of a class is leased no more, or has been put off for long enough.
pub(super) const OUTBOX_RETURNS: &str = "SELECT classes.class FROM \
     (SELECT CAST(0 AS BIGINT) AS class UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) AS classes \
     WHERE (SELECT MIN(o.due_at) FROM outbox o WHERE o.waiting = 0 AND o.class = classes.class) <= $1 \
     ORDER BY classes.class";

pub(super) const OUTBOX_RETURN: &str = "UPDATE outbox SET waiting = 1 WHERE waiting = 0 AND id IN \
     (SELECT o.id FROM outbox o WHERE o.waiting = 0 AND o.class = $1 AND o.due_at <= $2 ORDER BY o.due_at LIMIT $3 + 0)";

pub(super) const OUTBOX_COUNTS: &str = "SELECT counts.topic, CAST(SUM(counts.messages) AS BIGINT), \
            (SELECT MIN(o.due_at) FROM outbox o WHERE o.topic = counts.topic) \
       FROM outbox_counts counts GROUP BY counts.topic ORDER BY counts.topic";

pub(super) static OUTBOX_LEASE: LazyLock<Batch> = LazyLock::new(|| {
    Batch::new(
        &[Text, Int, Int],
        "UPDATE outbox SET waiting = 0, due_at = ?3, attempts = ?2 + 1 \
          WHERE id = ?1 AND attempts = ?2 AND waiting = 1 RETURNING id, attempts - 1",
        (
            "UPDATE outbox SET waiting = 0, due_at = leased.until, attempts = leased.attempts + 1 FROM",
            "AS leased (id, attempts, until) WHERE outbox.id = leased.id \
                AND outbox.attempts = leased.attempts AND outbox.waiting = 1 \
                RETURNING outbox.id, outbox.attempts - 1",
        ),
    )
});

pub(super) static OUTBOX_ERASE: LazyLock<Batch> = LazyLock::new(|| {
    Batch::new(
        &[Text, Int],
        "DELETE FROM outbox WHERE id = $1 AND attempts = $2 RETURNING id, attempts",
        (
            "DELETE FROM outbox USING",
            "AS erased (id, attempts) WHERE outbox.id = erased.id \
                AND outbox.attempts = erased.attempts RETURNING outbox.id, outbox.attempts",
        ),
    )
});

pub(super) static OUTBOX_PUT_BACK: LazyLock<Batch> = LazyLock::new(|| {
    Batch::new(
        &[Text, Int, Int, Int],
        "UPDATE outbox SET due_at = ?3, waiting = ?4 WHERE id = ?1 AND attempts = ?2 \
         RETURNING id, attempts",
        (
            "UPDATE outbox SET due_at = back.due_at, waiting = back.waiting FROM",
            "AS back (id, attempts, due_at, waiting) WHERE outbox.id = back.id \
                AND outbox.attempts = back.attempts RETURNING outbox.id, outbox.attempts",
        ),
    )
});

// copies

pub(super) const COUNT_ENTITIES: &str = "SELECT COUNT(*) FROM entities";

pub(super) const COUNT_LOG: &str = "SELECT COUNT(*) FROM security_log";

pub(super) const KINDS: &str = "SELECT kind, COUNT(*) FROM entities GROUP BY kind ORDER BY kind";

pub(super) const OF_KIND: &str = "SELECT id, version, state, revision FROM entities \
     WHERE kind = $1 AND id > $2 ORDER BY id LIMIT $3 + 0";

// the janitor

pub(super) const FORGETTABLE: &str =
    "SELECT kind, id, version FROM entities WHERE forget_at <= $1 ORDER BY forget_at LIMIT $2";

pub(super) const FORGET: &str = "DELETE FROM entities WHERE kind = $1 AND id = $2 AND version = $3";

pub(super) const FORGET_NAMES: &str = "DELETE FROM names WHERE kind = $1 AND id = $2";

pub(super) const FORGET_LISTINGS: &str = "DELETE FROM listings WHERE kind = $1 AND id = $2";
