//! Accounts from files: created once, changed in what a file says, never in what a person chose.

use super::{EXAMPLE, Shop, file, lines, workbench};
use porteiro::{
    crypto::password::{self, Memory, PasswordCost},
    domain::{
        account::{self, ACCOUNTS, Account, EMAIL_ADDRESSES},
        membership::{self, MEMBERS, MEMBERSHIP_PAIRS, MEMBERSHIPS, Membership, pair},
    },
    provisioning::{apply, plan},
    store::CommitError,
};
use serde_json::json;
use std::time::Duration;

const PASSWORD: &[u8] = b"correct horse battery staple";
const PHC: &str =
    "$argon2id$v=19$m=256,t=2,p=1$c29tZXNhbHQ$nf65EOgLrQMR/uIPnA4rEsF5h7TKyQwu9U1bMCHGi/4";

impl Shop {
    pub(super) async fn account(&self, email: &str) -> Option<account::Known> {
        let id = self.owner(EMAIL_ADDRESSES, email).await?;
        let known = self.load::<Account>(&id).await.known().unwrap().clone();
        assert_eq!(known.id, id);
        Some(known)
    }

    async fn ana(&self) -> account::Known {
        self.account("ana@acme.test").await.unwrap()
    }

    /// What Ana is in an organization, or was.
    async fn membership(&self, slug: &str) -> Option<membership::Known> {
        let name = pair(&self.ana().await.id, slug);
        let id = self.owner(MEMBERSHIP_PAIRS, &name).await?;
        Some(self.load::<Membership>(&id).await.known().unwrap().clone())
    }

    async fn recorded(&self, event: &str) -> i64 {
        let rows = format!("security_log WHERE event = '{event}'");
        self.world.stranger().await.count(&rows).await
    }
}

/// Says something of Ana.
fn ana(rest: &str) -> String {
    format!("[[account]]\nemail = \"ana@acme.test\"\n{rest}\n")
}

pub(super) fn is_her_password(account: &account::Known, password: &[u8]) -> bool {
    let phc = account.credentials.password().unwrap().expose();
    password::verify(password, phc, PasswordCost::CHEAP, &mut Memory::default()).unwrap().matches
}

#[tokio::test]
async fn an_account_is_created_with_everything_it_begins_with() {
    let shop = Shop::with(EXAMPLE).await;
    let account = shop.ana().await;
    assert_eq!((account.email.as_str(), account.email_verified), ("ana@acme.test", true));
    assert_eq!(account.claim("given_name"), Some(json!("Ana")));
    assert_eq!(account.claim("phone_number"), Some(json!("+351910000000")));
    assert!(is_her_password(&account, PASSWORD) && !is_her_password(&account, b"another horse"));
    let (vault, sealed) = (shop.bench.vault(), account.credentials.totp().unwrap());
    let secret = vault.open("totp", account.id.as_bytes(), sealed.expose()).unwrap();
    assert_eq!(secret.expose(), b"Hello!\xDE\xAD\xBE\xEF");
    let form: Vec<usize> = account.id.split('-').map(str::len).collect();
    assert_eq!(form, [8, 4, 4, 4, 12], "{}", account.id);
    let member = shop.membership("acme").await.unwrap();
    assert_eq!((member.account.as_str(), member.enabled), (account.id.as_str(), true));
    assert_eq!(member.roles, ["manager"]);
    for (list, owner, id) in [
        (ACCOUNTS, "", &account.id),
        (MEMBERSHIPS, &*account.id, &member.id),
        (MEMBERS, "acme", &member.id),
    ] {
        let listed = shop.bench.store().list(list, owner, ("", ""), 10).await.unwrap();
        assert_eq!(listed.iter().map(|entry| &entry.id).collect::<Vec<_>>(), [id], "{list}");
    }
    let mut stranger = shop.world.stranger().await;
    for (table, text) in [("entities", "state"), ("security_log", "detail")] {
        for secret in ["horse", "JBSWY3DP", "Hello!"] {
            let rows = format!("{table} WHERE {text} LIKE '%{secret}%'");
            assert_eq!(stranger.count(&rows).await, 0, "{rows}");
        }
    }
    assert_eq!(stranger.count("security_log WHERE detail LIKE '%acme.test%'").await, 0);
    shop.bench.close().await;
}

