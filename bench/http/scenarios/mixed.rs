//! What a day is made of: resource servers ask, and clients go on acting for people meanwhile.

use super::{Compared, Load, Scripts, asking, code::Exchange, refresh::Rotation};
use crate::{
    Outcome,
    connection::{Answer, Connection},
    figures::Bound,
    load::{Script, Turn},
    portal::{Identity, Portal},
    scene::Scene,
    servers::{Server, Who},
};

/// Of ten requests nine ask and one refreshes; of a hundred one is a code and one its tokens.
pub struct Mixed;

impl Load for Mixed {
    fn name(&self) -> &'static str {
        "mixed"
    }

    fn about(&self) -> &'static str {
        "Introspection while a tenth of the load writes: of ten operations nine are `introspection` and the tenth is `refresh_es256`, but every \
         eleventh of those is `code_es256`. Each connection is another person."
    }

    fn scripts<'a>(&'a self, scene: &'a Scene, server: &'a Server, number: usize) -> Scripts<'a> {
        Box::pin(async move {
            let asked = asking::tokens_of_people(scene, server, number, 1).await?;
            let mut connection = Connection::open(server.address).await?;
            let mut scripts: Vec<Box<dyn Script>> = Vec::new();
            for (email, tokens) in scene.people[..number].iter().zip(asked) {
                let portal = Portal::with(server, scene, Identity::Es256);
                let cookie = portal.sign_in(scene, email).await?;
                let mut exchange = Exchange::new(portal.clone(), &cookie);
                let rotation = loop {
                    let answer = connection.exchange(exchange.request()).await?;
                    if let Turn::Done = exchange.answered(&answer)? {
                        break Rotation::after(portal, answer.body)?;
                    }
                };
                let ask = asking::introspect(scene, server, &scene.portal, &tokens[0]);
                scripts.push(Box::new(Day { ask, rotation, exchange, done: 0 }));
            }
            Ok(scripts)
        })
    }

    /// Answers of all three kinds are in the sample; each kind is looked at in its own scenario.
    fn check(&self, _: &Scene, _: &Server, body: &[u8]) -> Outcome<()> {
        let _: serde_json::Value = serde_json::from_slice(body)?;
        Ok(())
    }

    fn wanted(&self) -> &'static [(Compared, Who, Bound)] {
        &[(Compared::Rate, Who::Limit, Bound::Floor(0.25))]
    }

    fn most_commits(&self) -> Option<f64> {
        Some(0.3)
    }
}

struct Day {
    ask: Vec<u8>,
    rotation: Rotation,
    exchange: Exchange,
    /// Operations.
    done: u32,
}

impl Day {
    fn writes(&mut self) -> Option<&mut dyn Script> {
        match (self.done % 10, self.done % 110) {
            (9, 109) => Some(&mut self.exchange),
            (9, _) => Some(&mut self.rotation),
            _ => None,
        }
    }
}

impl Script for Day {
    fn request(&mut self) -> &[u8] {
        match self.done % 10 {
            9 => self.writes().map_or(&[], |script| script.request()),
            _ => &self.ask,
        }
    }

    fn answered(&mut self, answer: &Answer<'_>) -> Outcome<Turn> {
        let turn = if let Some(script) = self.writes() {
            script.answered(answer)?
        } else {
            answer.success()?;
            Turn::Done
        };
        if let Turn::Done = turn {
            self.done += 1;
        }
        Ok(turn)
    }
}
