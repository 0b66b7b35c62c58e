//! A server that clients name in their registration: https, on loopback, with an authority of its own.

use crate::site::acceptor;
use porteiro::{
    client_documents::Fetcher,
    outbound::{Addresses, Policy, Resolver},
};
use std::{
    collections::BTreeMap,
    net::IpAddr,
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
};

/// The hosts that lead to it.
pub const HOSTS: [&str; 2] = ["sector.example", "other.example"];

type Pages = Arc<Mutex<BTreeMap<String, (u16, String)>>>;

/// A server with pages that a test writes.
pub struct SectorHost {
    port: u16,
    pages: Pages,
    authority: String,
    _tasks: JoinSet<()>,
}

impl SectorHost {
    pub async fn open() -> Self {
        let (acceptor, authority) = acceptor(HOSTS.map(str::to_owned).to_vec());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let pages = Pages::default();
        let mut tasks = JoinSet::new();
        let shown = pages.clone();
        tasks.spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let Ok(mut stream) = acceptor.accept(stream).await else { continue };
                let (mut head, mut byte) = (String::new(), [0]);
                while !head.ends_with("\r\n\r\n")
                    && stream.read(&mut byte).await.is_ok_and(|read| read > 0)
                {
                    head.push(char::from(byte[0]));
                }
                let path = head.split(' ').nth(1).unwrap_or_default().to_owned();
                let page = shown.lock().unwrap().get(&path).cloned();
                let (status, body) = page.unwrap_or((404, String::new()));
                let answer = format!(
                    "HTTP/1.1 {status} X\r\ncontent-length: {}\r\n\
                     location: /list\r\nconnection: close\r\n\r\n{body}",
                    body.len()
                );
                let _ = stream.write_all(answer.as_bytes()).await;
                let _ = stream.shutdown().await;
            }
        });
        Self { port, pages, authority, _tasks: tasks }
    }

    /// What finds it.
    pub fn fetcher(&self) -> Fetcher {
        let extra_ca = Some(self.authority.clone().into_bytes());
        let policy = Policy { allow_private_networks: true, extra_ca, ..Policy::default() };
        // Longer than an answer on this machine takes, however busy it is.
        Fetcher::within(Duration::from_mins(1), policy, Arc::new(Names)).unwrap()
    }

    /// Writes a page, and returns its address at one of the hosts.
    #[expect(clippy::needless_pass_by_value, reason = "what a test says stands where it is said")]
    pub fn page(&self, path: &str, status: u16, body: impl ToString) -> String {
        let page = (status, body.to_string());
        self.pages.lock().unwrap().insert(path.to_owned(), page);
        self.at(HOSTS[0], path)
    }

    pub fn at(&self, host: &str, path: &str) -> String {
        format!("https://{host}:{}{path}", self.port)
    }
}

/// Every name leads to this machine, but one that leads where clouds keep their credentials.
struct Names;

impl Resolver for Names {
    fn addresses_of<'a>(&'a self, host: &'a str) -> Addresses<'a> {
        let near = IpAddr::from([127, 0, 0, 1]);
        let found = if host == "metadata.example" {
            vec![near, IpAddr::from([169, 254, 169, 254])]
        } else {
            vec![near]
        };
        Box::pin(async move { Ok(found) })
    }
}
