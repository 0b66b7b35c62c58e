//! Porteiro as an operator sets it up: keys, a configuration, a provisioning file, `serve`.

use super::{DISCOVERY, JWKS, SIGN_IN, Server, Stage, Who, greet, loopback, store::new_schema};
use crate::{
    Outcome,
    connection::fetch,
    process::{Process, free_port, run},
    secured,
};
use rustls::pki_types::CertificateDer;
use std::{
    fmt::Write as _,
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::Command,
};

/// An installation that can be started and stopped any number of times.
pub struct Installation<'a> {
    stage: &'a Stage,
    binary: &'a Path,
    folder: PathBuf,
    pub port: u16,
    pub operator: u16,
    issuer: String,
    /// The address of its rows.
    store: String,
}

impl<'a> Installation<'a> {
    /// Makes the folder, the keys (once a run) and the configuration; the database comes later.
    pub fn prepare(stage: &'a Stage, name: &str) -> Outcome<Self> {
        Self::prepare_with(stage, name, (None, ""))
    }

    /// The same with its rows at this address, if one is given, and with these lifetimes and settings beside the usual ones.
    pub fn prepare_with(
        stage: &'a Stage,
        name: &str,
        (store, settings): (Option<&str>, &str),
    ) -> Outcome<Self> {
        let file = || format!("sqlite://{}", stage.file(name).join("porteiro.db").display());
        let store = store.map_or_else(file, str::to_owned);
        let port = free_port()?;
        let issuer = format!("http://127.0.0.1:{port}");
        let binary = &*stage.binary;
        let installation = Self {
            stage,
            binary,
            folder: stage.file(name),
            port,
            operator: free_port()?,
            issuer,
            store,
        };
        installation.make(settings)?;
        Ok(installation)
    }

    /// The same with its rows at this address.
    pub fn prepare_at(stage: &'a Stage, name: &str, store: &str) -> Outcome<Self> {
        Self::prepare_with(stage, name, (Some(store), ""))
    }

    /// Another node of the same installation, in a folder of its own.
    pub fn join(&self, name: &str) -> Outcome<Self> {
        let node = Self {
            stage: self.stage,
            binary: self.binary,
            folder: self.stage.file(name),
            port: free_port()?,
            operator: free_port()?,
            issuer: self.issuer.clone(),
            store: self.store.clone(),
        };
        node.make("")?;
        Ok(node)
    }

    /// The same known at another port: that of a balancer before its nodes.
    pub fn behind(self, port: u16) -> Outcome<Self> {
        let installation = Self { issuer: format!("http://{}", loopback(port)), ..self };
        installation.configure("")?;
        Ok(installation)
    }

    fn make(&self, lifetimes: &str) -> Outcome<()> {
        fs::create_dir(&self.folder)?;
        make_keys(self.stage)?;
        self.configure(lifetimes)
    }

    fn configure(&self, lifetimes: &str) -> Outcome<()> {
        Ok(fs::write(self.file("porteiro.toml"), self.configuration(lifetimes))?)
    }

    /// Applies the scene to the database.
    pub fn apply(&self) -> Outcome<()> {
        self.apply_with("")
    }

    /// Applies the scene and what is said beside it.
    pub fn apply_with(&self, more: &str) -> Outcome<()> {
        run(&mut self.applying(more)?)?;
        Ok(())
    }

    /// A command that applies the scene and what is said beside it.
    pub fn applying(&self, more: &str) -> Outcome<Command> {
        let file = self.file("scene.toml");
        fs::write(&file, self.provisioning() + more)?;
        let mut command = self.porteiro("apply");
        command.arg(&file).arg("--config").arg(self.file("porteiro.toml"));
        Ok(command)
    }

    /// Applies a change.
    pub fn change(&self, text: &str) -> Outcome<()> {
        let file = self.file("change.toml");
        fs::write(&file, text)?;
        let mut command = self.porteiro("apply");
        run(command.arg(&file).arg("--config").arg(self.file("porteiro.toml")))?;
        Ok(())
    }

    /// Runs a command of the operator.
    pub fn run(&self, command: &str, arguments: &[&str]) -> Outcome<String> {
        let mut command = self.porteiro(command);
        run(command.args(arguments).arg("--config").arg(self.file("porteiro.toml")))
    }

    pub fn database(&self) -> PathBuf {
        self.file("porteiro.db")
    }

    /// Serves, and waits until it answers.
    pub async fn started(&self) -> Outcome<Server> {
        let mut server = greet(Who::Porteiro, self.serve()?, self.port).await?;
        server.operator = Some(loopback(self.operator));
        Ok(server)
    }

