//! The sign-in that a step would be, as alerts look at it (adr/0141).

use super::{answering::FreshSecrets, opened::OpenedFlow, origin};
use crate::{
    domain::{
        account::Known,
        account_alerts::{DeviceKey, SignIn},
        flow::Channel,
        message::RequestOrigin,
        place::Place,
    },
    http::{app::App, people::report_link},
};

/// Returns what alerts are decided on; none where the operator wants none.
pub(super) async fn of(
    app: &App,
    opened: &OpenedFlow,
    (account, known, epoch): (&str, Option<&Known>, u64),
    drawn: &FreshSecrets,
) -> Option<Box<SignIn>> {
    if !app.alerts.enabled {
        return None;
    }
    let locale = known.and_then(Known::locale).unwrap_or(app.settings.locale);
    let device = match opened.seed.channel {
        Channel::Browser(_) => DeviceKey::browser(&drawn.device),
        Channel::Program => DeviceKey::program(&drawn.fresh.device),
    };
    let address = opened.context.address();
    let place =
        address.map_or_else(Place::default, |address| app.alerts.geo.place(address, locale));
    let origin = origin::of(app, opened).await;
    let origin = RequestOrigin { place: place.name.clone(), ..origin };
    let to = known.and_then(|known| report_link::recipient(app, known));
    Some(Box::new(SignIn {
        account: account.to_owned(),
        device,
        epoch,
        place,
        client_id: opened.seed.asked().map(|request| request.wanted.client_id.clone()),
        origin,
        to,
    }))
}
