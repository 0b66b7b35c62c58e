//! Reading TOML: what is taken, what is complained of, and on which line.

use crate::config::{Complaint, Document, Section};
use serde_json::json;

fn root(text: &str) -> Section {
    Document::parse(text).unwrap().into_root()
}

fn said(complaints: &[Complaint]) -> Vec<String> {
    complaints.iter().map(|c| format!("{}: {}", c.line, c.text)).collect()
}

#[test]
fn every_sort_of_value_is_taken_with_its_line() {
    let mut complaints = Vec::new();
    let mut root = root(
        "name = \"front\"\nopen = true\n\nfloor = 0x10\nroles = [\n  \"clerk\",\n  \"guest\",\n]\n\
         [door]\nbell.loud = false\n",
    );
    let keys: Vec<_> = root.keys().map(|key| (key.value.to_owned(), key.line)).collect();
    let expected = [("name", 1), ("open", 2), ("floor", 4), ("roles", 5), ("door", 9)];
    assert_eq!(keys, expected.map(|(key, line)| (key.to_owned(), line)));

    let name = root.text("name", &mut complaints).unwrap();
    assert_eq!((name.value.as_str(), name.line), ("front", 1));
    assert!(root.flag("open", &mut complaints).unwrap().value);
    assert_eq!(root.number("floor", &mut complaints).unwrap().value, 16);
    let roles = root.texts("roles", &mut complaints).unwrap();
    assert_eq!(roles.line, 5);
    let roles: Vec<_> = roles.value.iter().map(|r| (r.value.as_str(), r.line)).collect();
    assert_eq!(roles, [("clerk", 6), ("guest", 7)]);
    let mut door = root.table("door", &mut complaints).unwrap();
    assert_eq!(door.line(), 9);
    let mut bell = door.table("bell", &mut complaints).unwrap();
    assert_eq!(bell.line(), 10);
    assert!(!bell.flag("loud", &mut complaints).unwrap().value);
    for section in [root, door, bell] {
        section.finish(&mut complaints);
    }
    assert_eq!(said(&complaints), [""; 0]);
}

#[test]
fn arrays_of_tables_know_the_line_of_each_table() {
    let mut complaints = Vec::new();
    let mut root = root(
        "[[organization]]\nslug = \"a\"\n\n[[organization]]\nslug = \"b\"\n\n  [[organization.role]]\n  \
         name = \"x\"\n  [[organization.role]]\n  name = \"y\"\n\n[[account]]\n\
         memberships = [{ organization = \"a\" },\n  { organization = \"b\", rols = [] }]\n",
    );
    let mut organizations = root.tables("organization", &mut complaints);
    assert_eq!(organizations.iter().map(Section::line).collect::<Vec<_>>(), [1, 4]);
    let roles = organizations[1].tables("role", &mut complaints);
    assert_eq!(roles.iter().map(Section::line).collect::<Vec<_>>(), [7, 9]);
    let mut accounts = root.tables("account", &mut complaints);
    let members = accounts[0].tables("memberships", &mut complaints);
    assert_eq!(members.iter().map(Section::line).collect::<Vec<_>>(), [13, 14]);
    for mut member in members {
        assert!(member.text("organization", &mut complaints).is_some());
        assert!(member.texts("roles", &mut complaints).is_none());
        member.finish(&mut complaints);
    }
    assert!(root.tables("client", &mut complaints).is_empty());
    let unknown =
        "unknown key `account.memberships.rols`, did you mean `account.memberships.roles`?";
    assert_eq!(said(&complaints), [format!("14: {unknown}")]);
}

#[test]
fn a_value_of_the_wrong_type_says_what_was_expected_and_what_was_found() {
    let mut complaints = Vec::new();
    let mut root = root(
        "a = 1\nb = \"yes\"\nc = -1\nd = \"x\"\ne = [\n\"x\",\n1]\nf = true\ng = [{}, 2]\n\
         h = 1979-05-27\ni = 1.5\n",
    );
    assert!(root.text("a", &mut complaints).is_none());
    assert!(root.flag("b", &mut complaints).is_none());
    assert!(root.number("c", &mut complaints).is_none());
    assert!(root.texts("d", &mut complaints).is_none());
    assert_eq!(root.texts("e", &mut complaints).unwrap().value.len(), 1);
    assert!(root.table("f", &mut complaints).is_none());
    assert_eq!(root.tables("g", &mut complaints).len(), 1);
    assert!(root.text("h", &mut complaints).is_none());
    assert!(root.number("i", &mut complaints).is_none());
    root.finish(&mut complaints);
    let expected = [
        "1: `a` must be a text in quotes, found a number",
        "2: `b` must be true or false, found a text",
        "3: `c` must be a whole number, 0 or more, found a negative number",
        "4: `d` must be a list of texts in quotes, found a text",
        "7: `e` must be a list of texts in quotes, found a number in it",
        "8: `f` must be a table, found true or false",
        "9: `g` must be a list of tables, found a number in it",
        "10: `h` must be a text in quotes, found a date or time",
        "11: `i` must be a whole number, 0 or more, found a fraction",
    ];
    assert_eq!(said(&complaints), expected);
}

