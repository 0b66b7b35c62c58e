//! An installation whose signing keys lie in a token of `SoftHSM` of Debian, by the binary that an operator runs.
//!
//! Where it is missing the tests say so and pass; `PORTEIRO_TEST_REQUIRE_PROGRAMS=1` makes that a failure.

use crate::{
    binary::{Installation, Serving, porteiro, said},
    outside::Outside,
    programs::there_are,
    support::{ACME, SECRET},
};
use serde_json::Value;
use std::{
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Output},
};

pub const PIN: &str = "7410-pin-of-the-user";

/// An installation whose signing keys lie in a token.
pub struct Scene {
    pub installation: Installation,
    variables: Vec<(&'static str, String)>,
}

impl Scene {
    /// Makes an empty token, if there is what makes one.
    pub async fn new() -> Option<Self> {
        if !there_are(&["softhsm2-util"]) {
            return None;
        }
        let installation = Installation::new().await;
        let path = |name: &str| installation.path().join(name);
        std::fs::create_dir(path("tokens")).unwrap();
        let folder = path("tokens").display().to_string();
        let settings = format!("directories.tokendir = {folder}\nlog.level = ERROR\n");
        std::fs::write(path("softhsm2.conf"), settings).unwrap();
        write_pin(&path("pin"), PIN);
        let text = |path: PathBuf| path.display().to_string();
        let variables = vec![
            ("SOFTHSM2_CONF", text(path("softhsm2.conf"))),
            ("PORTEIRO_KEYS__DIR", text(path("hardware"))),
            ("PORTEIRO_KEYS__PKCS11_MODULE", "/usr/lib/softhsm/libsofthsm2.so".to_owned()),
            ("PORTEIRO_KEYS__PKCS11_TOKEN", "porteiro".to_owned()),
            ("PORTEIRO_KEYS__PKCS11_PIN_FILE", text(path("pin"))),
        ];
        let scene = Self { installation, variables };
        let made = Command::new("softhsm2-util")
            .args(["--init-token", "--free", "--label", "porteiro"])
            .args(["--pin", PIN, "--so-pin", "of-the-officer"])
            .envs(scene.variables.iter().cloned())
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", said(&made));
        Some(scene)
    }

    /// The same with a token that misbehaves where it is told to: `tests/pkcs11/module.c` says how.
    pub async fn misbehaving() -> Option<Self> {
        if !there_are(&["cc"]) {
            return None;
        }
        let mut scene = Self::new().await?;
        let (folder, module) = (scene.told(""), scene.installation.path().join("module.so"));
        std::fs::create_dir(&folder).unwrap();
        let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/pkcs11/module.c");
        let mut compiler = Command::new("cc");
        compiler.args(["-std=c11", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o"]);
        let made = compiler.arg(&module).arg(source).arg("-ldl").output().unwrap();
        assert!(made.status.success(), "{}", said(&made));
        let module = module.display().to_string();
        for (name, value) in &mut scene.variables {
            if *name == "PORTEIRO_KEYS__PKCS11_MODULE" {
                value.clone_from(&module);
            }
        }
        scene.variables.push(("MODULE_FOLDER", folder.display().to_string()));
        Some(scene)
    }

    fn told(&self, name: &str) -> PathBuf {
        self.installation.path().join("module").join(name)
    }

    /// Has the token misbehave in this way.
    pub fn misbehave(&self, way: &str) {
        std::fs::write(self.told(way), "").unwrap();
    }

    pub fn behave(&self, way: &str) {
        std::fs::remove_file(self.told(way)).unwrap();
    }

    /// Says which calls the module has had since it was asked last.
    pub fn calls(&self) -> Vec<String> {
        let calls = std::fs::read_to_string(self.told("calls")).unwrap_or_default();
        let _ = std::fs::remove_file(self.told("calls"));
        calls.lines().map(str::to_owned).collect()
    }

    pub fn run_with(&self, more: &[(&str, &str)], arguments: &[&str]) -> Output {
        let arguments = [&["--config", "porteiro.toml"], arguments].concat();
        let mut command = porteiro(self.installation.path(), &arguments);
        command.envs(self.variables.iter().cloned()).envs(more.iter().copied());
        let output = command.output().unwrap();
        let all = [output.stdout.clone(), output.stderr.clone()].concat();
        assert!(!String::from_utf8_lossy(&all).contains(PIN), "{arguments:?} tells the PIN");
        output
    }

    #[track_caller]
    pub fn succeed(&self, arguments: &[&str]) -> String {
        let output = self.run_with(&[], arguments);
        let told = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(output.status.success(), "{arguments:?}: {told}{}", said(&output));
        told
    }

    /// Makes the keys and knows Acme.
    pub fn install(&self) -> String {
        let made = self.succeed(&["keys", "generate"]);
        std::fs::write(self.installation.path().join("file.toml"), acme()).unwrap();
        self.succeed(&["apply", "file.toml"]);
        made
    }

    pub fn serve(&self) -> (Serving, Outside) {
        let variables: Vec<(&str, &str)> =
            self.variables.iter().map(|(name, value)| (*name, value.as_str())).collect();
        let serving = self.installation.serve_with(&variables);
        (serving, Outside { address: self.installation.address })
    }

    pub fn keys(&self) -> Vec<Value> {
        let listed = self.succeed(&["keys", "list", "--json"]);
        listed.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

pub fn write_pin(path: &Path, pin: &str) {
    std::fs::write(path, format!("{pin}\n")).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).unwrap();
}

/// Acme, and a client for each algorithm that ID tokens are signed with.
fn acme() -> String {
    let client = |(id, algorithm): (&str, &str)| {
        format!(
            "[[client]]\nclient_id = \"{id}\"\nclient_secret = \"{SECRET}\"\ntrusted = true\n\
             redirect_uris = [\"https://{id}.example.com/cb\"]\n\
             id_token_signed_response_alg = \"{algorithm}\"\n"
        )
    };
    let clients = [("ps", "PS256"), ("es", "ES256"), ("ed", "EdDSA")].map(client);
    format!("{ACME}\n{}", clients.concat())
}
