use super::{digits, password};
use crate::{
    breach::{BreachCheck, BreachError, RangeFault, RangeServer},
    outbound::{DnsResolver, OutboundError, Policy},
};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
    task::JoinSet,
};
use url::Url;

/// A server of leaked passwords that gives one answer to every request.
struct Ranges {
    url: String,
    heard: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

impl Ranges {
    async fn answering(status: &str, body: impl Into<Vec<u8>>) -> Self {
        let body = body.into();
        let head = format!("HTTP/1.1 {status}\r\ncontent-length: {}\r\n\r\n", body.len());
        Self::saying(Some([head.into_bytes(), body].concat())).await
    }

    /// Without an answer it keeps the connection open and says nothing.
    async fn saying(answer: Option<Vec<u8>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let url = format!("http://{}/range/", listener.local_addr().unwrap());
        let heard = Arc::new(Mutex::new(Vec::new()));
        let (notes, mut tasks) = (heard.clone(), JoinSet::new());
        tasks.spawn(async move {
            let mut open = Vec::new();
            while let Ok((mut stream, _)) = listener.accept().await {
                let (mut request, mut byte) = (String::new(), [0]);
                while !request.ends_with("\r\n\r\n")
                    && stream.read(&mut byte).await.is_ok_and(|read| read > 0)
                {
                    request.push(char::from(byte[0]));
                }
                notes.lock().unwrap().push(request);
                match &answer {
                    Some(answer) => {
                        let _ = stream.write_all(answer).await;
                    }
                    None => open.push(stream),
                }
            }
        });
        Self { url, heard, _tasks: tasks }
    }

    fn check(&self) -> BreachCheck {
        check(&self.url, true)
    }

    async fn has(&self, text: &str) -> Result<bool, BreachError> {
        self.check().is_breached(&password(text)).await
    }
}

fn check(url: &str, allow_private_networks: bool) -> BreachCheck {
    let policy = Policy { allow_private_networks, ..Policy::default() };
    let base = Url::parse(url).unwrap();
    let server = RangeServer::new(base, policy, Arc::new(DnsResolver::of_system())).unwrap();
    BreachCheck::Range(Box::new(server))
}

/// A range as servers write it: this line among others.
fn range_with(line: &str) -> String {
    let others = (0..500).map(|number| format!("{number:035X}:{}\r\n", number + 1));
    let mut lines: Vec<String> = others.collect();
    lines.insert(250, format!("{line}\r\n"));
    lines.concat()
}

#[tokio::test]
async fn a_server_is_told_five_digits_and_asked_to_pad() {
    let hash = digits("correct horse battery staple");
    let ranges = Ranges::answering("200 OK", range_with(&format!("{}:216", &hash[5..]))).await;
    assert!(ranges.check().is_on());
    assert!(ranges.has("correct horse battery staple").await.unwrap());
    assert!(!ranges.has("another horse").await.unwrap(), "another suffix is not in the range");
    let heard = ranges.heard.lock().unwrap().clone();
    let first = heard[0].to_lowercase();
    assert!(heard[0].starts_with(&format!("GET /range/{} HTTP/1.1\r\n", &hash[..5])), "{first}");
    assert!(first.contains("\r\nadd-padding: true\r\n"), "{first}");
    assert!(!first.contains(&hash[5..9].to_lowercase()), "nothing more of the hash is told");
    assert!(!first.contains("correct"), "{first}");
}

#[tokio::test]
async fn padding_and_other_suffixes_are_no_leaks() {
    let suffix = digits("password").split_off(5);
    for (line, leaked) in [
        (suffix.clone(), true),
        (suffix.to_lowercase(), true),
        (format!("{suffix}:1"), true),
        (format!("{suffix}:0"), false),
        (format!("0{}:9", &suffix[1..]), suffix.starts_with('0')),
        (format!("{}0:9", &suffix[..34]), suffix.ends_with('0')),
    ] {
        let ranges = Ranges::answering("200 OK", range_with(&line)).await;
        assert_eq!(ranges.has("password").await.unwrap(), leaked, "{line}");
    }
    for empty in ["", "\r\n", "\n\n"] {
        assert!(!Ranges::answering("200 OK", empty).await.has("password").await.unwrap());
    }
}

#[tokio::test]
async fn an_answer_that_is_no_list_is_an_error() {
    let suffix = digits("password").split_off(5);
    for body in [
        "<html>sign in to the network</html>".to_owned(),
        format!("{suffix}:12\r\nand some more"),
        format!("{}:12", digits("password")),
        format!("{suffix}:x"),
        format!("{suffix} :12"),
    ] {
        let said = Ranges::answering("200 OK", body.clone()).await.has("password").await;
        assert!(matches!(said, Err(BreachError::Range(RangeFault::Malformed))), "{body} {said:?}");
    }
    for status in ["404 Not Found", "429 Too Many Requests", "302 Found", "503 Unavailable"] {
        let said = Ranges::answering(status, range_with(&suffix)).await.has("password").await;
        assert!(
            matches!(said, Err(BreachError::Range(RangeFault::Status(_)))),
            "{status} {said:?}"
        );
    }
    let endless = Ranges::answering("200 OK", "0".repeat(2_000_000)).await.has("password").await;
    let too_long = BreachError::Range(RangeFault::Unreachable(OutboundError::TooLong));
    assert_eq!(format!("{endless:?}"), format!("{:?}", Err::<bool, _>(too_long)));
}

#[tokio::test]
async fn a_server_that_says_nothing_is_not_waited_for() {
    let ranges = Ranges::saying(None).await;
    let policy = Policy { allow_private_networks: true, ..Policy::default() };
    let (base, resolver) = (Url::parse(&ranges.url).unwrap(), Arc::new(DnsResolver::of_system()));
    let server = RangeServer::within(Duration::from_millis(100), base, policy, resolver).unwrap();
    let said = BreachCheck::Range(Box::new(server)).is_breached(&password("password")).await;
    let timed_out = BreachError::Range(RangeFault::Unreachable(OutboundError::TimedOut));
    assert_eq!(format!("{said:?}"), format!("{:?}", Err::<bool, _>(timed_out)));
}

#[tokio::test]
async fn a_server_is_called_through_the_guard() {
    let suffix = digits("password").split_off(5);
    let ranges = Ranges::answering("200 OK", range_with(&suffix)).await;
    let said = check(&ranges.url, false).is_breached(&password("password")).await;
    let forbidden = BreachError::Range(RangeFault::Unreachable(OutboundError::Forbidden));
    assert_eq!(format!("{said:?}"), format!("{:?}", Err::<bool, _>(forbidden)));
    assert!(ranges.heard.lock().unwrap().is_empty(), "nothing was sent");
    let without_slash = check(ranges.url.trim_end_matches('/'), true);
    assert!(without_slash.is_breached(&password("password")).await.unwrap());
    let text = format!("{:?}", said.unwrap_err());
    assert!(!text.contains(&digits("password")[..5]), "{text}");
}
