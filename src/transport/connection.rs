//! One connection from its first byte to its last.

use super::{
    ConnectionLimits, Peer,
    connection_state::{Advice, Awaiting, ConnectionState, Version},
    door::Door,
    shared::{ConnectionGuard, Shared, Stage},
    stream::Stream,
    streams::{StreamStarter, Streams},
    timeouts::Timeouts,
    wire::Wire,
};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    future::poll_fn,
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
};
use tokio::{net::TcpStream, sync::watch, time::timeout};

/// The least hyper may be given to read heads and bodies into.
const BUFFER: usize = 64 * 1024;

/// How much of a body may be on its way over HTTP/2 before somebody has read it.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;

type Io = TokioIo<Wire>;

/// Serves one connection; returns when it has ended, however it did.
pub(super) async fn attend(guard: ConnectionGuard, tcp: TcpStream, address: SocketAddr) {
    let shared = guard.shared().clone();
    let mut stage = shared.stage();
    let greeted = tokio::select! {
        greeted = greet(&shared, tcp) => greeted,
        // Without a handshake there is no request to lose.
        () = emptying(&mut stage) => None,
    };
    let Some(stream) = greeted else { return };
    let connection_state = Arc::new(ConnectionState::new(shared.clone()));
    let secure = matches!(stream, Stream::Secure(_));
    let mut wire =
        Wire::new(stream, connection_state.clone(), shared.dice.clone(), shared.limits.linger);
    let mut timeout = Timeouts::new(&shared.limits);
    let version = tokio::select! {
        biased;
        version = poll_fn(|context| wire.poll_version(context)) => version.ok(),
        () = timeout.run_out(&connection_state, Version::Http1) => None,
        () = emptying(&mut stage) => None,
    };
    let Some(version) = version else { return };
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    let router = shared.router.clone();
    let peer = Peer { address, secure };
    let door = Door { router, peer, version, connection_state: connection_state.clone() };
    let io = TokioIo::new(wire);
    let attendance = Attendance { connection_state, timeout, stage, version };
    match version {
        Version::Http1 => attendance.over(speak_http1(&shared.limits, io, door)).await,
        Version::Http2 => {
            let streams = Streams::default();
            attendance.over(speak_http2(&shared.limits, io, door, streams.starter())).await;
        }
    }
}

/// Shakes hands where TLS is spoken.
async fn greet(shared: &Shared, tcp: TcpStream) -> Option<Stream> {
    let Some(tls) = &shared.tls else { return Some(Stream::Plain(tcp)) };
    let handshake = timeout(shared.limits.handshake, tls.accept(tcp));
    match handshake.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(stream) => Some(Stream::Secure(Box::new(stream))),
        Err(error) => {
            shared.tally.fail_handshake();
            tracing::debug!(%error, "a tls handshake failed");
            None
        }
    }
}

async fn emptying(stage: &mut watch::Receiver<Stage>) {
    // The server outlives its connections, so the stage cannot end without having come so far.
    let _ = stage.wait_for(|stage| *stage == Stage::Emptying).await;
}

fn speak_http1(limits: &ConnectionLimits, io: Io, door: Door) -> http1::Connection<Io, Door> {
    let header_bytes = usize::try_from(limits.header_bytes).unwrap_or(usize::MAX);
    http1::Builder::new()
        .max_header_size(header_bytes)
        .max_buf_size(header_bytes.max(BUFFER))
        .serve_connection(io, door)
}

fn speak_http2(
    limits: &ConnectionLimits,
    io: Io,
    door: Door,
    starter: StreamStarter,
) -> http2::Connection<Io, Door, StreamStarter> {
    http2::Builder::new(starter)
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(limits.header_bytes)
        .max_concurrent_streams(limits.concurrent_streams)
        .keep_alive_interval(limits.ping_interval)
        .keep_alive_timeout(limits.ping_timeout)
        .serve_connection(io, door)
}

/// What the two kinds of connection have in common.
trait Conversation: Future<Output = hyper::Result<()>> {
    /// Finishes what is under way and then ends.
    fn finish(self: Pin<&mut Self>);
}

impl Conversation for http1::Connection<Io, Door> {
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl Conversation for http2::Connection<Io, Door, StreamStarter> {
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Watches over a conversation.
struct Attendance {
    connection_state: Arc<ConnectionState>,
    timeout: Timeouts,
    stage: watch::Receiver<Stage>,
    version: Version,
}

impl Attendance {
    async fn over(mut self, conversation: impl Conversation) {
        let mut conversation = pin!(conversation);
        let mut finishing = false;
        loop {
            let stage = *self.stage.borrow_and_update();
            match self.connection_state.advice(stage, self.version) {
                Advice::Drop => return,
                Advice::Finish if !finishing => {
                    finishing = true;
                    conversation.as_mut().finish();
                }
                Advice::Stay | Advice::Finish => {}
            }
            tokio::select! {
                biased;
                // First, so that a request that has arrived is seen before its connection closes.
                ended = conversation.as_mut() => return report(ended),
                () = self.timeout.run_out(&self.connection_state, self.version) => {
                    if finishing || self.connection_state.awaiting(self.version) == Awaiting::Head {
                        return;
                    }
                    finishing = true;
                    conversation.as_mut().finish();
                }
                _ = self.stage.changed() => {}
                () = self.connection_state.stirred(), if stage != Stage::Open && !finishing => {}
            }
        }
    }
}

fn report(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}