#[tokio::test]
async fn what_a_file_says_of_an_account_is_replaced_and_the_rest_stays() {
    let shop = Shop::with(EXAMPLE).await;
    let before = shop.ana().await;
    shop.world.clock.advance(Duration::from_mins(1));
    let text = "email_verified = false\nfamily_name = \"Sá\"\nphone_number = \"\"\n\
                address = { country = \"PT\" }";
    let changed = lines(&shop.apply(&ana(text)).await.unwrap());
    let fields = "email_verified, family_name, phone_number, address";
    assert_eq!(changed, [format!("~ changed account ana@acme.test ({fields})")]);
    let after = shop.ana().await;
    assert_eq!(after.claim("given_name"), Some(json!("Ana")));
    assert_eq!(after.claim("address"), Some(json!({ "country": "PT" })));
    assert_eq!((after.claim("phone_number"), after.email_verified), (None, false));
    assert_eq!(after.created_at, before.created_at);
    assert_eq!(after.updated_at, before.updated_at + Duration::from_mins(1));
    assert!(shop.membership("acme").await.unwrap().enabled, "memberships were not given");
    assert!(shop.apply(&ana(text)).await.unwrap().changes_nothing());
    shop.bench.close().await;
}

#[tokio::test]
async fn a_file_never_changes_the_credentials_of_an_account_that_exists() {
    let shop = Shop::with(EXAMPLE).await;
    let before = shop.ana().await;
    let text = "password = \"another horse altogether\"\ntotp_secret = \"GEZDGNBVGY3TQOJQ\"\n\
                updated_at = 5";
    assert!(shop.apply(&ana(text)).await.unwrap().changes_nothing());
    let hashed = format!("password = \"{PHC}\"\ngiven_name = \"Anna\"");
    let changed = lines(&shop.apply(&ana(&hashed)).await.unwrap());
    assert_eq!(changed, ["~ changed account ana@acme.test (given_name)"]);
    let after = shop.ana().await;
    assert_eq!(&after.credentials, &before.credentials);
    assert!(is_her_password(&after, PASSWORD));
    shop.bench.close().await;
}

#[tokio::test]
async fn a_hash_is_taken_as_it_is() {
    let shop = Shop::with(&ana(&format!("password = \"{PHC}\""))).await;
    let account = shop.ana().await;
    assert_eq!(account.credentials.password().unwrap().expose(), PHC);
    assert!(is_her_password(&account, b"password") && account.credentials.totp().is_none());
    assert!(!account.email_verified);
    shop.bench.close().await;
}

#[tokio::test]
async fn an_address_in_another_case_is_the_same_account() {
    let shop = Shop::with(EXAMPLE).await;
    let before = shop.ana().await;
    let text = "[[account]]\nemail = \"Ana@ACME.test\"\n";
    let changed = lines(&shop.apply(text).await.unwrap());
    assert_eq!(changed, ["~ changed account Ana@ACME.test (email)"]);
    let after = shop.ana().await;
    assert_eq!((&after.id, after.email.as_str()), (&before.id, "Ana@ACME.test"));
    assert!(shop.apply(text).await.unwrap().changes_nothing());
    let accounts = "entities WHERE kind = 'account'";
    assert_eq!(shop.world.stranger().await.count(accounts).await, 1);
    shop.bench.close().await;
}

#[tokio::test]
async fn a_list_of_memberships_replaces_the_one_held_and_nothing_is_deleted() {
    let shop = Shop::with(EXAMPLE).await;
    shop.apply("[[organization]]\nslug = \"beta\"\nrole = [{ name = \"guest\" }]\n").await.unwrap();
    let first = shop.membership("acme").await.unwrap();
    let moved = ana("memberships = [{ organization = \"beta\", roles = [\"guest\"] }]");
    let changed = lines(&shop.apply(&moved).await.unwrap());
    assert_eq!(changed, ["~ changed account ana@acme.test (memberships)"]);
    let ended = shop.membership("acme").await.unwrap();
    assert_eq!(ended, membership::Known { enabled: false, ..first.clone() });
    assert!(shop.membership("beta").await.unwrap().enabled);
    let standing = shop.bench.store().liveness(&[("membership", &first.id)]).await.unwrap();
    assert!(!standing[0].unwrap().is_live(shop.bench.clock().now()));
    assert!(shop.apply(&moved).await.unwrap().changes_nothing());
    // Named again it is the same, with other roles.
    let both = ana(
        "given_name = \"Anna\"\nmemberships = [{ organization = \"beta\", roles = [\"guest\"] },\n\
         { organization = \"acme\", roles = [\"clerk\"] }]",
    );
    let changed = lines(&shop.apply(&both).await.unwrap());
    assert_eq!(changed, ["~ changed account ana@acme.test (given_name, memberships)"]);
    let resumed = shop.membership("acme").await.unwrap();
    assert_eq!((&resumed.id, resumed.enabled), (&first.id, true));
    assert_eq!(resumed.roles, ["clerk"]);
    shop.apply(&ana("memberships = []")).await.unwrap();
    assert!(!shop.membership("acme").await.unwrap().enabled);
    assert!(!shop.membership("beta").await.unwrap().enabled);
    assert_eq!(shop.recorded("membership.created").await, 2);
    assert_eq!(shop.recorded("membership.ended").await, 3);
    assert_eq!(shop.recorded("membership.resumed").await, 1);
    shop.bench.close().await;
}

