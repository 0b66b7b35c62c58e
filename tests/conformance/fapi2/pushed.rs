//! Pushes that are wrong.

use super::{run::Run, talk::PAR};
use hyper::Method;

pub async fn request_uri_as_field(run: &Run) {
    let uri = run.push(&run.one, &run.asked(&run.one)).await;
    for address in [uri.as_str(), "https://suite.example.com/request"] {
        let call = run.pushing(&run.one, &run.asked(&run.one)).with("request_uri", address);
        let codes = ["invalid_request", "invalid_request_object", "request_uri_not_supported"];
        run.refused(&call.send().await, &codes);
    }
}

pub async fn invalid_http_method(run: &Run) {
    for method in [Method::GET, Method::PUT, Method::DELETE] {
        let answer = run.method(&run.one, method.clone(), PAR).await;
        assert!(answer.status.is_client_error(), "{run}: {method} {answer:?}");
    }
}
