//! The link of an alert, by which a person says that it was not them (adr/0142).
//!
//! Its token is sealed and names the account, the address that it was mailed to, and the time. It is written nowhere:
//! what is kept is that it was spent.

use crate::{
    crypto::draw,
    domain::{
        Fingerprint,
        account::Known,
        account_alerts::{AlertRecipient, Report},
        assurance::AuthenticatorId,
        message::ReportLink,
    },
    http::{app::App, routes},
};
use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

/// What tokens are sealed for.
const PURPOSE: &str = "report";

/// No token of ours is longer.
const LONGEST: usize = 1_024;

/// Returns the link of an alert to the address that the account has now; none where no page takes it.
pub fn link(app: &App, account: &Known) -> Option<ReportLink> {
    let page = app.settings.links.report.as_ref();
    if !app.settings.screens && page.is_none() {
        return None;
    }
    let report = Report {
        account: account.id.clone(),
        id: Fingerprint::of(&draw::<32>(&*app.dice)),
        at: app.clock.now(),
        mailbox: AuthenticatorId::mailbox(&account.normalised_email()),
    };
    let content = serde_json::to_vec(&report).expect("plain data with text keys is JSON");
    let sealed = app.crypto.vault.now().seal(PURPOSE, &[], &content, &*app.dice);
    let token = URL_SAFE_NO_PAD.encode(sealed);
    Some(ReportLink::new(app.page(page, routes::REPORT, &[("token", &token)])))
}

/// Returns who an alert goes to, with its link; none where no mail can be sent.
pub fn recipient(app: &App, account: &Known) -> Option<AlertRecipient> {
    app.channels().mail.then(|| AlertRecipient {
        email: account.email.clone(),
        locale: account.locale().unwrap_or(app.settings.locale),
        report: link(app, account),
    })
}

/// Reads a token, if it is one of ours. Whether it still serves is not looked at.
pub fn read(app: &App, token: &str) -> Option<Report> {
    let token = Some(token).filter(|token| token.len() <= LONGEST)?;
    let sealed = URL_SAFE_NO_PAD.decode(token).ok()?;
    let content = app.crypto.vault.now().open(PURPOSE, &[], &sealed).ok()?;
    serde_json::from_slice(content.expose()).ok()
}
