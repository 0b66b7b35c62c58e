//! What hyper reads from and writes to: the stream, watched.
//!
//! - The first bytes can be looked at before hyper reads them.
//! - Whatever hyper writes while the [`ConnectionState`] is at rest answers no request of the router's, so
//!   it is one of hyper's own refusals and gets the headers it lacks. Nothing a router answers can
//!   be taken for one: until all of its answer has been flushed, the connection is not at rest.
//! - Closing goes in two steps. We say that we are done, then listen on for a moment: a socket
//!   closed over unread bytes resets the connection, and the reset can overtake our last answer.

use super::{
    bare,
    connection_state::{ConnectionState, Version},
    stream::Stream,
};
use crate::crypto::{Dice, draw_text};
use std::{
    io::{self, IoSlice},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::{Sleep, sleep},
};

/// What an HTTP/2 client says first (RFC 9113 §3.4).
const PREFACE: &[u8; 24] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// The length of a drawn request id, in bytes.
const REQUEST_ID: usize = 16;

pub(super) struct Wire {
    stream: Stream,
    connection_state: Arc<ConnectionState>,
    dice: Arc<dyn Dice>,
    linger: Duration,
    version: Version,
    opening: Opening,
    /// What is left to be sent of a refusal that was given its headers.
    refusal: Vec<u8>,
    /// Whether the other side has said that it is done.
    ended: bool,
    lingering: Option<Pin<Box<Sleep>>>,
}

/// The first bytes, read to learn the version and kept for hyper.
#[derive(Default)]
struct Opening {
    bytes: [u8; PREFACE.len()],
    filled: usize,
    taken: usize,
}

impl Wire {
    pub(super) fn new(
        stream: Stream,
        connection_state: Arc<ConnectionState>,
        dice: Arc<dyn Dice>,
        linger: Duration,
    ) -> Self {
        Self {
            stream,
            connection_state,
            dice,
            linger,
            version: Version::Http1,
            opening: Opening::default(),
            refusal: Vec::new(),
            ended: false,
            lingering: None,
        }
    }

    /// Settles the version: by the handshake, or without TLS by the first bytes. HTTP/2 without
    /// TLS is spoken to a client that begins with it, as proxies do; it is never upgraded to.
    pub(super) fn poll_version(&mut self, context: &mut Context<'_>) -> Poll<io::Result<Version>> {
        let http2 = match self.stream.agreed_on_http2() {
            Some(agreed) => agreed,
            None => ready!(self.poll_preface(context))?,
        };
        self.version = if http2 { Version::Http2 } else { Version::Http1 };
        Poll::Ready(Ok(self.version))
    }

    fn poll_preface(&mut self, context: &mut Context<'_>) -> Poll<io::Result<bool>> {
        let Opening { bytes, filled, .. } = &mut self.opening;
        while *filled < PREFACE.len() {
            let mut buffer = ReadBuf::new(&mut bytes[*filled..]);
            ready!(Pin::new(&mut self.stream).poll_read(context, &mut buffer))?;
            let read = buffer.filled().len();
            *filled += read;
            if read == 0 || bytes[..*filled] != PREFACE[..*filled] {
                break;
            }
        }
        Poll::Ready(Ok(bytes == PREFACE))
    }

    /// Takes the write if it is one of hyper's own refusals.
    fn takes_refusal(&mut self, slices: &[IoSlice<'_>]) -> Option<usize> {
        if self.version != Version::Http1 || !self.connection_state.is_at_rest() {
            return None;
        }
        if !slices.first().is_some_and(|slice| bare::refuses(slice)) {
            return None;
        }
        let whole = slices.iter().flat_map(|slice| slice.iter().copied()).collect::<Vec<_>>();
        self.refusal = bare::with_headers(&whole, &draw_text(&*self.dice, REQUEST_ID))?;
        Some(whole.len())
    }

    fn poll_refusal(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.refusal.is_empty() {
            let sent = ready!(Pin::new(&mut self.stream).poll_write(context, &self.refusal))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.refusal.drain(..sent);
        }
        Poll::Ready(Ok(()))
    }

    /// Reads and forgets until the other side is done too, or time is up.
    fn poll_linger(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.ended {
            return Poll::Ready(());
        }
        let lingering = self.lingering.get_or_insert_with(|| Box::pin(sleep(self.linger)));
        if lingering.as_mut().poll(context).is_ready() {
            return Poll::Ready(());
        }
        let mut waste = [0; 4096];
        loop {
            let mut buffer = ReadBuf::new(&mut waste);
            let outcome = ready!(self.stream.tcp().poll_read(context, &mut buffer));
            if outcome.is_err() || buffer.filled().is_empty() {
                return Poll::Ready(());
            }
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Opening { bytes, filled, taken } = &mut self.opening;
        if *taken < *filled {
            let fitting = buffer.remaining().min(*filled - *taken);
            buffer.put_slice(&bytes[*taken..*taken + fitting]);
            *taken += fitting;
            self.connection_state.hear();
            return Poll::Ready(Ok(()));
        }
        let (before, room) = (buffer.filled().len(), buffer.remaining());
        ready!(Pin::new(&mut self.stream).poll_read(context, buffer))?;
        if buffer.filled().len() > before {
            self.connection_state.hear();
        } else if room > 0 {
            self.ended = true;
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_refusal(context))?;
        if let Some(taken) = self.takes_refusal(&[IoSlice::new(bytes)]) {
            return Poll::Ready(Ok(taken));
        }
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_refusal(context))?;
        if let Some(taken) = self.takes_refusal(slices) {
            return Poll::Ready(Ok(taken));
        }
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// Hyper flushes when it has nothing left to write.
    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_refusal(context))?;
        ready!(Pin::new(&mut self.stream).poll_flush(context))?;
        self.connection_state.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.lingering.is_none() {
            ready!(self.poll_refusal(context))?;
            ready!(Pin::new(&mut self.stream).poll_shutdown(context))?;
        }
        self.poll_linger(context).map(Ok)
    }
}
