//! Settings: what configuration says, as handlers read it.

use crate::{
    domain::{Locale, QuietHours, flow::Rules},
    http::{
        cookies::CookieNames,
        hosts::Hosts,
        options::{Channels, Extras, Lifetimes, Links, MutualTls, SecurityTxt, SignUp},
    },
};
use axum::http::HeaderValue;
use std::{sync::Arc, time::Duration};

pub(in crate::http) struct Settings {
    pub(super) channels: Channels,
    /// The origins that clients call: the issuer's, and that of the listener that asks for certificates.
    pub client_origins: Vec<String>,
    pub cookies: CookieNames,
    /// How long a request may take once its head is here.
    pub deadline: Duration,
    /// Whether every proof of a client needs a nonce of ours.
    pub dpop_nonce: bool,
    /// What is served beside the endpoints that every installation has.
    pub extras: Extras,
    pub flow_rules: Arc<Rules>,
    /// Whose requests are answered.
    pub hosts: Hosts,
    pub lifetimes: Lifetimes,
    pub links: Links,
    pub locale: Locale,
    /// How clients come with certificates, if they can.
    pub mutual_tls: Option<MutualTls>,
    /// Where pages of ours come from beside the issuer.
    pub origins: Arc<[HeaderValue]>,
    /// When people are not written to about approvals.
    pub quiet_hours: Option<QuietHours>,
    /// Whether clients may register themselves.
    pub registration: bool,
    /// Whether people get pages of ours.
    pub screens: bool,
    /// Where a weakness is reported, if anything is said of it.
    pub security_txt: Option<SecurityTxt>,
    pub sign_up: SignUp,
}
