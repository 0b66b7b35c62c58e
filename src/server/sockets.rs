//! The sockets of a server, bound before anything is served.

use super::{MtlsPlan, OperatorAddress, ServerError};
use crate::{
    http::{App, Hosts, MutualTls, flows::steps::Steps, router},
    transport::{Listener, TlsIdentity, TlsMode},
};
use std::{net::SocketAddr, sync::Arc};
use tokio::net::TcpListener;
use url::Url;

/// What was bound.
pub(super) struct Sockets {
    public: Vec<TcpListener>,
    /// Where clients are asked for certificates, and what we show there.
    asking: Option<(TcpListener, Arc<TlsIdentity>)>,
    pub(super) private: Option<TcpListener>,
}

impl Sockets {
    pub(super) async fn bind(
        public: &[SocketAddr],
        mtls: Option<&MtlsPlan>,
        operator: OperatorAddress,
    ) -> Result<Self, ServerError> {
        Ok(Self {
            public: listen(public).await?,
            asking: asking_listener(mtls).await?,
            private: operators_listener(operator).await?,
        })
    }

    /// The address of the first that was asked for.
    pub(super) fn address(&self, asked: SocketAddr) -> Result<SocketAddr, ServerError> {
        let bound = |source| ServerError::Listen { address: asked, source };
        self.public[0].local_addr().map_err(bound)
    }

    pub(super) fn asking_address(&self) -> Option<SocketAddr> {
        self.asking.as_ref().and_then(|(socket, _)| socket.local_addr().ok())
    }

    pub(super) fn operator_address(&self) -> Option<SocketAddr> {
        self.private.as_ref().and_then(|socket| socket.local_addr().ok())
    }

    /// Says what is served where, and leaves the operator's.
    pub(super) fn listeners(
        self,
        (app, steps): (&App, &Steps),
        tls: Option<&Arc<TlsIdentity>>,
    ) -> (Vec<Listener>, Option<TcpListener>) {
        let router = router::public(app, steps);
        let plainly = |socket| {
            let tls = tls.cloned().map(TlsMode::Plain);
            Listener { socket, tls, router: router.clone() }
        };
        let asking = self.asking.map(|(socket, tls)| {
            let tls = Some(TlsMode::AskingForCertificates(tls));
            Listener { socket, tls, router: router::for_certificates(app) }
        });
        (self.public.into_iter().map(plainly).chain(asking).collect(), self.private)
    }
}

async fn listen(addresses: &[SocketAddr]) -> Result<Vec<TcpListener>, ServerError> {
    let mut listeners: Vec<TcpListener> = Vec::new();
    for address in addresses {
        let mut address = *address;
        // By another name it must be the same port.
        if let Some(Ok(first)) = listeners.first().map(TcpListener::local_addr) {
            address.set_port(first.port());
        }
        match TcpListener::bind(address).await {
            Ok(listener) => listeners.push(listener),
            Err(source) if listeners.is_empty() => {
                return Err(ServerError::Listen { address, source });
            }
            Err(error) => tracing::debug!(%address, %error, "not listening there as well"),
        }
    }
    Ok(listeners)
}

/// Binds the listener that asks clients for certificates, if there is one.
async fn asking_listener(
    mtls: Option<&MtlsPlan>,
) -> Result<Option<(TcpListener, Arc<TlsIdentity>)>, ServerError> {
    let asked = mtls.and_then(|mtls| mtls.listen.clone());
    let Some((address, identity)) = asked else { return Ok(None) };
    let bound = TcpListener::bind(address).await;
    let socket = bound.map_err(|source| ServerError::Listen { address, source })?;
    Ok(Some((socket, identity)))
}

/// Says where clients with certificates are served: by default on the issuer's host, at the port that was bound.
pub(super) fn mutual_tls(mtls: MtlsPlan, issuer: &str, bound: Option<SocketAddr>) -> MutualTls {
    let MtlsPlan { url, authorities, forwarded, .. } = mtls;
    let beside_issuer = || beside_issuer(issuer, bound?.port());
    MutualTls { url: url.or_else(beside_issuer), authorities, forwarded }
}

/// The origin of what listens at a port of the issuer's host, over TLS.
pub fn beside_issuer(issuer: &str, port: u16) -> Option<String> {
    let mut url = Url::parse(issuer).ok()?;
    url.set_scheme("https").ok()?;
    url.set_port(Some(port)).ok()?;
    Some(url.origin().ascii_serialization())
}

/// On loopback no name but loopback's leads there by right.
pub(super) fn hosts_of_operators(address: Option<SocketAddr>) -> Hosts {
    let near = address.is_some_and(|address| address.ip().is_loopback());
    if near { Hosts::Loopback } else { Hosts::Any }
}

async fn operators_listener(wanted: OperatorAddress) -> Result<Option<TcpListener>, ServerError> {
    let (OperatorAddress::At(address) | OperatorAddress::Perhaps(address)) = wanted;
    match TcpListener::bind(address).await {
        Ok(listener) => Ok(Some(listener)),
        Err(source) if matches!(wanted, OperatorAddress::At(_)) => {
            Err(ServerError::Listen { address, source })
        }
        Err(error) => {
            let what = "no metrics: the usual address is taken, set operator.listen";
            tracing::warn!(%address, %error, "{what}");
            Ok(None)
        }
    }
}
