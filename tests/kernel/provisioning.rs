//! Provisioning files over a real store: whole or not at all, and the second time nothing.

mod accounts;
mod beside;
mod passwords;

use crate::support::{World, make_keys};
use porteiro::{
    crypto::{
        SystemDice,
        keys::{DevKeys, Folder},
        password::PasswordCost,
    },
    domain::{
        Clock as _, Fingerprint, Machine,
        client::{Client, KnownClient},
        organization::{self, Organization},
        resource::{DETAIL_OWNERS, Resource, SCOPE_OWNERS},
    },
    provisioning::{ApplyError, File, Plan, apply},
    system::{SystemError, Workbench},
};
use std::sync::Arc;

const INVOICES: &str = "https://api.example.com/invoices";
const SECRET: &str = "correct-horse-battery-staple-0123456789";

const EXAMPLE: &str = r#"
[[resource]]
identifier = "https://api.example.com/invoices"
name = "Invoices"
scopes = ["invoices:read", "invoices:write", "invoices:approve"]
[[resource.authorization_details]]
type = "payment_initiation"
schema = { type = "object", required = ["amount"] }
permission = "invoices:approve"

[[organization]]
slug = "acme"
name = "Acme Lda"
enabled = true
  [[organization.role]]
  name = "clerk"
  permissions = ["invoices:read"]
  [[organization.role]]
  name = "manager"
  permissions = ["invoices:*"]

[[account]]
email = "ana@acme.test"
email_verified = true
password = "correct horse battery staple"
totp_secret = "JBSWY3DPEHPK3PXP"
phone_number = "+351910000000"
given_name = "Ana"
memberships = [{ organization = "acme", roles = ["manager"] }]

[[client]]
client_id = "billing"
client_secret = "correct-horse-battery-staple-0123456789"
organization = "acme"
roles = ["clerk"]
trusted = true
software_id = "billing"
introspects = ["https://api.example.com/invoices"]
scope = "openid invoices:read"
"#;

/// An installation with keys, and a workbench on it.
struct Shop {
    world: World,
    bench: Workbench,
}

impl Shop {
    async fn open() -> Self {
        let world = World::new().await;
        make_keys(&world.folder().join("keys"), world.clock.now());
        let bench = workbench(&world).await.unwrap();
        Self { world, bench }
    }

    async fn with(text: &str) -> Self {
        let shop = Self::open().await;
        shop.apply(text).await.unwrap();
        shop
    }

    async fn apply(&self, text: &str) -> Result<Plan, ApplyError> {
        apply(&self.bench, &file(text), false, &|_, _| {}).await
    }

    async fn dry_run(&self, text: &str) -> Result<Plan, ApplyError> {
        apply(&self.bench, &file(text), true, &|_, _| {}).await
    }

    /// Applies a file that must be refused, and says why it was.
    async fn refused(&self, text: &str) -> Vec<String> {
        let rows = self.rows().await;
        let refused = self.apply(text).await;
        assert_eq!(self.rows().await, rows, "nothing of it was applied");
        let Err(ApplyError::Refused(complaints)) = refused else { panic!("{refused:?}") };
        complaints.iter().map(|c| format!("{}: {}", c.line, c.text)).collect()
    }

    async fn load<M: Machine>(&self, id: &str) -> M {
        let row = self.bench.store().load(M::KIND, id).await.unwrap();
        row.map(|row| serde_json::from_str(&row.state).unwrap()).unwrap_or_default()
    }

    async fn client(&self, id: &str) -> KnownClient {
        self.load::<Client>(id).await.known().unwrap().clone()
    }

    async fn organization(&self, slug: &str) -> organization::Known {
        self.load::<Organization>(slug).await.known().unwrap().clone()
    }

    async fn owner(&self, space: &str, name: &str) -> Option<String> {
        self.bench.store().find(space, name).await.unwrap().map(|(_, id)| id)
    }

    /// How many rows there are of everything that applying a file could write.
    async fn rows(&self) -> [i64; 4] {
        let mut stranger = self.world.stranger().await;
        let mut rows = [0; 4];
        for (place, table) in ["entities", "names", "listings", "security_log"].iter().enumerate() {
            rows[place] = stranger.count(table).await;
        }
        rows
    }
}