#[tokio::test]
async fn memberships_of_a_suspended_organization_fail_the_file_unless_it_enables_it() {
    let shop = Shop::with(EXAMPLE).await;
    let condition = |enabled| format!("[[organization]]\nslug = \"acme\"\nenabled = {enabled}\n");
    shop.apply(&condition(false)).await.unwrap();
    let same = ana("memberships = [{ organization = \"acme\", roles = [\"manager\"] }]");
    assert!(shop.apply(&same).await.unwrap().changes_nothing());
    shop.apply(&ana("nickname = \"An\"")).await.unwrap();
    let refusal =
        "account `ana@acme.test`: the organization `acme` is suspended and accepts no change";
    let demoted = ana("memberships = [\n{ organization = \"acme\", roles = [] }]");
    assert_eq!(shop.refused(&demoted).await, [format!("4: {refusal}")]);
    let ended = ana("memberships = []");
    assert_eq!(shop.refused(&ended).await, [format!("3: {refusal}")]);
    let newcomer = "[[account]]\nemail = \"eva@acme.test\"\npassword = \"a horse of her own\"\n\
                    memberships = [{ organization = \"acme\" }]\n";
    let of_eva = refusal.replace("ana@", "eva@");
    assert_eq!(shop.refused(newcomer).await, [format!("4: {of_eva}")]);
    let enabling = format!("{demoted}{newcomer}{}", condition(true));
    shop.apply(&enabling).await.unwrap();
    assert!(shop.membership("acme").await.unwrap().roles.is_empty());
    // A file that suspends an organization cannot change its memberships either.
    let both = format!("{}{ended}", condition(false));
    assert_eq!(shop.refused(&both).await, [format!("6: {refusal}")]);
    shop.bench.close().await;
}

#[tokio::test]
async fn everything_that_is_wrong_with_accounts_is_said_at_once() {
    let shop = Shop::with(EXAMPLE).await;
    let text = "[[account]]\nemail = \"ana@acme.test\"\nbirthdate = \"yesterday\"\n\
        picture = \"javascript:alert(1)\"\nmemberships = [{ organization = \"acme\", \
        roles = [\"manager\",\n\"owner\"] },\n{ organization = \"nowhere\" }]\n[[account]]\n\
        email = \"eva@acme.test\"\npassword = \"a horse of her own\"\ngiven_name = \"a\\u0007\"\n\
        address = { country = \"\\u0007\" }\nphone_number_verified = true\n\
        memberships = [{ organization = \"Bad\", roles = [\"r\", \"s\"] }]\n\
        [[organization]]\nslug = \"Bad\"\nrole = [{ name = \"r\" }]\n";
    let (ana, eva) = ("account `ana@acme.test`", "account `eva@acme.test`");
    let expected = [
        format!(
            "3: {ana}: `birthdate` must be a date as YYYY-MM-DD, 0000-MM-DD without the year, or \
             YYYY alone"
        ),
        format!(
            "4: {ana}: `picture` must be a URL that begins with https:// or http:// and names a \
             host, but no user"
        ),
        format!("6: {ana}: the organization `acme` has no role `owner`"),
        format!("7: {ana}: there is no organization `nowhere`"),
        format!("11: {eva}: `given_name` contains a control character"),
        format!("12: {eva}: `address` contains a control character"),
        format!("13: {eva}: `phone_number_verified` says so of a phone_number, and there is none"),
        format!("14: {eva}: the organization `Bad` has no role `s`"),
        "16: organization `Bad`: a slug is made of a-z, 0-9 and inner hyphens, at most 63 of them"
            .to_owned(),
    ];
    assert_eq!(shop.refused(text).await, expected);
    shop.bench.close().await;
}

