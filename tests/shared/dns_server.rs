//! A name server that does whatever a test wants.

use std::{
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};
use tokio::{net::UdpSocket, task::JoinSet};

/// What a name server says of every name.
#[derive(Clone, Copy, Debug)]
pub enum Says {
    /// It takes the question and answers nothing.
    Nothing,
    /// There is no such name.
    NoSuchName,
    Address(Ipv4Addr),
}

pub struct DnsServer {
    pub address: SocketAddr,
    asked: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl DnsServer {
    pub async fn new(says: Says) -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (socket.local_addr().unwrap(), Arc::new(AtomicUsize::new(0)));
        let (count, mut tasks) = (asked.clone(), JoinSet::new());
        tasks.spawn(async move {
            let mut question = [0; 1_024];
            while let Ok((length, from)) = socket.recv_from(&mut question).await {
                count.fetch_add(1, SeqCst);
                if let Some(answer) = answer(&question[..length], says) {
                    let _ = socket.send_to(&answer, from).await;
                }
            }
        });
        Self { address, asked, _tasks: tasks }
    }

    /// How many questions came.
    pub fn asked(&self) -> usize {
        self.asked.load(SeqCst)
    }
}

/// RFC 1035 §4: a header, the question as it came, and at most one address.
fn answer(question: &[u8], says: Says) -> Option<Vec<u8>> {
    const A: [u8; 2] = [0, 1];
    let mut end = 12;
    while *question.get(end)? != 0 {
        end += usize::from(question[end]) + 1;
    }
    let asked = question.get(12..end + 5)?;
    let kind = &asked[asked.len() - 4..asked.len() - 2];
    let (code, address) = match says {
        Says::Nothing => return None,
        Says::NoSuchName => (3, None),
        Says::Address(address) => (0, Some(address).filter(|_| kind == A)),
    };
    let answers = u8::from(address.is_some());
    let mut answer = question[..2].to_vec();
    answer.extend([0x81, 0x80 | code, 0, 1, 0, answers, 0, 0, 0, 0]);
    answer.extend(asked);
    if let Some(address) = address {
        // The name of the question, an address of the Internet, for a minute.
        answer.extend([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 60, 0, 4]);
        answer.extend(address.octets());
    }
    Some(answer)
}
