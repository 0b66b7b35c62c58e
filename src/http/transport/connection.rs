//! One connection from its first byte to its last.

use super::{
    ConnectionLimits, Peer,
    door::Door,
    house::{House, Stage, Visit},
    patience::Patience,
    pulse::{Advice, Awaiting, Pulse, Version},
    stream::Stream,
    streams::{StreamStarter, Streams},
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
pub(super) async fn attend(visit: Visit, tcp: TcpStream, address: SocketAddr) {
    let house = visit.house().clone();
    let mut stage = house.stage();
    let greeted = tokio::select! {
        greeted = greet(&house, tcp) => greeted,
        // Without a handshake there is no request to lose.
        () = emptying(&mut stage) => None,
    };
    let Some(stream) = greeted else { return };
    let pulse = Arc::new(Pulse::new(house.clone()));
    let secure = matches!(stream, Stream::Secure(_));
    let mut wire = Wire::new(stream, pulse.clone(), house.dice.clone(), house.limits.linger);
    let mut patience = Patience::new(&house.limits);
    let version = tokio::select! {
        biased;
        version = poll_fn(|context| wire.poll_version(context)) => version.ok(),
        () = patience.run_out(&pulse, Version::Http1) => None,
        () = emptying(&mut stage) => None,
    };
    let Some(version) = version else { return };
    let address = SocketAddr::new(address.ip().to_canonical(), address.port());
    let router = house.router.clone();
    let peer = Peer { address, secure };
    let door = Door { router, peer, version, pulse: pulse.clone() };
    let io = TokioIo::new(wire);
    let attendance = Attendance { pulse, patience, stage, version };
    match version {
        Version::Http1 => attendance.over(speak_http1(&house.limits, io, door)).await,
        Version::Http2 => {
            let streams = Streams::default();
            attendance.over(speak_http2(&house.limits, io, door, streams.starter())).await;
        }
    }
}

/// Shakes hands where TLS is spoken.
async fn greet(house: &House, tcp: TcpStream) -> Option<Stream> {
    let Some(tls) = &house.tls else { return Some(Stream::Plain(tcp)) };
    let handshake = timeout(house.limits.handshake, tls.accept(tcp));
    match handshake.await.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
        Ok(stream) => Some(Stream::Secure(Box::new(stream))),
        Err(error) => {
            house.tally.fail_handshake();
            tracing::debug!(%error, "a tls handshake failed");
            None
        }
    }
}

async fn emptying(stage: &mut watch::Receiver<Stage>) {
    // The house outlives its connections, so the stage cannot end without having come so far.
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
    pulse: Arc<Pulse>,
    patience: Patience,
    stage: watch::Receiver<Stage>,
    version: Version,
}

impl Attendance {
    async fn over(mut self, conversation: impl Conversation) {
        let mut conversation = pin!(conversation);
        let mut finishing = false;
        loop {
            let stage = *self.stage.borrow_and_update();
            match self.pulse.advice(stage, self.version) {
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
                () = self.patience.run_out(&self.pulse, self.version) => {
                    if finishing || self.pulse.awaiting(self.version) == Awaiting::Head {
                        return;
                    }
                    finishing = true;
                    conversation.as_mut().finish();
                }
                _ = self.stage.changed() => {}
                () = self.pulse.stirred(), if stage != Stage::Open && !finishing => {}
            }
        }
    }
}

fn report(ended: hyper::Result<()>) {
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended with an error");
    }
}
