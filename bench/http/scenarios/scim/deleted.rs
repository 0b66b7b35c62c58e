//! From the deletion of a User to the refusal of what that person holds, on another node.

use super::{Directory, Engine, NAME};
use crate::{
    Outcome,
    connection::Connection,
    figures::Bound,
    report::Section,
    request::{parameters, post_form},
    scenarios::revoked::{Tree, asking, introspecting},
    scene::Scene,
    servers::{Server, Stage, TOKEN},
};
use serde_json::Value;

pub async fn measure((stage, engine): (&Stage, &Engine)) -> Outcome<Section> {
    let (first, _zone) = engine.install(stage, "deleted").await?;
    let second = first.join(&format!("{NAME}-{}-second", engine.name()))?;
    let (one, other) = (first.started().await?, second.started().await?);
    let directory = Directory::of(&first, &one, &stage.scene.organization)?;
    let (mut tried, mut accepted) = (0, 0);
    for email in &stage.scene.people {
        let user = found(&directory, &one, email).await?;
        let tree = Tree::grow(&stage.scene, &one, email).await?;
        let mut nodes =
            (Connection::open(one.address).await?, Connection::open(other.address).await?);
        let uses = uses(&stage.scene, &other, &tree);
        // The other node has seen them, and would know them if it remembered.
        for request in &uses[..2] {
            if !is_accepted(&mut nodes.1, request).await? {
                return Err("a token is refused before its User is deleted".into());
            }
        }
        nodes.0.exchange(&directory.delete(&user)).await?.success()?;
        for request in &uses {
            tried += 1;
            accepted += usize::from(is_accepted(&mut nodes.1, request).await?);
        }
    }
    one.process.stop().await?;
    other.process.stop().await?;
    let mut section =
        Section::new(&format!("After a User is deleted: two nodes, {}", engine.name()));
    section.line(&format!(
        "{} members with a token for the organization, which the second node has just accepted. Each is deleted on the first \
         node; the next requests to the second (introspection, userinfo, a refresh) are counted: {accepted} of {tried} were \
         accepted.",
        stage.scene.people.len()
    ));
    let what = format!(
        "{NAME}: {}: uses accepted by another node after DELETE, of {tried}",
        engine.name()
    );
    section.verdicts.push(Bound::Ceiling(0.0).judge(what, accepted as f64, ""));
    Ok(section)
}

/// Finds the User of a member.
async fn found(directory: &Directory, server: &Server, email: &str) -> Outcome<String> {
    let mut connection = Connection::open(server.address).await?;
    let request = directory.filter(&format!("userName eq \"{email}\""));
    let answer = connection.exchange(&request).await?;
    answer.success()?;
    let page: Value = serde_json::from_slice(answer.body)?;
    Ok(page["Resources"][0]["id"].as_str().ok_or("a member is no User")?.to_owned())
}

/// What is tried at a node; the last can be tried once.
fn uses(scene: &Scene, server: &Server, tree: &Tree) -> [Vec<u8>; 3] {
    let credentials = scene.credentials(&scene.portal);
    let form = parameters(&[("grant_type", "refresh_token"), ("refresh_token", &tree.refresh)]);
    [
        introspecting(scene, server.address, (&scene.portal, &tree.access)),
        asking(server.address, &tree.access),
        post_form(server.address, TOKEN, &[("Authorization", &credentials)], &form),
    ]
}

async fn is_accepted(connection: &mut Connection, request: &[u8]) -> Outcome<bool> {
    let answer = connection.exchange(request).await?;
    match answer.status {
        200 => {
            let said: Value = serde_json::from_slice(answer.body)?;
            Ok(said["active"] != false)
        }
        400 | 401 => Ok(false),
        _ => Err(answer.unexpected()),
    }
}
