//! What a person is told who lets an agent act for them, whichever way they do: with their consent, by a device's code,
//! or by approving what was asked by a back channel (adr/0153).

use crate::{
    domain::{
        Context,
        account::Known,
        message::{Mail, MailContent},
    },
    http::{app::App, clients, people::notice},
};

/// Returns the mail about this client; none where it is no agent, or where no mail can be sent.
pub async fn mail(app: &App, context: &Context, known: &Known, client_id: &str) -> Option<Mail> {
    // Without its name the person sees it in their account all the same.
    let seen = clients::find_in_flow(app, client_id, false).await.ok()?;
    let agent = seen.machine.known().filter(|client| client.leash.is_some())?;
    let name = agent.metadata.client_name.clone();
    let content = MailContent::AgentAllowed { agent: name.unwrap_or_else(|| client_id.to_owned()) };
    notice::mail(app, context, known, content)
}
