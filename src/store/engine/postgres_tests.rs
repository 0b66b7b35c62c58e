use super::*;
use crate::{clock::Stopwatch, store::sql};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
    time::sleep,
};

/// A server of PostgreSQL's protocol that takes a while to let a client in, and never answers a query.
async fn silent_server(until_ready: Duration, tasks: &mut JoinSet<()>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tasks.spawn(async move {
        let mut clients = Vec::new();
        while let Ok((mut client, _)) = listener.accept().await {
            let mut greeting = [0; 1_024];
            let _ = client.read(&mut greeting).await;
            sleep(until_ready).await;
            // AuthenticationOk, then ReadyForQuery (idle).
            let ready = b"R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I";
            client.write_all(ready).await.unwrap();
            clients.push(client);
        }
    });
    format!("postgres://porteiro@{address}/porteiro?sslmode=disable")
}

#[tokio::test]
async fn a_read_ends_in_time_however_long_it_waited_for_a_connection() {
    let timeout = Duration::from_secs(2);
    let mut tasks = JoinSet::new();
    let url = silent_server(timeout.mul_f32(0.9), &mut tasks).await;
    let readers = Readers { timeout, ..Readers::of(parse(&url).unwrap()) };
    let stopwatch = Stopwatch::start();
    let read = readers.fetch(sql::VERSION, &[Value::Text("kind"), Value::Text("id")]).await;
    assert!(matches!(read, Err(DatabaseError::TimedOut)), "{:?}", read.err());
    let took = stopwatch.elapsed();
    assert!((timeout..timeout.mul_f32(1.7)).contains(&took), "{took:?}");
}
