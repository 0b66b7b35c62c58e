//! A server as an operator runs it, of which the attacks know the address only.

use crate::{
    Outcome,
    process::{Process, free_port, run},
};
use std::{fs, net::SocketAddr, path::PathBuf, process::Command, time::Duration};
use tokio::net::TcpStream;

pub const SECRET: &str = "a-secret-of-more-than-thirty-two-characters";
pub const REDIRECT_URI: &str = "https://web.example.com/cb";

const SCENE: &str = r#"
[[client]]
client_id = "machine"
client_secret = "a-secret-of-more-than-thirty-two-characters"
grant_types = ["client_credentials"]

[[client]]
client_id = "web"
client_secret = "a-secret-of-more-than-thirty-two-characters"
redirect_uris = ["https://web.example.com/cb"]
"#;

/// Killed when it is dropped: after an attack there is nothing left to learn from a drain.
pub struct Server {
    pub address: SocketAddr,
    process: Process,
    folder: tempfile::TempDir,
}

impl Server {
    /// Starts one behind a proxy that ends TLS, with more configuration; its soft limit of open
    /// files is the 1,024 that many systems have.
    pub async fn start(top: &str, more: &str) -> Outcome<Self> {
        Self::start_with(top, more, SCENE).await
    }

    /// The same with another provisioning file.
    pub async fn start_with(top: &str, more: &str, scene: &str) -> Outcome<Self> {
        let folder = tempfile::tempdir()?;
        let binary = env!("CARGO_BIN_EXE_porteiro");
        let (port, operator) = (free_port()?, free_port()?);
        let text = format!(
            "issuer = \"https://id.example.com\"\nlisten = \"127.0.0.1:{port}\"\n\
             public_proxy = true\n{top}\n[store]\nurl = \"sqlite://porteiro.db\"\n\
             [keys]\ndir = \"keys\"\n[operator]\nlisten = \"127.0.0.1:{operator}\"\n{more}\n"
        );
        fs::write(folder.path().join("porteiro.toml"), text)?;
        fs::write(folder.path().join("scene.toml"), scene)?;
        let porteiro = || {
            let mut command = Command::new(binary);
            command.current_dir(folder.path());
            command
        };
        run(porteiro().args(["keys", "generate", "--keys", "keys"]))?;
        run(porteiro().args(["apply", "scene.toml", "--config", "porteiro.toml"]))?;
        let mut serve = Command::new("sh");
        let line = format!("ulimit -S -n 1024; exec {binary} serve --config porteiro.toml");
        serve.args(["-c", &line]).env("PORTEIRO_LOG", "warn").current_dir(folder.path());
        let mut process = Process::spawn(serve, &folder.path().join("porteiro.log"))?;
        let address = SocketAddr::from(([127, 0, 0, 1], port));
        for _ in 0..600 {
            process.check()?;
            if TcpStream::connect(address).await.is_ok() {
                return Ok(Self { address, process, folder });
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err("the server never listened".into())
    }

    /// The file of its store.
    pub fn database(&self) -> PathBuf {
        self.folder.path().join("porteiro.db")
    }

    /// The most memory that was ever resident, in MB.
    pub fn peak(&self) -> Outcome<f64> {
        Ok(self.process.memory("VmHWM:")? / 1e6)
    }

    /// The memory that is resident now, in MB.
    pub fn resident(&self) -> Outcome<f64> {
        Ok(self.process.resident()? / 1e6)
    }
}