async fn workbench(world: &World) -> Result<Workbench, SystemError> {
    let folder = Folder::load(&world.folder().join("keys"), DevKeys::Refused).unwrap();
    let bench =
        Workbench::open(&world.url, &folder, world.clock.clone(), Arc::new(SystemDice)).await?;
    Ok(bench.with_password_cost(PasswordCost::CHEAP))
}

fn file(text: &str) -> File {
    File::parse(text).unwrap_or_else(|complaints| panic!("{complaints:?}"))
}

fn lines(plan: &Plan) -> Vec<String> {
    plan.steps.iter().map(ToString::to_string).collect()
}

#[tokio::test]
async fn a_whole_file_is_applied_and_the_second_time_nothing() {
    let shop = Shop::open().await;
    let created = lines(&shop.apply(EXAMPLE).await.unwrap());
    let expected = [
        format!("+ created resource {INVOICES}"),
        "+ created organization acme".to_owned(),
        "+ created account ana@acme.test".to_owned(),
        "+ created client billing".to_owned(),
    ];
    assert_eq!(created, expected);
    let billing = shop.client("billing").await;
    assert_eq!(billing.secret, Some(Fingerprint::of(SECRET.as_bytes())));
    assert_eq!((billing.organization.as_deref(), billing.trusted), (Some("acme"), true));
    assert_eq!(shop.organization("acme").await.roles.len(), 2);
    assert_eq!(shop.owner(SCOPE_OWNERS, "invoices:write").await.as_deref(), Some(INVOICES));
    assert_eq!(shop.owner(DETAIL_OWNERS, "payment_initiation").await.as_deref(), Some(INVOICES));
    let (rows, report) = (shop.rows().await, shop.bench.store().report());
    let mut versions = Vec::new();
    for (kind, id) in [("resource", INVOICES), ("organization", "acme"), ("client", "billing")] {
        versions.push((kind, id, shop.bench.store().version(kind, id).await.unwrap()));
    }
    let again = shop.apply(EXAMPLE).await.unwrap();
    assert!(again.changes_nothing() && again.steps.len() == 4, "{again:?}");
    assert_eq!(lines(&again)[3], "= unchanged client billing");
    assert_eq!(shop.rows().await, rows);
    assert_eq!(shop.bench.store().report().groups, report.groups, "no transaction was begun");
    for (kind, id, version) in versions {
        assert_eq!(shop.bench.store().version(kind, id).await.unwrap(), version, "{kind}");
    }
    assert!(shop.bench.store().verify_log(&[]).await.unwrap().findings.is_empty());
    let stored = shop.world.stranger().await.count("entities WHERE state LIKE '%horse%'").await;
    assert_eq!(stored, 0, "secrets are stored hashed");
    shop.bench.close().await;
}

#[tokio::test]
async fn a_list_given_replaces_the_list_held_and_the_rest_stays() {
    let shop = Shop::with(EXAMPLE).await;
    let text = format!(
        "[[resource]]\nidentifier = \"{INVOICES}\"\nscopes = [\"invoices:read\", \"invoices:send\"]\n\
         [[organization]]\nslug = \"acme\"\nname = \"Acme\"\nrole = [{{ name = \"clerk\", \
         permissions = [] }}]\n[[client]]\nclient_id = \"billing\"\nroles = []\nscope = \"invoices:send\"\n"
    );
    let planned = shop.dry_run(&text).await.unwrap();
    let plan = shop.apply(&text).await.unwrap();
    assert_eq!(plan.removals, planned.removals, "a dry run says the same");
    let removed: Vec<String> = plan.removals.iter().map(ToString::to_string).collect();
    assert_eq!(removed, ["- removed role manager of acme (held by 1 member, 0 clients)"]);
    let changed = lines(&plan);
    let expected = [
        format!("~ changed resource {INVOICES} (scopes)"),
        "~ changed organization acme (name, role)".to_owned(),
        "~ changed client billing (scope, roles)".to_owned(),
    ];
    assert_eq!(changed, expected);
    let resource = shop.load::<Resource>(INVOICES).await;
    assert_eq!(resource.known().unwrap().name.as_deref(), Some("Invoices"));
    assert_eq!(shop.owner(SCOPE_OWNERS, "invoices:write").await, None);
    assert!(shop.owner(SCOPE_OWNERS, "invoices:send").await.is_some());
    assert!(shop.owner(DETAIL_OWNERS, "payment_initiation").await.is_some());
    let billing = shop.client("billing").await;
    assert!(billing.roles.is_empty() && billing.trusted && billing.secret.is_some());
    assert_eq!(shop.organization("acme").await.roles.len(), 1);
    // What a file does not name stays, whatever else it holds.
    shop.apply("[[organization]]\nslug = \"other\"\n").await.unwrap();
    assert_eq!(shop.client("billing").await, billing);
    assert_eq!(shop.world.stranger().await.count("entities WHERE kind = 'client'").await, 1);
    shop.bench.close().await;
}

