//! The scenes, one file each.

pub mod approval;
pub mod backchannel;
pub mod device;
pub mod device_flows;
pub mod domain;
pub mod flow;
mod flows;
pub mod grants;
pub mod throttle;
