//! A server that does exactly what a test wants, on a loopback port of its own.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncRead, AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

pub(super) struct Peer {
    pub(super) address: SocketAddr,
    heard: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Peer {
    /// Hears a request, writes `answer` to it, and closes.
    pub(super) async fn answering(answer: impl Into<Vec<u8>>) -> Self {
        let answer = Arc::new(answer.into());
        Self::behaving(move |mut stream| {
            let answer = answer.clone();
            async move {
                let _ = stream.write_all(&answer).await;
            }
        })
        .await
    }

    /// Hears a request, then leaves the connection to `behaviour`.
    pub(super) async fn behaving<B, F>(behaviour: B) -> Self
    where
        B: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        Self::listening(listener, behaviour)
    }

    pub(super) fn listening<B, F>(listener: TcpListener, behaviour: B) -> Self
    where
        B: Fn(TcpStream) -> F + Send + 'static,
        F: Future<Output = ()> + Send,
    {
        let address = listener.local_addr().unwrap();
        let heard = Arc::new(Mutex::new(Vec::new()));
        let notes = heard.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let request = hear(&mut stream).await;
                notes.lock().unwrap().push(request);
                behaviour(stream).await;
            }
        });
        Self { address, heard, _tasks: tasks }
    }

    pub(super) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(super) fn heard(&self) -> Vec<String> {
        self.heard.lock().unwrap().clone()
    }
}

/// Reads one request, with as much body as it announces.
pub(super) async fn hear(stream: &mut (impl AsyncRead + Unpin)) -> String {
    let mut request = String::new();
    let mut byte = [0];
    while !request.ends_with("\r\n\r\n") && stream.read(&mut byte).await.is_ok_and(|read| read > 0)
    {
        request.push(char::from(byte[0]));
    }
    let length = request.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
    stream.read_exact(&mut body).await.unwrap();
    request + &String::from_utf8(body).unwrap()
}
