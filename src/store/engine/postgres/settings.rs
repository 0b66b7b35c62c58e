//! What each session of the server is set to: time-outs that others rely on, and how statements are planned.

use crate::store::engine::unfit::UnfitServer;
use std::fmt::Write as _;

/// The time-outs that we rely on, in milliseconds, and as the server shows them.
pub(super) const TIMEOUTS: [(&str, &str, &str); 3] = [
    ("lock_timeout", "5000", "5s"),
    ("statement_timeout", "10000", "10s"),
    // A node that vanished must not keep its rows locked until TCP notices.
    ("idle_in_transaction_session_timeout", "15000", "15s"),
];

/// Every statement finds its rows by an index. A plan that was made while a table was small must not go through all of
/// it once it has grown, and is not made anew for each list.
const PLANS: [(&str, &str); 4] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_seqscan", "off"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
];

/// Spelled out: a server's own default must not turn conflicts into errors. Whether it may be written is the server's
/// affair: where it was set to read only, it is not written.
pub(super) const BEGIN: &str = "BEGIN ISOLATION LEVEL READ COMMITTED";

/// Returns what a session of our own is started with.
pub(super) fn at_start() -> impl Iterator<Item = (&'static str, &'static str)> {
    // A transaction of one statement is not begun by a text that says so.
    let others =
        [("tcp_keepalives_idle", "30"), ("default_transaction_isolation", "read committed")];
    TIMEOUTS.map(|(name, value, _)| (name, value)).into_iter().chain(others).chain(PLANS)
}

/// Writes the beginning of a transaction that a pooler lends a session for: what the session would have been started
/// with is set for that transaction alone. It goes as one message, whose answer ends by whether the server is a standby.
pub(super) fn beginning(given: &[(String, String)]) -> String {
    let given = given.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    let own = TIMEOUTS.map(|(name, value, _)| (name, value)).into_iter().chain(PLANS);
    let mut text = format!("{BEGIN}; SELECT ");
    // Ours come last: they hold.
    for (name, value) in given.chain(own) {
        let (name, value) = (literal(name), literal(value));
        let _ = write!(text, "set_config({name}, {value}, true), ");
    }
    text.push_str("pg_is_in_recovery()::text");
    text
}

fn literal(text: &str) -> String {
    format!("E'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
}

/// Reads start-up options, as `options` in an address gives them: `-c name=value`, `-cname=value`, `--name=value`.
pub(super) fn read_options(options: &str) -> Result<Vec<(String, String)>, UnfitServer> {
    let mut settings = Vec::new();
    let mut words = words(options).into_iter();
    while let Some(word) = words.next() {
        let setting = match word.strip_prefix("-c").or_else(|| word.strip_prefix("--")) {
            Some("") if word == "-c" => words.next(),
            Some(setting) => Some(setting.to_owned()),
            None => None,
        };
        let setting = setting.as_deref().and_then(|setting| setting.split_once('='));
        let Some((name, value)) = setting else { return Err(UnfitServer::Options) };
        settings.push((name.replace('-', "_"), value.to_owned()));
    }
    Ok(settings)
}

/// Splits as the server does: at white space, where no backslash stands before it.
fn words(text: &str) -> Vec<String> {
    let (mut words, mut word, mut escaped) = (Vec::new(), None::<String>, false);
    for letter in text.chars() {
        if letter.is_ascii_whitespace() && !escaped {
            words.extend(word.take());
        } else if letter == '\\' && !escaped {
            word.get_or_insert_default();
            escaped = true;
        } else {
            word.get_or_insert_default().push(letter);
            escaped = false;
        }
    }
    words.extend(word);
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(options: &str) -> Vec<(String, String)> {
        read_options(options).unwrap()
    }

    fn pair(name: &str, value: &str) -> (String, String) {
        (name.to_owned(), value.to_owned())
    }

    #[test]
    fn options_of_an_address_are_read_as_the_server_reads_them() {
        assert_eq!(pairs(""), []);
        assert_eq!(pairs("-csearch_path=a,b"), [pair("search_path", "a,b")]);
        let two = " -c  work_mem=4MB --default-tablespace=x ";
        assert_eq!(pairs(two), [pair("work_mem", "4MB"), pair("default_tablespace", "x")]);
        assert_eq!(pairs(r"-c a=one\ two\\"), [pair("a", r"one two\")]);
        for other in ["-B 4", "-c", "-c name", "name=value"] {
            assert!(matches!(read_options(other), Err(UnfitServer::Options)), "{other}");
        }
    }

    #[test]
    fn a_transaction_at_a_pooler_sets_what_it_needs_and_ours_hold_over_what_was_given() {
        let given = [pair("search_path", r"it's, \x"), pair("lock_timeout", "0")];
        let text = beginning(&given);
        assert!(text.starts_with(BEGIN), "{text}");
        assert!(text.contains(r"set_config(E'search_path', E'it''s, \\x', true)"), "{text}");
        let (given, own) = (text.find("E'0'").unwrap(), text.find("E'5000'").unwrap());
        assert!(given < own, "{text}");
        for (name, value, _) in TIMEOUTS {
            assert!(text.contains(&format!("set_config(E'{name}', E'{value}', true)")), "{text}");
        }
    }
}
