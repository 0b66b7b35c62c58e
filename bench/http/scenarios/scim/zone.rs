//! A name server that has one TXT record, whatever it is asked for.

use crate::Outcome;
use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
};
use tokio::{net::UdpSocket, task::JoinSet};

pub struct Zone {
    pub address: SocketAddr,
    text: Arc<Mutex<String>>,
    _task: JoinSet<()>,
}

/// The name of the question, an answer of type TXT, class IN, for a minute.
const RECORD: [u8; 10] = [0xc0, 0x0c, 0, 16, 0, 1, 0, 0, 0, 60];
const HEAD: usize = 12;

impl Zone {
    pub async fn open() -> Outcome<Self> {
        let socket = UdpSocket::bind("127.0.0.1:0").await?;
        let (address, text) = (socket.local_addr()?, Arc::new(Mutex::new(String::new())));
        let (mut task, told) = (JoinSet::new(), text.clone());
        task.spawn(async move {
            let mut question = [0; 512];
            while let Ok((length, from)) = socket.recv_from(&mut question).await {
                let text = told.lock().unwrap_or_else(PoisonError::into_inner).clone();
                if let Some(answer) = answer(&question[..length], &text) {
                    let _ = socket.send_to(&answer, from).await;
                }
            }
        });
        Ok(Self { address, text, _task: task })
    }

    /// Publishes a record of at most 255 bytes.
    pub fn publish(&mut self, text: &str) {
        text.clone_into(&mut self.text.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// RFC 1035 §4.1: the question, and one record for its name.
fn answer(message: &[u8], text: &str) -> Option<Vec<u8>> {
    let name = message.get(HEAD..)?.iter().position(|byte| *byte == 0)?;
    let question = message.get(HEAD..HEAD + name + 5)?;
    let length = u8::try_from(text.len()).ok()?;
    let mut answer = message.get(..2)?.to_vec();
    // An authoritative answer to one question, with one record.
    answer.extend([0x85, 0x80, 0, 1, 0, 1, 0, 0, 0, 0]);
    answer.extend(question);
    answer.extend(RECORD);
    answer.extend((u16::from(length) + 1).to_be_bytes());
    answer.push(length);
    answer.extend(text.as_bytes());
    Some(answer)
}
