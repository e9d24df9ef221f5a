//! Which engine carries the load.

use crate::job::{BackendChoice, Protocol};
use crate::lane::Lane;
use crate::plan::Plan;
use crate::wire_epoll::Epoll;
use crate::wire_uring::{self, Uring};
use crate::worker::Summary;

/// An engine that was chosen.
#[derive(Debug, Clone)]
pub struct Backend {
    /// Its name in results.
    pub name: &'static str,
    /// What runs a thread's share.
    pub engine: fn(Lane) -> Result<Summary, String>,
    /// Why it is not the one that was asked for.
    pub fallback: Option<String>,
}

impl Backend {
    /// Chooses the engine for a plan.
    pub fn choose(plan: &Plan) -> Self {
        match plan.job.http {
            Protocol::Http1 => Self::for_http1(plan),
            Protocol::Http2 => Self { name: "h2", engine: crate::engine_h2::run, fallback: None },
        }
    }

    fn for_http1(plan: &Plan) -> Self {
        let epoll = |fallback| Self { name: "epoll", engine: crate::engine::run::<Epoll>, fallback };
        let uring = || Self { name: "uring", engine: crate::engine::run::<Uring>, fallback: None };
        match plan.job.backend {
            BackendChoice::Epoll => epoll(None),
            BackendChoice::Auto if !is_faster_on_uring(plan) => epoll(None),
            BackendChoice::Auto if refusal(plan).is_some() => epoll(None),
            BackendChoice::Auto => uring(),
            BackendChoice::Uring => match refusal(plan) {
                None => uring(),
                Some(reason) => {
                    eprintln!("bakeoff-load: --backend uring is not to be had ({reason}); epoll is used");
                    epoll(Some(reason))
                }
            },
        }
    }
}

/// Why io_uring cannot carry this plan here.
fn refusal(plan: &Plan) -> Option<String> {
    if plan.tls.is_some() {
        return Some("TLS is only on epoll".into());
    }
    let most = plan.steps.iter().map(|step| step.share(0, plan.threads).max_connections).max();
    wire_uring::probe(most.unwrap_or(1) as u32).err()
}

/// Whether io_uring is the better one for this plan. It costs less CPU a request on plain connections that are kept; the open
/// loop is more punctual on epoll, and a connection for each request costs io_uring more system calls.
fn is_faster_on_uring(plan: &Plan) -> bool {
    plan.tls.is_none() && plan.keepalive && plan.job.rate.is_none()
}