    pub fn serve(&self) -> Outcome<Process> {
        let mut command = self.porteiro("serve");
        command.arg("--config").arg(self.file("porteiro.toml"));
        Process::spawn(command, &self.file("porteiro.log"))
    }

    /// Forgets everything that was stored.
    pub fn empty(&self) -> Outcome<()> {
        for entry in fs::read_dir(&self.folder)? {
            let path = entry?.path();
            if path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(DATABASE)) {
                fs::remove_file(path)?;
            }
        }
        Ok(())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn porteiro(&self, subcommand: &str) -> Command {
        let mut command = Command::new(self.binary);
        command.arg(subcommand).current_dir(&self.folder);
        command
    }

    fn configuration(&self, lifetimes: &str) -> String {
        let (port, operator, lifetime) = (self.port, self.operator, self.stage.scene.lifetime);
        let (issuer, store, keys) = (&self.issuer, &self.store, self.stage.keys());
        let keys = keys.display();
        format!(
            r#"issuer = "{issuer}"
listen = "127.0.0.1:{port}"
[store]
url = "{store}"
[keys]
dir = "{keys}"
[operator]
listen = "127.0.0.1:{operator}"
[lifetimes]
access_token = {lifetime}
{lifetimes}# All load comes from one address and one client; neither of the others limits rates.
[limits]
enabled = false
[registration]
open = true
"#
        )
    }

    fn provisioning(&self) -> String {
        let scene = &self.stage.scene;
        let scopes = format!("{:?}", scene.scopes);
        let mut text = format!(
            r#"[[resource]]
identifier = "{resource}"
name = "Invoices"
scopes = {scopes}

[[organization]]
slug = "{organization}"
name = "Acme Lda"
  [[organization.role]]
  name = "{role}"
  permissions = {scopes}

[[client]]
client_id = "{client_id}"
client_secret = "{client_secret}"
client_name = "Billing"
grant_types = ["client_credentials"]
token_endpoint_auth_method = "client_secret_basic"
organization = "{organization}"
roles = ["{role}"]

[[client]]
client_id = "{portal}"
client_secret = "{client_secret}"
client_name = "Portal"
redirect_uris = ["{redirect_uri}"]
grant_types = ["authorization_code", "refresh_token"]
token_endpoint_auth_method = "client_secret_basic"

[[client]]
client_id = "{portal_es256}"
client_secret = "{client_secret}"
client_name = "Portal"
redirect_uris = ["{redirect_uri}"]
grant_types = ["authorization_code", "refresh_token"]
token_endpoint_auth_method = "client_secret_basic"
id_token_signed_response_alg = "ES256"

[[client]]
client_id = "{signer}"
grant_types = ["client_credentials"]
token_endpoint_auth_method = "private_key_jwt"
jwks = {key}
organization = "{organization}"
roles = ["{role}"]

[[client]]
client_id = "{device}"
grant_types = ["urn:ietf:params:oauth:grant-type:device_code", "refresh_token"]
token_endpoint_auth_method = "none"

[[client]]
client_id = "{agent}"
client_secret = "{client_secret}"
grant_types = ["token-exchange", "urn:openid:params:grant-type:ciba"]
"#,
            resource = scene.resource,
            organization = scene.organization,
            role = scene.role,
            client_id = scene.client_id,
            portal = scene.portal,
            portal_es256 = scene.portal_es256,
            redirect_uri = scene.redirect_uri,
            client_secret = scene.client_secret,
            signer = scene.signer,
            key = scene.key.in_toml(),
            device = scene.device,
            agent = scene.agent,
        );
        for email in &scene.people {
            let _ = write!(
                text,
                r#"
[[account]]
email = "{email}"
password = "{password}"
memberships = [{{ organization = "{organization}", roles = ["{role}"] }}]
"#,
                password = scene.password,
                organization = scene.organization,
                role = scene.role,
            );
        }
        text
    }
}

const DATABASE: &[u8] = b"porteiro.db";

/// Has the binary make the keys that Porteiro and the limit sign with.
pub fn make_keys(stage: &Stage) -> Outcome<()> {
    if !stage.keys().exists() {
        let mut command = Command::new(&stage.binary);
        run(command.args(["keys", "generate", "--keys"]).arg(stage.keys()))?;
    }
    Ok(())
}

/// `porteiro dev` in a folder that is empty.
pub fn dev(stage: &Stage, folder: &Path, port: u16) -> Outcome<Process> {
    fs::create_dir(folder)?;
    let mut command = Command::new(&stage.binary);
    command.arg("dev").arg("--listen").arg(format!("127.0.0.1:{port}")).current_dir(folder);
    Process::spawn(command, &folder.with_extension("log"))
}

