//! What the Rust web servers of the study share, so that only the concurrency model differs.
//!
//! * [`parser`]: an HTTP/1.1 request parser that may be fed in any pieces,
//! * [`request`], [`response`], [`error`]: what goes in, what comes out, what may be wrong,
//! * [`endpoints`]: what the servers answer,
//! * [`serving`]: arguments, markers and listening sockets.
//!
//! The Go library beside this one has the same structure, the same limits and the same error names;
//! `parser-vectors` holds the test vectors for both.

pub mod endpoints;
pub mod error;
pub mod parser;
pub mod request;
pub mod response;
pub mod serving;

pub use error::Error;
pub use parser::Parser;
pub use request::{Request, Version};
pub use response::Response;
