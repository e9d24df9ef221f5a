//! The same server where the host speaks HTTP and the component only answers (`wasi:http/proxy`).

mod answer;

use answer::answer;
use wstd::http::{Body, Error, Request, Response};

#[wstd::http_server]
async fn main(request: Request<Body>) -> Result<Response<Body>, Error> {
    let (head, mut body) = request.into_parts();
    let body = body.contents().await?.to_vec();
    let (status, body) = answer(head.method.as_str(), head.uri.path(), body);
    Ok(Response::builder().status(status).body(Body::from(body))?)
}
