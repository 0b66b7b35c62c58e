//! A real SMTP server in a process of its own, and what it took: `bin/python-for-tests smtp`.

use serde_json::Value;
use std::{
    io::{BufRead as _, BufReader},
    path::Path,
    process::{Child, Stdio},
};

/// aiosmtpd, in a process of its own.
pub struct SmtpServer {
    child: Child,
    pub port: u16,
}

impl SmtpServer {
    pub fn start(folder: &Path, options: &[&str]) -> Self {
        let python = std::env::var("PORTEIRO_TEST_SMTP").expect("run by bin/python-for-tests");
        let mut child = std::process::Command::new(python)
            .args(["tests/smtp/server.py", "--folder"])
            .arg(folder)
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let port = line.trim().strip_prefix("ready ").expect("it listens").parse().unwrap();
        Self { child, port }
    }
}

impl Drop for SmtpServer {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a server took that keeps its mails in this folder, the first one first.
pub fn taken(folder: &Path) -> Vec<Value> {
    let files = std::fs::read_dir(folder).unwrap().map(|file| file.unwrap().path());
    let whole = files.filter(|path| path.extension().is_some_and(|end| end == "json"));
    let number = |path: &Path| path.file_stem().and_then(|name| name.to_str()?.parse::<u64>().ok());
    let mut paths: Vec<_> = whole.collect();
    paths.sort_by_key(|path| number(path));
    paths
        .iter()
        .map(|path| serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap())
        .collect()
}

/// The text of a mail: the part that is not HTML, as it was before it was encoded.
pub fn text_of(mail: &Value) -> String {
    let content = mail["content"].as_str().unwrap().replace("\r\n", "\n");
    let (_, text) = content.split_once("Content-Type: text/plain; charset=utf-8\n").unwrap();
    let (head, text) = text.split_once("\n\n").unwrap();
    let text = text.split("\n--").next().unwrap();
    if !head.contains("quoted-printable") {
        return text.to_owned();
    }
    let (mut decoded, joined) = (Vec::new(), text.replace("=\n", ""));
    let mut bytes = joined.bytes();
    while let Some(byte) = bytes.next() {
        decoded.push(match byte {
            b'=' => {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(str::from_utf8(&digits).unwrap(), 16).unwrap()
            }
            other => other,
        });
    }
    String::from_utf8(decoded).unwrap()
}
