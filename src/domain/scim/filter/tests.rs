use super::*;
use crate::domain::scim::schema::{GROUP, USER};
use serde_json::json;

mod hostile;
mod properties;

const ENTERPRISE: &str = "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User";

/// A complete document of a User.
fn barbara() -> Map<String, Value> {
    let document = json!({
        "schemas": ["urn:ietf:params:scim:schemas:core:2.0:User", ENTERPRISE],
        "id": "2819C223",
        "externalId": "Ext-701984",
        "userName": "bjensen@Example.com",
        "name": { "familyName": "Jensen", "givenName": "Barbara" },
        "nickName": "",
        "title": "Tour Guide",
        "userType": "Employee",
        "active": false,
        "emails": [
            { "value": "bjensen@example.com", "type": "work", "primary": true },
            { "value": "babs@jensen.org", "type": "home" },
        ],
        "meta": {
            "resourceType": "User",
            "created": "2010-01-23T04:56:22Z",
            "lastModified": "2011-05-13T04:42:34Z",
            "version": "W/\"3\"",
        },
        ENTERPRISE: { "department": "Tours", "manager": { "value": "26118915" } },
    });
    document.as_object().unwrap().clone()
}

fn parse(text: &str) -> Filter {
    Filter::parse(text, &USER).unwrap_or_else(|why| panic!("{text}: {why}"))
}

fn expect(cases: &[(&str, bool)]) {
    let document = barbara();
    for (text, expected) in cases {
        assert_eq!(parse(text).matches(&document), *expected, "{text}");
    }
}

fn refuse(texts: &[&str]) {
    for text in texts {
        let why = Filter::parse(text, &USER).expect_err(text);
        assert_eq!((why.status, why.scim_type), (400, Some("invalidFilter")), "{text}");
        assert!(why.detail.len() < 300, "{}", why.detail);
    }
}

