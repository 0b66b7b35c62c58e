//! A name server with a zone that tests write, over UDP and TCP, and that can misbehave.

use hickory_resolver::proto::{
    op::{Message, MessageType, OpCode, Query, ResponseCode},
    rr::{
        Name, RData, Record, RecordType,
        rdata::{CNAME, TXT},
    },
};
use porteiro::outbound::DnsResolver;
use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex},
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream, UdpSocket},
    task::JoinSet,
};

/// What the server does when it is asked for a name.
#[derive(Clone, Debug)]
pub enum Zone {
    /// Records, each of several strings.
    Txt(Vec<Vec<String>>),
    /// It leads to another name; where that is in the zone, the answer has it, too.
    Alias(String),
    /// The name is there, and has no such record.
    Nothing,
    Refusing(ResponseCode),
    Silent,
    /// It answers another question than was asked, or under another number, with these records.
    Poisoned(Vec<Vec<String>>),
    /// It answers with what is no message.
    Garbage,
    /// It says nothing itself; another answers in its place, by another port, with these records.
    Spoofed(Vec<Vec<String>>),
}

impl Zone {
    pub fn txt(value: &str) -> Self {
        Self::Txt(vec![vec![value.to_owned()]])
    }
}

type Names = Arc<Mutex<HashMap<String, Zone>>>;

pub struct ZoneServer {
    pub address: SocketAddr,
    names: Names,
    asked: Arc<Mutex<Vec<String>>>,
    _tasks: JoinSet<()>,
}

/// What a message over UDP may have at most, whatever the one who asks says.
const UDP: usize = 512;

impl ZoneServer {
    pub async fn open() -> Self {
        // A port that both have.
        let (tcp, udp) = loop {
            let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
            if let Ok(udp) = UdpSocket::bind(tcp.local_addr().unwrap()).await {
                break (tcp, udp);
            }
        };
        let (address, names) = (tcp.local_addr().unwrap(), Names::default());
        let asked = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = JoinSet::new();
        let (zone, notes) = (names.clone(), asked.clone());
        tasks.spawn(async move {
            let mut question = [0; 1_500];
            let stranger = UdpSocket::bind("127.0.0.1:0").await.unwrap();
            while let Ok((length, from)) = udp.recv_from(&mut question).await {
                for answer in answers(&question[..length], &zone, &notes) {
                    let sent = if answer.len() > UDP { truncated(&answer) } else { answer };
                    let socket = if is_spoofed(&sent, &zone) { &stranger } else { &udp };
                    let _ = socket.send_to(&sent, from).await;
                }
            }
        });
        let (zone, notes) = (names.clone(), asked.clone());
        tasks.spawn(async move {
            while let Ok((mut stream, _)) = tcp.accept().await {
                while let Some(question) = read(&mut stream).await {
                    let all = answers(&question, &zone, &notes).into_iter();
                    // A connection has one other side.
                    for answer in all.filter(|answer| !is_spoofed(answer, &zone)) {
                        let length = u16::try_from(answer.len()).unwrap().to_be_bytes();
                        let _ = stream.write_all(&[&length[..], &answer].concat()).await;
                    }
                }
            }
        });
        Self { address, names, asked, _tasks: tasks }
    }

    /// What asks this server and no other.
    pub fn resolver(&self) -> Arc<DnsResolver> {
        Arc::new(DnsResolver::asking(vec![self.address]))
    }

    pub fn put(&self, name: &str, zone: Zone) {
        self.names.lock().unwrap().insert(name.to_owned(), zone);
    }

    pub fn take_away(&self, name: &str) {
        self.names.lock().unwrap().remove(name);
    }

    /// How often a name was asked for.
    pub fn asked_for(&self, name: &str) -> usize {
        self.asked.lock().unwrap().iter().filter(|asked| *asked == name).count()
    }
}

async fn read(stream: &mut TcpStream) -> Option<Vec<u8>> {
    let length = stream.read_u16().await.ok()?;
    let mut question = vec![0; length.into()];
    stream.read_exact(&mut question).await.ok()?;
    Some(question)
}

/// The head and the question alone, with the mark that there is more.
fn truncated(answer: &[u8]) -> Vec<u8> {
    let mut message = Message::from_vec(answer).unwrap();
    message.answers.clear();
    message.metadata.truncation = true;
    message.to_vec().unwrap()
}

fn answers(question: &[u8], names: &Names, asked: &Mutex<Vec<String>>) -> Vec<Vec<u8>> {
    let Ok(question) = Message::from_vec(question) else { return Vec::new() };
    let Some(query) = question.queries.first().cloned() else { return Vec::new() };
    let name = name_of(&query);
    asked.lock().unwrap().push(name.clone());
    let mut answer = Message::new(question.metadata.id, MessageType::Response, OpCode::Query);
    answer.metadata.recursion_available = true;
    answer.metadata.recursion_desired = question.metadata.recursion_desired;
    answer.add_query(query.clone());
    let names = names.lock().unwrap();
    match names.get(&name) {
        None => answer.metadata.response_code = ResponseCode::NXDomain,
        Some(Zone::Nothing) => {}
        Some(Zone::Refusing(code)) => answer.metadata.response_code = *code,
        Some(Zone::Silent) => return Vec::new(),
        Some(Zone::Garbage) => return vec![vec![0xff; 40]],
        Some(Zone::Txt(_)) if query.query_type() != RecordType::TXT => {}
        Some(Zone::Txt(records) | Zone::Spoofed(records)) => {
            add(&mut answer, query.name(), records);
        }
        Some(Zone::Alias(target)) => {
            let to = Name::from_ascii(format!("{target}.")).unwrap();
            let alias = RData::CNAME(CNAME(to.clone()));
            answer.add_answer(Record::from_rdata(query.name().clone(), 60, alias));
            match names.get(target) {
                Some(Zone::Txt(records)) => add(&mut answer, &to, records),
                None => answer.metadata.response_code = ResponseCode::NXDomain,
                Some(_) => {}
            }
        }
        Some(Zone::Poisoned(records)) => {
            let mut other_number = answer.clone();
            other_number.metadata.id = question.metadata.id.wrapping_add(1);
            add(&mut other_number, query.name(), records);
            let mut other_question = answer;
            let mut query = query;
            query.set_name(Name::from_ascii("evil.test.").unwrap());
            other_question.queries = vec![query.clone()];
            add(&mut other_question, query.name(), records);
            return vec![other_number.to_vec().unwrap(), other_question.to_vec().unwrap()];
        }
    }
    vec![answer.to_vec().unwrap()]
}

/// Tells whether an answer is one that another gives.
fn is_spoofed(answer: &[u8], names: &Names) -> bool {
    let answer = Message::from_vec(answer).ok();
    let name = answer.and_then(|answer| Some(name_of(answer.queries.first()?)));
    let names = names.lock().unwrap();
    name.is_some_and(|name| matches!(names.get(&name), Some(Zone::Spoofed(_))))
}

fn name_of(query: &Query) -> String {
    query.name().to_ascii().to_lowercase().trim_end_matches('.').to_owned()
}

fn add(answer: &mut Message, name: &Name, records: &[Vec<String>]) {
    for strings in records {
        let text = RData::TXT(TXT::new(strings.clone()));
        answer.add_answer(Record::from_rdata(name.clone(), 60, text));
    }
}
