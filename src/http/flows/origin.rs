//! From where a flow is taken, and which client sent the person.

use super::opened::OpenedFlow;
use crate::{
    domain::message::{Asker, RequestOrigin},
    http::{app::App, clients},
    wording::quotable,
};

/// Says who asks for what a person is told of, and from where.
pub(super) async fn of(app: &App, opened: &OpenedFlow) -> RequestOrigin {
    let OpenedFlow { seed, context, .. } = opened;
    let asked = RequestOrigin::by_request(context, app.clock.now());
    let Some(request) = seed.asked() else { return asked };
    // Without its name the mail is worth as much.
    let seen = clients::find_in_flow(app, &request.wanted.client_id, false).await.ok();
    let known = seen.as_ref().and_then(|seen| seen.machine.known());
    let by = known.map(|known| match &known.metadata.client_name {
        _ if known.is_self_registered() => Asker::SelfRegistered,
        Some(name) => Asker::Application(quotable(name)),
        None => Asker::Application(quotable(&request.wanted.client_id)),
    });
    RequestOrigin { by, ..asked }
}