#[tokio::test]
async fn a_role_that_the_file_itself_makes_can_be_held() {
    let shop = Shop::open().await;
    let text = "[[account]]\nemail = \"eva@acme.test\"\nmemberships = [{ organization = \"new\", \
                roles = [\"r\"] }]\n[[organization]]\nslug = \"new\"\nrole = [{ name = \"r\" }]\n";
    shop.apply(text).await.unwrap();
    // The organization drops it; the file that made the account still says what is.
    shop.apply("[[organization]]\nslug = \"new\"\nrole = []\n").await.unwrap();
    let account = text.split("[[organization]]").next().unwrap();
    assert!(shop.apply(account).await.unwrap().changes_nothing());
    shop.bench.close().await;
}

#[tokio::test]
async fn no_account_becomes_a_member_of_what_changed_since_it_was_planned() {
    let shop = Shop::with(EXAMPLE).await;
    let eva = "[[account]]\nemail = \"eva@acme.test\"\npassword = \"a horse of her own\"\n\
               memberships = [{ organization = \"acme\", roles = [\"clerk\"] }]\n";
    let parsed = file(eva);
    let (_, multi_commit) = plan(&shop.bench, &parsed).await.unwrap();
    let without = "[[organization]]\nslug = \"acme\"\nrole = [{ name = \"manager\" }]\n";
    shop.apply(without).await.unwrap();
    assert_eq!(multi_commit.commit().await, Err(CommitError::Unmet { kind: "organization" }));
    assert_eq!(shop.account("eva@acme.test").await, None);
    let refusal = "4: account `eva@acme.test`: the organization `acme` has no role `clerk`";
    assert_eq!(shop.refused(eva).await, [refusal]);
    shop.bench.close().await;
}

/// A file that gives Ana one membership, and takes every other away.
fn only(slug: &str) -> String {
    ana(&format!("memberships = [{{ organization = \"{slug}\" }}]"))
}

#[tokio::test]
async fn of_two_files_that_replace_the_same_memberships_one_is_planned_again() {
    let shop = Shop::with(&format!("{EXAMPLE}[[organization]]\nslug = \"one\"\n")).await;
    shop.apply("[[organization]]\nslug = \"two\"\n").await.unwrap();
    shop.apply(&ana("memberships = []")).await.unwrap();
    let (one, two) = (file(&only("one")), file(&only("two")));
    let (_, first) = plan(&shop.bench, &one).await.unwrap();
    let (_, second) = plan(&shop.bench, &two).await.unwrap();
    assert_eq!(first.commit().await, Ok(()));
    assert_eq!(second.commit().await, Err(CommitError::Conflict));
    let other = workbench(&shop.world).await.unwrap();
    for _ in 0..10 {
        shop.apply(&ana("memberships = []")).await.unwrap();
        let (first, second) = tokio::join!(
            apply(&shop.bench, &one, false, &|_, _| {}),
            apply(&other, &two, false, &|_, _| {}),
        );
        first.unwrap();
        second.unwrap();
        let mut enabled = Vec::new();
        for slug in ["acme", "one", "two"] {
            let membership = shop.membership(slug).await;
            enabled.extend(membership.filter(|known| known.enabled).map(|_| slug));
        }
        assert_eq!(enabled.len(), 1, "the last file alone says what there is: {enabled:?}");
    }
    for bench in [shop.bench, other] {
        bench.close().await;
    }
}

#[tokio::test]
async fn of_two_who_create_the_same_account_both_succeed_and_there_is_one() {
    let shop = Shop::with(EXAMPLE).await;
    let other = workbench(&shop.world).await.unwrap();
    let eva = |spelling: &str| {
        file(&format!(
            "[[account]]\nemail = \"{spelling}\"\npassword = \"a horse of her own\"\n\
             memberships = [{{ organization = \"acme\", roles = [\"clerk\"] }}]\n"
        ))
    };
    let (one, two) = (eva("eva@acme.test"), eva("EVA@acme.test"));
    let (first, second) = tokio::join!(
        apply(&shop.bench, &one, false, &|_, _| {}),
        apply(&other, &two, false, &|_, _| {}),
    );
    let outcomes = [lines(&first.unwrap()), lines(&second.unwrap())].concat();
    let created = outcomes.iter().filter(|line| line.starts_with("+ created")).count();
    assert_eq!(created, 1, "{outcomes:?}");
    let mut stranger = shop.world.stranger().await;
    assert_eq!(stranger.count("entities WHERE kind = 'account'").await, 2);
    assert_eq!(stranger.count("entities WHERE kind = 'membership'").await, 2);
    assert!(is_her_password(&shop.account("eva@acme.test").await.unwrap(), b"a horse of her own"));
    for bench in [shop.bench, other] {
        bench.close().await;
    }
}