#[tokio::test]
async fn one_bad_client_and_nothing_of_the_file_is_applied() {
    let shop = Shop::open().await;
    let bad = "[[client]]\nclient_id = \"web\"\nredirect_uris = [\"http://evil.example/\"]\n\
               grant_types = [\"password\"]\n";
    let said = shop.refused(&format!("{EXAMPLE}{bad}")).await;
    let line = EXAMPLE.lines().count() + 3;
    assert_eq!(said.len(), 2, "{said:?}");
    let begins = |place: usize, with: String| said[place].starts_with(&with);
    assert!(begins(0, format!("{line}: client `web`: `redirect_uris` contains")), "{said:?}");
    assert!(begins(1, format!("{}: client `web`: `grant_types` contains", line + 1)), "{said:?}");
    shop.bench.close().await;
}

#[tokio::test]
async fn everything_that_is_wrong_is_said_at_once() {
    let shop = Shop::with(EXAMPLE).await;
    let text = "[[resource]]\nidentifier = \"nowhere\"\nscopes = [\"x:read\"]\n[[resource]]\n\
        identifier = \"https://two.example/\"\nscopes = [\n\"accounts:read\"]\n[[organization]]\n\
        slug = \"Bad\"\n[[organization.role]]\nname = \"r\"\n[[organization]]\nslug = \"good\"\n\
        [[organization.role]]\nname = \"a\\u001bb\"\n[[client]]\nclient_id = \"a b\"\n[[client]]\n\
        client_id = \"b\"\norganization = \"nobody\"\nclient_secret = \"correct-horse-battery-staple-0123456789\"\n\
        [[client]]\nclient_id = \"c\"\norganization = \"Bad\"\nroles = [\"r\",\n\"s\"]\n\
        token_endpoint_auth_method = \"private_key_jwt\"\njwks_uri = \"https://c.example/jwks\"\n\
        [[client]]\nclient_id = \"d\"\nscope = \"openid x:read z:read invoices:read\"\n\
        introspects = [\"nowhere\",\n\"https://api.example.com/invoices\", \"elsewhere\"]\n\
        [[client]]\nclient_id = \"e\"\ntoken_endpoint_auth_method = \"client_secret_basic\"\n\
        [[client]]\nclient_id = \"f\"\ngrant_types = [\"authorization_code\"]\n";
    let expected = [
        "2: resource `nowhere`: a resource is identified by https://… or http://… with a host \
         in lower case and neither credentials nor fragment, or by urn:…, at most 512 characters \
         of ASCII",
        "7: resource `https://two.example/`: `accounts:read` begins with a name that is Porteiro's own",
        "9: organization `Bad`: a slug is made of a-z, 0-9 and inner hyphens, at most 63 of them",
        "15: organization `good`: `a\\u{1b}b` is no role name: a-z, 0-9, then also _ and -, at most 63 of them",
        "17: client `a b`: a client_id is made of 1 to 255 printable ASCII characters without spaces",
        "20: client `b`: there is no organization `nobody`",
        "26: client `c`: the organization has no role `s`",
        "31: client `d`: `scope` contains `z:read`, which no resource owns",
        "33: client `d`: there is no resource `elsewhere`",
        "36: client `e`: a client that authenticates by a secret needs one",
        "37: client `f`: `redirect_uris` is needed for the grant `authorization_code`",
    ];
    assert_eq!(shop.refused(text).await, expected);
    shop.bench.close().await;
}