#[test]
fn the_examples_of_the_rfc_match_as_they_say() {
    expect(&[
        (r#"userName eq "bjensen@example.com""#, true),
        (r#"name.familyName co "O'Malley""#, false),
        (r#"name.familyName co "ense""#, true),
        (r#"userName sw "BJ""#, true),
        (r#"urn:ietf:params:scim:schemas:core:2.0:User:userName sw "bj""#, true),
        ("title pr", true),
        (r#"meta.lastModified gt "2011-05-13T04:42:34Z""#, false),
        (r#"meta.lastModified ge "2011-05-13T04:42:34Z""#, true),
        (r#"meta.lastModified lt "2011-05-13T04:42:34Z""#, false),
        (r#"meta.lastModified le "2011-05-13T04:42:34Z""#, true),
        (r#"title pr and userType eq "Employee""#, true),
        (r#"title pr or userType eq "Intern""#, true),
        (r#"schemas eq "urn:ietf:params:scim:schemas:extension:enterprise:2.0:User""#, true),
        (
            r#"userType eq "Employee" and (emails co "example.com" or emails.value co "example.org")"#,
            true,
        ),
        (
            r#"userType ne "Employee" and not (emails co "example.com" or emails.value co "example.org")"#,
            false,
        ),
        (r#"userType eq "Employee" and (emails.type eq "work")"#, true),
        (r#"userType eq "Employee" and emails[type eq "work" and value co "@example.com"]"#, true),
        (
            r#"emails[type eq "work" and value co "@example.com"] or ims[type eq "xmpp" and value co "@foo.com"]"#,
            true,
        ),
    ]);
}

#[test]
fn case_counts_only_where_the_schema_says_so() {
    expect(&[
        (r#"USERNAME EQ "BJENSEN@EXAMPLE.COM""#, true),
        (r#"Name.FamilyName Eq "JENSEN""#, true),
        (r#"id eq "2819C223""#, true),
        (r#"id eq "2819c223""#, false),
        (r#"externalId eq "ext-701984""#, false),
        (r#"externalId sw "Ext""#, true),
        (r#"EMAILS[TYPE EQ "WORK"]"#, true),
    ]);
}

#[test]
fn one_value_must_fulfil_the_whole_condition_in_brackets() {
    expect(&[
        (r#"emails[type eq "home" and value co "@example.com"]"#, false),
        (r#"emails.type eq "home" and emails.value co "@example.com""#, true),
        (r#"emails[not (type eq "work")]"#, true),
        (r#"not (emails[type eq "work"])"#, false),
        (r"emails[primary eq true]", true),
        (r#"emails[primary eq "True" and type eq "work"]"#, true),
        (r"emails[type pr]", true),
        (r"phoneNumbers[type pr]", false),
        (r#"emails[type eq "work"].value eq "bjensen@example.com""#, true),
        (r#"emails[type eq "home"].value eq "bjensen@example.com""#, false),
        (r#"emails[type eq "work"].display pr"#, false),
        (r#"emails[type eq "work"].value pr and userName pr"#, true),
    ]);
}

#[test]
fn attributes_of_an_extension_are_found_with_their_urn_and_without() {
    expect(&[
        (
            r#"urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:department eq "tours""#,
            true,
        ),
        ("urn:ietf:params:scim:schemas:extension:enterprise:2.0:User:manager.value pr", true),
        (r#"id eq "2819C223" and manager eq "26118915""#, true),
        (r#"manager eq "other""#, false),
        (r#"urn:ietf:params:scim:schemas:core:2.0:User:department eq "tours""#, false),
    ]);
}

#[test]
fn not_binds_closer_than_and_which_binds_closer_than_or() {
    expect(&[
        ("title pr or title pr and nickName pr", true),
        ("(title pr or title pr) and nickName pr", false),
        ("not (nickName pr) and title pr", true),
        ("not(nickName pr)or(nickName pr)", true),
        ("NOT (title pr AND title pr) OR locale pr", false),
    ]);
    assert_eq!(parse("a pr or b pr and c pr").to_string(), "a pr or (b pr and c pr)");
    assert_eq!(parse("(a pr or b pr)  and ((c pr))").to_string(), "(a pr or b pr) and c pr");
    assert_eq!(parse("a pr and (b pr and c pr)").to_string(), "a pr and b pr and c pr");
}

#[test]
fn what_is_absent_differs_from_everything_and_is_null() {
    expect(&[
        (r#"locale eq "de""#, false),
        (r#"locale ne "de""#, true),
        ("locale eq null", true),
        ("locale ne null", false),
        ("title eq null", false),
        ("title ne null", true),
        ("nickName pr", false),
        (r#"nickName eq """#, true),
        (r#"locale gt "a""#, false),
        (r#"emails.value ne "babs@jensen.org""#, true),
        ("emails.display eq null", true),
        ("name pr", true),
        ("name.middleName pr", false),
    ]);
    let document = json!({ "name": { "givenName": "" }, "emails": [{ "value": "" }] });
    assert!(!parse("name pr or emails pr").matches(document.as_object().unwrap()));
}

#[test]
fn an_unknown_attribute_is_absent() {
    expect(&[
        (r#"shoeSize eq "9""#, false),
        ("shoeSize pr", false),
        (r#"shoeSize ne "9""#, true),
        (r#"password sw "a""#, false),
        ("shoes[size eq 9]", false),
        ("emails[size eq 9]", false),
        ("urn:example:Shoes:size gt 3", false),
    ]);
}

#[test]
fn active_is_a_boolean_also_as_a_text_and_true_where_it_is_absent() {
    expect(&[
        ("active eq false", true),
        (r#"active eq "False""#, true),
        ("active ne true", true),
        ("active eq TRUE", false),
        ("active pr", true),
    ]);
    let mut document = barbara();
    document.remove("active");
    assert!(parse("active eq true").matches(&document));
    assert!(!parse("active ne true").matches(&document));
    assert!(!parse(r#"active eq "false""#).matches(&document));
    assert!(!parse("active pr").matches(&document));
    for operator in ["gt", "ge", "lt", "le", "co", "sw", "ew"] {
        refuse(&[&format!("active {operator} true"), &format!("active {operator} \"true\"")]);
    }
    refuse(&[r#"active eq "perhaps""#]);
}

#[test]
fn moments_are_compared_and_not_their_texts() {
    expect(&[
        (r#"meta.created eq "2010-01-23T05:56:22+01:00""#, true),
        (r#"meta.created lt "2010-01-23T04:56:22.001Z""#, true),
        (r#"meta.created sw "2010-01""#, true),
    ]);
    refuse(&[r#"meta.created gt "yesterday""#, r#"meta.created eq "2010""#]);
}

#[test]
fn a_literal_of_another_type_is_not_equal() {
    expect(&[
        ("userName eq 5", false),
        ("userName ne 5", true),
        ("userName eq true", false),
        ("userName gt 1e3", false),
        (r#"name eq "Jensen""#, false),
    ]);
    refuse(&["userName co 5", "userName gt null", "userName sw true"]);
}

#[test]
fn texts_are_json_strings() {
    let matches = |filter: &str, title: &str| {
        let document = json!({ "title": title });
        parse(filter).matches(document.as_object().unwrap())
    };
    assert!(matches(r#"title eq "a\"b\\c\/d\u00e9""#, "a\"b\\c/dé"));
    assert!(matches(r#"title eq "\ud83d\ude00""#, "😀"));
    assert!(matches(r#"title eq "ÉCOLE""#, "école"));
    assert!(matches(r#"title ew "\\""#, "x\\"));
    assert!(matches(r#"title co " and (""#, "x and (y"));
}

#[test]
fn what_is_no_filter_is_refused() {
    refuse(&[
        "",
        " ",
        "userName",
        "userName eq",
        "userName is \"x\"",
        "userName eq x",
        "userName eq \"x",
        "userName eq \"x\\\"",
        r#"userName eq "\ud800""#,
        r#"userName eq "\x""#,
        r#"userName eq "\u0000""#,
        "userName eq \"a\nb\"",
        "userName eq 'x'",
        "userName eq 01",
        "userName eq 1e999",
        "userName eq -",
        "userName pr and",
        "and userName pr",
        "userName pr userName pr",
        "(userName pr",
        "userName pr)",
        "()",
        "not userName pr",
        "not ()",
        "emails[]",
        "emails[type pr",
        "emails[type pr]]",
        "emails[emails[type pr]]",
        "emails[type pr].",
        "emails[type pr].value",
        "[type pr]",
        "a.b.c pr",
        "1a pr",
        "é pr",
        "a\0 pr",
        "user name pr",
        "userName eq \"x\" garbage",
        "userName eq {}",
        "userName eq [1]",
    ]);
}

#[test]
fn an_index_can_answer_what_is_pinned_by_equality() {
    let user = |text: &str| Filter::parse(text, &USER).unwrap().lookup();
    let own = |text: &str| text.to_owned();
    assert_eq!(user(r#"userName eq "A@b""#), Some(Lookup::UserName(own("A@b"))));
    assert_eq!(user(r#"externalId eq "7""#), Some(Lookup::ExternalId(own("7"))));
    assert_eq!(user(r#"userName eq "a" and id eq "7""#), Some(Lookup::Id(own("7"))));
    assert_eq!(
        user(r#"active eq true and (title pr and userName eq "a")"#),
        Some(Lookup::UserName(own("a")))
    );
    for text in [
        r#"userName eq "a" or id eq "7""#,
        r#"not (id eq "7")"#,
        r#"userName ne "a""#,
        r#"userName sw "a""#,
        "id eq 7",
        "userName eq null",
        r#"displayName eq "a""#,
        r#"emails.value eq "a""#,
    ] {
        assert_eq!(user(text), None, "{text}");
    }
    let group = |text: &str| Filter::parse(text, &GROUP).unwrap().lookup();
    assert_eq!(group(r#"displayName eq "Ops""#), Some(Lookup::DisplayName(own("Ops"))));
    assert_eq!(group(r#"members.value eq "u""#), Some(Lookup::Member(own("u"))));
    assert_eq!(group(r#"members eq "u""#), Some(Lookup::Member(own("u"))));
    assert_eq!(group(r#"members[value eq "u"]"#), Some(Lookup::Member(own("u"))));
    assert_eq!(group(r#"members[value eq "u" or type eq "User"]"#), None);
    assert_eq!(group(r#"members.type eq "User""#), None);
    assert_eq!(group(r#"members eq "u" and id eq "g""#), Some(Lookup::Id(own("g"))));
    assert_eq!(group(r#"userName eq "u""#), None);
}

#[test]
fn a_filter_says_which_members_decide_it() {
    let need = |text: &str| Filter::parse(text, &GROUP).unwrap().member_need();
    let these = |ids: &[&str]| MemberNeed::These(ids.iter().map(|id| (*id).to_owned()).collect());
    assert_eq!(need(r#"displayName eq "x" or not (externalId pr)"#), MemberNeed::None);
    assert_eq!(need(r#"id eq "g" and members eq "u""#), these(&["u"]));
    assert_eq!(need(r#"members[value eq "b" or value eq "a"]"#), these(&["a", "b"]));
    assert_eq!(need(r#"members[value eq "b" and type eq "User"]"#), these(&["b"]));
    assert_eq!(need(r#"not (members.value eq "b")"#), these(&["b"]));
    for text in [
        "members pr",
        r#"members.value sw "a""#,
        r#"members ne "a""#,
        r#"members.type eq "User""#,
        r#"members[not (value eq "a")]"#,
        r#"members[value eq "a" or type eq "User"]"#,
        r#"id eq "g" and members.display co "x""#,
    ] {
        assert_eq!(need(text), MemberNeed::All, "{text}");
    }
}
