//! Authorization requests: what decides about one, however it comes (a link, a device, a back channel), and how
//! it is answered.

pub mod approval;
pub mod approval_notice;
pub mod form_post;
pub mod request_facts;
pub mod response;
pub mod user_codes;
