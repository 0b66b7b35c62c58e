//! Hosted screens: pages for people, drawn from the same flow document that programs get.
//!
//! | method | what |
//! |---|---|
//! | GET | opens the flow of `?flow=ID`, or begins one, and draws it ([`show`]) |
//! | POST | takes one step of a flow ([`submit`]): 303 to a page, or a page with what is shown once |
//!
//! No screen knows a rule: a page shows the steps that the flow offers, and its form names one of them
//! (adr/0072). The parts:
//!
//! | file or folder | holds |
//! |---|---|
//! | [`pages`] | one file a page: which words and fields it has |
//! | [`offer`] | when a passkey is offered after a password |
//! | [`shell`] | what is around every page: language, theme, nonce, headers |
//! | [`words`] | every sentence, from `locales/` |
//! | [`brand`] | what is an organization's: colours, logo, name |
//! | [`assets`] | style sheet, script and pictures, under names that change with their content |
//! | [`account`] | `/account`: what a person sees and changes of their own account |
//! | [`organization`] | `/organization`: what a member sees and changes of their organization |
//! | [`proving`] | the flow in which a person proves once more who they are, and comes back |
//! | [`initiated`] | a sign-in that a provider, or a link to it, begins |
//! | [`passkey_signals`] | what a page tells password managers of passkeys |
//! | [`leading`] | how a form leads to a page |
//! | [`stopping`] | the page that stops a recovery, for the holder of the account's address |
//! | [`trouble`] | pages for what cannot go on |
//! | [`typed`] | what a person typed into a form that was refused |
//! | [`error_pages`] | answers of other endpoints to a browser, in the same look |

mod account;
pub mod assets;
pub mod brand;
mod delegation_rows;
mod error_pages;
mod fields;
mod initiated;
mod leading;
mod offer;
mod organization;
mod pages;
mod passkey_signals;
pub mod preferences;
mod proving;
pub mod shell;
mod show;
mod stopping;
mod submit;
mod trouble;
mod typed;
mod words;

pub use error_pages::Browser;
pub use show::get;
pub use submit::post;

use crate::http::{answer::redirect::see_other, app::App, routes};
use axum::{
    extract::State,
    response::{IntoResponse, Response},
};

/// `GET /`: a person who opens the address of the server itself finds their account; on a development server the
/// playground, under the name that passkeys belong to.
pub async fn home(State(app): State<App>) -> Response {
    let path = if app.mailbox.is_some() { routes::PLAYGROUND } else { routes::ACCOUNT };
    let page = format!("{}{path}", app.issuer);
    see_other(&page).unwrap_or_else(IntoResponse::into_response)
}

/// A path of a screen, and the kind of flow that begins where it is opened without one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Screen {
    pub path: &'static str,
    pub begins: &'static str,
}
