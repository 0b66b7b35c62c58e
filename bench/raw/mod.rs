//! The same rows, written 64 to a transaction through SQLite's own C interface.

mod driver;

pub(crate) use driver::Driver;

use libsqlite3_sys as ffi;
use std::{ffi::CString, os::raw::c_int, path::Path, ptr, time::Instant};

pub(crate) struct Raw {
    database: *mut ffi::sqlite3,
    advance: *mut ffi::sqlite3_stmt,
    generation: i64,
}

// SAFETY: the handles are used by one task at a time, and SQLite is built to allow any thread.
unsafe impl Send for Raw {}

const ROWS: i64 = 64;

impl Raw {
    pub(crate) fn open(path: &Path) -> Self {
        let name = CString::new(path.to_str().unwrap()).unwrap();
        let mut database = ptr::null_mut();
        // SAFETY: the name is a C string that outlives the call, and the handle is checked.
        let opened = unsafe { ffi::sqlite3_open(name.as_ptr(), &raw mut database) };
        assert_eq!(opened, ffi::SQLITE_OK);
        let mut raw = Self { database, advance: ptr::null_mut(), generation: 1 };
        raw.run("PRAGMA journal_mode = WAL");
        raw.run("PRAGMA synchronous = FULL");
        raw.run(include_str!("../../migrations/0001_entities.sql"));
        for row in 0..ROWS {
            let state = state(0);
            raw.run(&format!(
                "INSERT INTO entities (kind, id, version, revision, state, live_until) \
                 VALUES ('family', 'family-{row:04}', 1, 1, '{state}', 1)"
            ));
        }
        let sql = c"UPDATE entities SET version = version + 1, state = ?1, live_until = ?2, \
                    forget_at = ?3 WHERE kind = ?4 AND id = ?5 AND version = ?6";
        // SAFETY: the database is open and the text is a C string.
        let prepared = unsafe {
            ffi::sqlite3_prepare_v2(
                database,
                sql.as_ptr(),
                -1,
                &raw mut raw.advance,
                ptr::null_mut(),
            )
        };
        assert_eq!(prepared, ffi::SQLITE_OK);
        raw
    }

    fn run(&mut self, sql: &str) {
        let sql = CString::new(sql).unwrap();
        // SAFETY: the database is open and the text is a C string.
        let done = unsafe {
            ffi::sqlite3_exec(self.database, sql.as_ptr(), None, ptr::null_mut(), ptr::null_mut())
        };
        assert_eq!(done, ffi::SQLITE_OK, "{sql:?}");
    }

    /// Rows per second over so many transactions of 64 compare-and-swaps.
    pub(crate) fn rate(&mut self, transactions: i64) -> f64 {
        let begun = Instant::now();
        for _ in 0..transactions {
            self.run("BEGIN IMMEDIATE");
            for row in 0..ROWS {
                self.swap(row);
            }
            self.run("COMMIT");
            self.generation += 1;
        }
        (transactions * ROWS) as f64 / begun.elapsed().as_secs_f64()
    }

    fn swap(&mut self, row: i64) {
        let id = format!("family-{row:04}");
        let state = state(self.generation);
        let text = |place: c_int, text: &str| {
            // SAFETY: the statement is prepared; SQLite copies the text before the call returns.
            let bound = unsafe {
                ffi::sqlite3_bind_text(
                    self.advance,
                    place,
                    text.as_ptr().cast(),
                    c_int::try_from(text.len()).unwrap(),
                    ffi::SQLITE_TRANSIENT(),
                )
            };
            assert_eq!(bound, ffi::SQLITE_OK);
        };
        text(1, &state);
        text(4, "family");
        text(5, &id);
        // SAFETY: the statement is prepared, stepped to its end and reset for the next row.
        unsafe {
            ffi::sqlite3_bind_int64(self.advance, 2, i64::MAX);
            ffi::sqlite3_bind_null(self.advance, 3);
            ffi::sqlite3_bind_int64(self.advance, 6, self.generation);
            assert_eq!(ffi::sqlite3_step(self.advance), ffi::SQLITE_DONE);
            assert_eq!(ffi::sqlite3_changes(self.database), 1);
            ffi::sqlite3_reset(self.advance);
        }
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // SAFETY: both handles came from SQLite and are not used again.
        unsafe {
            ffi::sqlite3_finalize(self.advance);
            ffi::sqlite3_close(self.database);
        }
    }
}

/// As many bytes as the kernel's benchmark stores.
fn state(generation: i64) -> String {
    let ballast = "x".repeat(370);
    format!("{{\"generation\":{generation},\"ballast\":\"{ballast}\"}}")
}