#[test]
fn what_was_not_taken_is_unknown_and_what_is_missing_is_named() {
    let mut complaints = Vec::new();
    let mut root = root("[door]\nnmae = \"x\"\nzebra = 1\n\"a\\nb\" = 2\n");
    let mut door = root.table("door", &mut complaints).unwrap();
    door.demand(&["name"], &mut complaints);
    assert!(door.text("name", &mut complaints).is_none());
    door.finish(&mut complaints);
    root.finish(&mut complaints);
    let expected = [
        "1: `door.name` is missing",
        "2: unknown key `door.nmae`, did you mean `door.name`?",
        "3: unknown key `door.zebra`",
        "4: unknown key `door.a\\nb`",
    ];
    assert_eq!(said(&complaints), expected);
}

#[test]
fn a_subtree_becomes_json_and_dates_are_refused() {
    let mut complaints = Vec::new();
    let mut root = root(
        "schema = { type = \"object\", required = [\"a\"], least = -1.5, deep = { x = [true, 2] } }\n\
         bad = { when = 07:32:00,\n much = nan,\n fine = 1 }\n",
    );
    let schema = root.value_as_json("schema", &mut complaints).unwrap();
    let expected = json!({
        "type": "object", "required": ["a"], "least": -1.5, "deep": {"x": [true, 2]}
    });
    assert_eq!(schema.value, expected);
    assert!(complaints.is_empty());
    assert_eq!(root.value_as_json("bad", &mut complaints).unwrap().value, json!({"fine": 1}));
    assert_eq!(complaints.iter().map(|c| c.line).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn every_broken_line_is_named_at_once() {
    let text = "a = \nb = 1\nb = 2\nc = yes\nd = 99999999999999999999\ne = \"x\\u0000y\"\n[f\n";
    let complaints = Document::parse(text).unwrap_err();
    assert_eq!(complaints.iter().map(|c| c.line).collect::<Vec<_>>(), [1, 3, 4, 5, 6, 7]);
    assert_eq!(complaints[1].text, "duplicate key `b`");
    assert_eq!(complaints[4].text, "a text must not hold the character NUL");
}

#[test]
fn junk_is_complained_of_briefly() {
    let junk = "\u{1} ]] =\n".repeat(5_000);
    let complaints = Document::parse(&junk).unwrap_err();
    assert_eq!(complaints.len(), 21);
    assert_eq!(complaints[20], Complaint::new(0, "4980 more lines are not TOML"));
    assert!(Document::parse(&"= ] \" [".repeat(100_000)).is_err());
    assert!(Document::parse(&"[[a]]\nb = '\n".repeat(50_000)).is_err());
    assert!(Document::parse("\0\0\0").is_err());
    assert!(Document::parse("x = \"a\0b\"").is_err());
    assert!(Document::parse("\"a\\u0000b\" = 1").is_err());
}

#[test]
fn depth_is_bounded() {
    let lists = format!("a = {}1{}", "[".repeat(50_000), "]".repeat(50_000));
    assert!(Document::parse(&lists).is_err());
    let keys = format!("{}a = 1", "a.".repeat(50_000));
    assert!(Document::parse(&keys).is_err());
    // Each is within the parser's own limits, and they multiply.
    let level = format!("{}a = {{", "a.".repeat(78));
    let both = format!("{}{}", level.repeat(78), "}".repeat(78));
    let complaints = Document::parse(&both).unwrap_err();
    assert_eq!(said(&complaints), ["1: is nested too deeply"]);
}

#[test]
fn values_do_not_appear_in_debug_output() {
    let document = Document::parse("password = \"hunter2\"").unwrap();
    assert!(!format!("{document:?}").contains("hunter2"));
    let mut complaints = Vec::new();
    let mut root = document.into_root();
    let password = root.text("password", &mut complaints);
    assert!(!format!("{password:?}{root:?}").contains("hunter2"));
}
