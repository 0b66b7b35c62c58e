//! One kept connection, one request at a time: as little of HTTP/1.1 as the three servers need.
//!
//! The generator shares the machine with the server it measures, so requests are rendered
//! beforehand and of an answer only the status and the extent are read.

use crate::{Outcome, request, secured};
use std::{io, net::SocketAddr, ops::Range, time::Instant};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
};
use tokio_rustls::{TlsConnector, client::TlsStream};

pub struct Connection {
    stream: Wire,
    buffer: Vec<u8>,
    first_byte: Instant,
}

/// With TLS or without.
enum Wire {
    Plain(TcpStream),
    Secure(Box<TlsStream<TcpStream>>),
}

pub struct Answer<'a> {
    pub status: u16,
    head: &'a [u8],
    pub body: &'a [u8],
}

impl<'a> Answer<'a> {
    /// Lists the values of a field, named in lower case.
    pub fn fields(&self, name: &str) -> impl Iterator<Item = &'a str> {
        let lines = self.head.split(|byte| *byte == b'\n');
        let name = format!("{name}:");
        let values = lines.filter_map(move |line| field(line, name.as_bytes()));
        values.filter_map(|value| std::str::from_utf8(value).ok())
    }

    /// Where it sends a browser.
    pub fn location(&self) -> Outcome<&'a str> {
        match (self.status, self.fields("location").next()) {
            (302 | 303, Some(to)) => Ok(to),
            _ => Err(self.unexpected()),
        }
    }

    /// Fails unless the status is one of success.
    pub fn success(&self) -> Outcome<()> {
        if (200..300).contains(&self.status) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// Says what came instead of what was expected.
    pub fn unexpected(&self) -> Box<dyn std::error::Error + Send + Sync> {
        format!("answered {}: {}", self.status, String::from_utf8_lossy(self.body)).into()
    }
}

impl Connection {
    pub async fn open(address: SocketAddr) -> io::Result<Self> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let stream = match secured::config_of(address) {
            None => Wire::Plain(stream),
            Some(config) => {
                let name = address.ip().into();
                Wire::Secure(Box::new(TlsConnector::from(config).connect(name, stream).await?))
            }
        };
        let buffer = Vec::with_capacity(16 * 1024);
        Ok(Self { stream, buffer, first_byte: Instant::now() })
    }

    /// When the last answer began to come.
    pub fn first_byte(&self) -> Instant {
        self.first_byte
    }

    /// Sends a request and returns the whole answer.
    pub async fn exchange(&mut self, request: &[u8]) -> Outcome<Answer<'_>> {
        match &mut self.stream {
            Wire::Plain(stream) => stream.write_all(request).await?,
            Wire::Secure(stream) => {
                stream.write_all(request).await?;
                stream.flush().await?;
            }
        }
        self.buffer.clear();
        let head = loop {
            if let Some(end) = find(&self.buffer, b"\r\n\r\n") {
                break Head::read(&self.buffer[..end + 2], end + 4)?;
            }
            self.fill().await?;
        };
        let body = match head.extent {
            Extent::Bytes(length) => {
                let end = head.length + length;
                while self.buffer.len() < end {
                    self.fill().await?;
                }
                head.length..end
            }
            Extent::Chunks => loop {
                if let Some(body) = join_chunks(&mut self.buffer, head.length)? {
                    break body;
                }
                self.fill().await?;
            },
        };
        let (status, fields) = (head.status, &self.buffer[..head.length]);
        Ok(Answer { status, head: fields, body: &self.buffer[body] })
    }

    async fn fill(&mut self) -> Outcome<()> {
        let is_first = self.buffer.is_empty();
        let read = match &mut self.stream {
            Wire::Plain(stream) => stream.read_buf(&mut self.buffer).await?,
            Wire::Secure(stream) => stream.read_buf(&mut self.buffer).await?,
        };
        if is_first {
            self.first_byte = Instant::now();
        }
        match read {
            0 => Err("the connection was closed before the answer's end".into()),
            _ => Ok(()),
        }
    }
}

/// Gets a document over a connection of its own; anything but 200 is a failure.
pub async fn fetch(address: SocketAddr, path: &str) -> Outcome<Vec<u8>> {
    let mut connection = Connection::open(address).await?;
    let answer = connection.exchange(&request::get(address, path, &[])).await?;
    match answer.status {
        200 => Ok(answer.body.to_vec()),
        status => Err(format!("GET {path} answered {status}").into()),
    }
}

struct Head {
    status: u16,
    /// Where the body begins.
    length: usize,
    extent: Extent,
}

enum Extent {
    Bytes(usize),
    Chunks,
}

impl Head {
    /// Reads a head that ends with the line break of its last field.
    fn read(head: &[u8], length: usize) -> Outcome<Self> {
        let mut lines = head.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii_end);
        let status = lines.next().and_then(|line| line.strip_prefix(b"HTTP/1.1 "));
        let status = status.and_then(|line| line.get(..3)).ok_or("this is no HTTP/1.1")?;
        let status = std::str::from_utf8(status)?.parse()?;
        for line in lines {
            if let Some(value) = field(line, b"content-length:") {
                let length_told = std::str::from_utf8(value)?.parse()?;
                return Ok(Self { status, length, extent: Extent::Bytes(length_told) });
            }
            if field(line, b"transfer-encoding:") == Some(b"chunked") {
                return Ok(Self { status, length, extent: Extent::Chunks });
            }
        }
        // RFC 9110 §15.3.5: it has no content.
        if status == 204 {
            return Ok(Self { status, length, extent: Extent::Bytes(0) });
        }
        Err("the answer does not say where it ends".into())
    }
}

/// Returns the value of a field with this name.
fn field<'a>(line: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let (start, value) = line.split_at_checked(name.len())?;
    start.eq_ignore_ascii_case(name).then(|| value.trim_ascii())
}

/// Joins the chunks from `start` on, in place, once the last of them is here (RFC 9112 §7.1).
fn join_chunks(buffer: &mut [u8], start: usize) -> Outcome<Option<Range<usize>>> {
    let mut chunks = Vec::new();
    let mut at = start;
    loop {
        let Some(line) = find(&buffer[at..], b"\r\n") else { return Ok(None) };
        let size = std::str::from_utf8(&buffer[at..at + line])?;
        let size = size.split(';').next().unwrap_or_default();
        let size = usize::from_str_radix(size.trim(), 16)?;
        let begin = at + line + 2;
        at = begin + size + 2;
        if at > buffer.len() {
            return Ok(None);
        }
        if size == 0 {
            break;
        }
        chunks.push(begin..begin + size);
    }
    let mut end = start;
    for chunk in chunks {
        let length = chunk.len();
        buffer.copy_within(chunk, end);
        end += length;
    }
    Ok(Some(start..end))
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}
