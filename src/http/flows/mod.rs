//! The flow engine, headless: contract §6.
//!
//! | method and path | what |
//! |---|---|
//! | `POST /flows` | begins a flow |
//! | `GET /flows/{id}` | shows one |
//! | `POST /flows/stop` | ends a recovery, for the holder of the account's address |
//! | `POST /flows/{id}/{step…}` | takes a step: one file each, and one table of them ([`steps`]) |
//!
//! A flow's id holds, sealed, how it began ([`ticket`]), so that nothing is stored before its first
//! step. It belongs to the channel that began it: a browser by its cookie, a program by the id.

mod agent_notice;
mod answering;
mod approval;
mod begin;
mod belonging;
pub mod browser_sessions;
pub mod callback_result;
mod committing;
mod decided_request;
mod document;
mod ending;
mod invited;
mod known_browser;
pub mod leaving;
mod linking;
mod opened;
mod operator_link;
mod origin;
mod parts;
mod problems;
mod report;
mod screen_path;
mod show;
mod sign_in_alert;
pub mod sign_on;
mod sign_out;
mod step_outcome;
pub mod steps;
mod stop;
pub mod ticket;
mod user_code;
mod views;

pub use agent_notice::mail as agent_mail;
pub use approval::{ApprovalNeed, Yes, begin as begin_approval};
pub use begin::{StepUp, Wish, begin as begin_one, post as begin, step_up};
pub use document::{Document, FlowView, expiry};
pub use known_browser::{account as known_account, remember as remember_browser};
pub use opened::OpenedFlow;
pub use parts::{
    Client as ClientTold, Consent as ConsentTold, DetailInWords, Outcome, client as client_told,
};
pub use problems::out_of_reach;
pub use screen_path::path_of;
pub use show::{get as show, look};
pub use sign_out::after_commit as sign_out_after_commit;
pub use step_outcome::{FlowAnswer, StepOutcome};
pub use steps::post as step;
pub use stop::{post as stop, take as stop_by};
pub use views::ConnectionName;