/// Starts a server with these lifetimes beside the usual ones; returns its database as well.
pub async fn start_with(stage: &Stage, lifetimes: &str) -> Outcome<(Server, PathBuf)> {
    let name = format!("porteiro-{}", free_port()?);
    let installation = Installation::prepare_with(stage, &name, (None, lifetimes))?;
    installation.apply()?;
    let mut server = greet(Who::Porteiro, installation.serve()?, installation.port).await?;
    server.operator = Some(loopback(installation.operator));
    Ok((server, installation.file("porteiro.db")))
}

/// Starts the other build, with the same keys and scene.
pub async fn start_former(stage: &Stage) -> Outcome<Server> {
    let binary = stage.former.as_deref().ok_or("there is no other build")?;
    let name = format!("former-{}", free_port()?);
    let installation = prepare(stage, &name).await?;
    let installation = Installation { binary, ..installation };
    installation.apply()?;
    let mut server = greet(Who::Former, installation.serve()?, installation.port).await?;
    server.operator = Some(loopback(installation.operator));
    Ok(server)
}

async fn prepare<'a>(stage: &'a Stage, name: &str) -> Outcome<Installation<'a>> {
    match &stage.postgres {
        Some(server) => Installation::prepare_at(stage, name, &new_schema(server).await?),
        None => Installation::prepare(stage, name),
    }
}

/// The client in its own name whose tokens are bound to certificates.
pub const BOUND_MACHINE: &str = "billing-bound";

/// A server that speaks TLS, and asks for certificates at another address.
pub struct Secured<'a> {
    pub server: Server,
    pub asking: SocketAddr,
    pub trusted: CertificateDer<'static>,
    /// Has the client whose ID tokens are signed by ES256 demand bound tokens from now on.
    pub bind: Box<dyn Fn() -> Outcome<()> + 'a>,
}

/// Starts one. Both clients of people have ID tokens by ES256.
pub async fn start_secured(stage: &Stage) -> Outcome<Secured<'_>> {
    let own = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
    let installation = Installation::prepare(stage, &format!("porteiro-{}", free_port()?))?;
    let issuer = format!("https://127.0.0.1:{}", installation.port);
    let installation = Installation { issuer, ..installation };
    let asking = loopback(free_port()?);
    fs::write(installation.file("cert.pem"), own.cert.pem())?;
    fs::write(installation.file("key.pem"), own.signing_key.serialize_pem())?;
    let listening =
        format!("[tls]\ncert = \"cert.pem\"\nkey = \"key.pem\"\n[mtls]\nlisten = \"{asking}\"\n");
    fs::write(installation.file("porteiro.toml"), installation.configuration("") + &listening)?;
    let scene = &stage.scene;
    let bound = format!(
        "[[client]]\nclient_id = \"{BOUND_MACHINE}\"\nclient_secret = \"{}\"\n\
         grant_types = [\"client_credentials\"]\ntoken_endpoint_auth_method = \"client_secret_basic\"\n\
         tls_client_certificate_bound_access_tokens = true\norganization = \"{}\"\nroles = [\"{}\"]\n",
        scene.client_secret, scene.organization, scene.role,
    );
    installation.apply_with(&bound)?;
    let portal = format!(
        "[[client]]\nclient_id = \"{}\"\nid_token_signed_response_alg = \"ES256\"\n",
        scene.portal
    );
    installation.change(&portal)?;
    let trusted = own.cert.der().clone();
    let public = loopback(installation.port);
    for address in [public, asking] {
        secured::secure(address, &trusted, None)?;
    }
    let mut server = greet(Who::Porteiro, installation.serve()?, installation.port).await?;
    server.operator = Some(loopback(installation.operator));
    let demanding = format!(
        "[[client]]\nclient_id = \"{}\"\ntls_client_certificate_bound_access_tokens = true\n",
        scene.portal_es256
    );
    let bind = Box::new(move || installation.change(&demanding));
    Ok(Secured { server, asking, trusted, bind })
}

pub async fn start(stage: &Stage) -> Outcome<Server> {
    let name = format!("porteiro-{}", free_port()?);
    let installation = prepare(stage, &name).await?;
    installation.apply()?;
    let mut server = greet(Who::Porteiro, installation.serve()?, installation.port).await?;
    server.operator = Some(loopback(installation.operator));
    for (name, path) in [("discovery", DISCOVERY), ("jwks", JWKS), ("page", SIGN_IN)] {
        fs::write(stage.published(name), fetch(server.address, path).await?)?;
    }
    Ok(server)
}
