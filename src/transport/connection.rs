//! One connection from its first byte to its last.

use super::{
    ConnectionLimits, Peer,
    connection_state::{Advice, AwaitedEvent, ConnectionState, Version},
    service::RouterService,
    shared::{ConnectionGuard, Entrance, ServerState, Stage},
    stream::Stream,
    streams::{StreamStarter, Streams},
    timeouts::Timeouts,
    wire::Wire,
};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioIo, TokioTimer};
use std::{
    future::{pending, poll_fn},
    io,
    net::SocketAddr,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};
use tokio::{
    net::TcpStream,
    sync::watch,
    time::{Sleep, sleep, timeout},
};
use tokio_rustls::TlsAcceptor;

/// The least hyper may be given to read heads and bodies into.
const BUFFER: usize = 64 * 1024;

/// How much of a body may be on its way over HTTP/2 before a handler has read it.
const STREAM_WINDOW: u32 = 64 * 1024;
const CONNECTION_WINDOW: u32 = 256 * 1024;

/// How much of one answer the HTTP/2 library takes before it asks for more window.
const SEND_BUFFER: usize = 64 * 1024;

/// How many streams a client may begin and reset before it is cut off (CVE-2023-44487).
const RESET_STREAMS: usize = 20;
const RESET_BY_ERRORS: usize = 256;

type Io = TokioIo<Wire>;

/// Serves one connection; returns when it has ended, however it did.
pub(super) async fn serve(
    guard: ConnectionGuard,
    entrance: Arc<Entrance>,
    tcp: TcpStream,
    address: SocketAddr,
) {
    let shared = guard.shared().clone();
    let connection_state = guard.connection_state().clone();
    let mut stage = shared.stage();
    let stream = tokio::select! {
        stream = handshake(&shared, entrance.tls.as_ref(), tcp) => stream,
        // Without a handshake there is no request to lose.
        () = emptying(&mut stage) => None,
        () = connection_state.told_to_close() => None,
    };
    let Some(stream) = stream else { return };
    let secure = matches!(stream, Stream::Secure(_));
    let certificate = stream.certificate();
    let mut wire =
        Wire::new(stream, connection_state.clone(), shared.dice.clone(), shared.limits.linger);
    let mut timeout = Timeouts::new(&shared.limits);
    let version = tokio::select! {
        biased;
        version = poll_fn(|context| wire.poll_version(context)) => version.ok(),
        () = timeout.run_out(&connection_state, Version::Http1) => None,
        () = emptying(&mut stage) => None,
        () = connection_state.told_to_close() => None,
    };
    let Some(version) = version else { return };
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    let router = entrance.router.clone();
    let peer = Peer { address, secure };
    let service = RouterService {
        router,
        peer,
        certificate,
        version,
        connection_state: connection_state.clone(),
    };
    let io = TokioIo::new(wire);
    let supervisor =
        Supervisor { linger: shared.limits.linger, connection_state, timeout, stage, version };
    match version {
        Version::Http1 => supervisor.watch(speak_http1(&shared.limits, io, service)).await,
        Version::Http2 => {
            let streams = Streams::default();
            supervisor.watch(speak_http2(&shared.limits, io, service, streams.starter())).await;
        }
    }
}

/// Makes the handshake where TLS is spoken.
async fn handshake(
    shared: &ServerState,
    tls: Option<&TlsAcceptor>,
    tcp: TcpStream,
) -> Option<Stream> {
    let Some(tls) = tls else { return Some(Stream::Plain(tcp)) };
    let accepted = timeout(shared.limits.handshake, tls.accept(tcp));
    match accepted.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
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

fn speak_http1(
    limits: &ConnectionLimits,
    io: Io,
    service: RouterService,
) -> http1::Connection<Io, RouterService> {
    let header_bytes = usize::try_from(limits.header_bytes).unwrap_or(usize::MAX);
    http1::Builder::new()
        .max_header_size(header_bytes)
        .max_buf_size(header_bytes.max(BUFFER))
        .serve_connection(io, service)
}

fn speak_http2(
    limits: &ConnectionLimits,
    io: Io,
    service: RouterService,
    starter: StreamStarter,
) -> http2::Connection<Io, RouterService, StreamStarter> {
    http2::Builder::new(starter)
        .timer(TokioTimer::new())
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(limits.header_bytes)
        .max_concurrent_streams(limits.concurrent_streams)
        .max_send_buf_size(SEND_BUFFER)
        .max_pending_accept_reset_streams(RESET_STREAMS)
        .max_local_error_reset_streams(RESET_BY_ERRORS)
        .keep_alive_interval(limits.ping_interval)
        .keep_alive_timeout(limits.ping_timeout)
        .serve_connection(io, service)
}

/// What the two kinds of connection have in common.
trait Conversation: Future<Output = hyper::Result<()>> {
    /// Finishes what is under way and then ends.
    fn finish(self: Pin<&mut Self>);
}

impl Conversation for http1::Connection<Io, RouterService> {
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl Conversation for http2::Connection<Io, RouterService, StreamStarter> {
    fn finish(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Watches a conversation: its time limits, the drain, and whether it is told to close.
struct Supervisor {
    connection_state: Arc<ConnectionState>,
    timeout: Timeouts,
    stage: watch::Receiver<Stage>,
    version: Version,
    linger: Duration,
}

impl Supervisor {
    async fn watch(mut self, conversation: impl Conversation) {
        let mut conversation = pin!(conversation);
        let mut finishing = false;
        // Runs for a connection that must make room: its client may never let it finish.
        let mut last_moment = None;
        loop {
            let stage = *self.stage.borrow_and_update();
            match self.connection_state.advice(stage, self.version) {
                Advice::Drop => return,
                Advice::MakeRoom if last_moment.is_none() => {
                    finishing = true;
                    conversation.as_mut().finish();
                    last_moment = Some(Box::pin(sleep(self.linger)));
                }
                Advice::Finish if !finishing => {
                    finishing = true;
                    conversation.as_mut().finish();
                }
                Advice::Stay | Advice::Finish | Advice::MakeRoom => {}
            }
            tokio::select! {
                biased;
                // First, so that a request that has arrived is seen before its connection closes.
                ended = conversation.as_mut() => return report(ended),
                () = self.timeout.run_out(&self.connection_state, self.version) => {
                    if finishing || self.connection_state.awaiting(self.version) == AwaitedEvent::Head {
                        return;
                    }
                    finishing = true;
                    conversation.as_mut().finish();
                }
                _ = self.stage.changed() => {}
                () = self.connection_state.stirred() => {}
                () = over(&mut last_moment), if last_moment.is_some() => {
                    if !self.connection_state.is_under_way() {
                        return;
                    }
                    // A request came in the last moment; its own time limit holds.
                    last_moment = Some(Box::pin(sleep(self.linger)));
                }
            }
        }
    }
}

async fn over(moment: &mut Option<Pin<Box<Sleep>>>) {
    match moment {
        Some(moment) => moment.as_mut().await,
        None => pending().await,
    }
}

fn report(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}