#[tokio::test]
async fn a_client_that_nothing_could_be_signed_for_is_refused() {
    let Shop { world, bench } = Shop::with(EXAMPLE).await;
    bench.close().await;
    for file in std::fs::read_dir(world.folder().join("keys")).unwrap() {
        let file = file.unwrap();
        if file.file_name().to_string_lossy().starts_with("eddsa-") {
            std::fs::remove_file(file.path()).unwrap();
        }
    }
    let bench = workbench(&world).await.unwrap();
    let shop = Shop { world, bench };
    let signed = |algorithm: &str| {
        format!(
            "[[client]]\nclient_id = \"billing\"\n\
             id_token_signed_response_alg = \"{algorithm}\"\n\
             userinfo_signed_response_alg = \"{algorithm}\"\n\
             authorization_signed_response_alg = \"{algorithm}\"\n"
        )
    };
    let no_key = |line, field| {
        format!(
            "{line}: client `billing`: `{field}` is `EdDSA`, and the keys folder has no key for it"
        )
    };
    let expected = [
        no_key(3, "id_token_signed_response_alg"),
        no_key(4, "userinfo_signed_response_alg"),
        no_key(5, "authorization_signed_response_alg"),
    ];
    assert_eq!(shop.refused(&signed("EdDSA")).await, expected);
    // The RSA key signs both.
    for algorithm in ["RS256", "PS256", "ES256"] {
        shop.apply(&signed(algorithm)).await.unwrap();
    }
    shop.bench.close().await;
}

#[tokio::test]
async fn a_suspended_organization_fails_the_file_unless_the_file_enables_it() {
    let shop = Shop::with(EXAMPLE).await;
    let suspend = "[[organization]]\nslug = \"acme\"\nenabled = false\n";
    shop.apply(suspend).await.unwrap();
    assert!(shop.apply(suspend).await.unwrap().changes_nothing());
    let rename = "[[organization]]\nslug = \"acme\"\nname = \"Acme SA\"\n";
    assert_eq!(
        shop.refused(rename).await,
        ["1: organization `acme`: it is suspended and accepts no change unless the file also \
          enables it"]
    );
    let retire = "[[client]]\nclient_id = \"billing\"\ntrusted = false\n";
    let refusal = "client `billing`: the organization `acme` is suspended and accepts no change";
    assert_eq!(shop.refused(retire).await, [format!("1: {refusal}")]);
    let newcomer = format!(
        "[[client]]\nclient_id = \"new\"\nclient_secret = \"{SECRET}\"\norganization = \"acme\"\n"
    );
    assert_eq!(
        shop.refused(&newcomer).await,
        ["4: client `new`: the organization `acme` is \
         suspended and accepts no change"]
    );
    let enable = format!("{rename}enabled = true\n{retire}{newcomer}");
    shop.apply(&enable).await.unwrap();
    assert!(!shop.client("billing").await.trusted);
    assert_eq!(shop.organization("acme").await.name, "Acme SA");
    // A file that suspends an organization cannot change its clients either.
    let both = format!("{suspend}[[client]]\nclient_id = \"billing\"\ntrusted = true\n");
    assert_eq!(shop.refused(&both).await, [format!("4: {refusal}")]);
    shop.bench.close().await;
}

#[tokio::test]
async fn a_scope_that_another_resource_owns_is_refused_naming_both() {
    let shop = Shop::with(EXAMPLE).await;
    let other = "[[resource]]\nidentifier = \"https://other.example/\"\nscopes = [\"other:read\",\n\
                 \"invoices:read\"]\nauthorization_details = [\n{ type = \"payment_initiation\", \
                 schema = {} }]\n";
    let thing = |line, what: &str| {
        format!("{line}: resource `https://other.example/`: the {what} belongs to `{INVOICES}`")
    };
    let refused = [thing(4, "scope `invoices:read`"), thing(6, "type `payment_initiation`")];
    assert_eq!(shop.refused(other).await, refused);
    // Unless the same file takes them away there, whichever comes first in it.
    let without = format!(
        "[[resource]]\nidentifier = \"{INVOICES}\"\nscopes = [\"invoices:write\"]\n\
         authorization_details = []\n"
    );
    shop.apply(&format!("{other}{without}")).await.unwrap();
    let owner = shop.owner(SCOPE_OWNERS, "invoices:read").await;
    assert_eq!(owner.as_deref(), Some("https://other.example/"));
    // What a file takes away, its clients cannot ask for.
    let taken = format!("[[resource]]\nidentifier = \"{INVOICES}\"\nscopes = []\n");
    let client = "[[client]]\nclient_id = \"c\"\nscope = \"invoices:write invoices:read\"\n";
    let said = shop.refused(&format!("{taken}{client}")).await;
    assert_eq!(said, ["6: client `c`: `scope` contains `invoices:write`, which no resource owns"]);
    shop.bench.close().await;
}
