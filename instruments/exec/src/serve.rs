//! Serving mode: orders come on standard input, answers and events go to standard output, one JSON object a line each.

use crate::kernel;
use bakeoff_share::jsonl::{self, Lines};
use bakeoff_share::lifeline::{self, Look};
use serde::{Deserialize, Serialize};
use serde_json::json;
use std::io;

/// Longest order in bytes.
const LONGEST_ORDER: usize = 64 * 1024;

/// What we can be told to do.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "order", rename_all = "snake_case")]
pub enum Order {
    /// End the present phase and begin this one.
    Phase {
        /// The name of the phase that begins.
        name: String,
    },
    /// Tell the totals so far.
    Snapshot,
    /// Stop the tree and end.
    Stop,
}

/// What came on standard input.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    /// An order.
    Order(Order),
    /// Something that is none, and why.
    Nonsense(String),
    /// The end of standard input.
    End,
}

/// Our own standard input, in the modes that read it.
pub struct Input {
    lines: Lines,
    /// Whether lines are orders, or only the end matters.
    takes_orders: bool,
    ended: bool,
}

impl Input {
    /// Standard input as a source of orders, or as a mere lifeline.
    pub fn new(takes_orders: bool) -> Self {
        Self { lines: Lines::new(LONGEST_ORDER), takes_orders, ended: false }
    }

    /// The descriptor to wait for; -1 when it has ended.
    pub fn fd(&self) -> i32 {
        if self.ended { -1 } else { 0 }
    }

    /// Reads what there is.
    pub fn read(&mut self) -> Vec<Request> {
        let mut buffer = [0u8; 8192];
        match lifeline::look(kernel::stdin_fd(), &mut buffer) {
            Ok(Look::Nothing) => Vec::new(),
            Ok(Look::Bytes(count)) if self.takes_orders => {
                self.lines.take(&buffer[..count]).iter().filter_map(|line| request(line)).collect()
            }
            Ok(Look::Bytes(_)) => Vec::new(),
            Ok(Look::End) | Err(_) => {
                self.ended = true;
                vec![Request::End]
            }
        }
    }
}

fn request(line: &[u8]) -> Option<Request> {
    if line.trim_ascii().is_empty() {
        return None;
    }
    Some(match serde_json::from_slice(line) {
        Ok(order) => Request::Order(order),
        Err(error) => Request::Nonsense(format!("not an order: {error}")),
    })
}

#[derive(Serialize)]
struct Event<'a, T: Serialize> {
    event: &'a str,
    t_s: f64,
    #[serde(flatten)]
    body: &'a T,
}

/// Tells an event.
///
/// # Errors
/// When nobody reads our standard output any more.
pub fn tell<T: Serialize>(event: &str, t_s: f64, body: &T) -> io::Result<()> {
    jsonl::write_line(&mut io::stdout().lock(), &Event { event, t_s, body })
}

/// Tells that something was not understood.
///
/// # Errors
/// When nobody reads our standard output any more.
pub fn tell_error(t_s: f64, message: &str) -> io::Result<()> {
    tell("error", t_s, &json!({"message": message}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_are_read() {
        let order = |text: &str| request(text.as_bytes());
        let phase = Order::Phase { name: "load:400".to_owned() };
        assert_eq!(order(r#"{"order": "phase", "name": "load:400"}"#), Some(Request::Order(phase)));
        assert_eq!(order(r#"{"order": "snapshot"}"#), Some(Request::Order(Order::Snapshot)));
        assert_eq!(order(r#"{"order": "stop"}"#), Some(Request::Order(Order::Stop)));
        assert_eq!(order("  "), None);
    }

    #[test]
    fn nonsense_is_answered() {
        for text in ["{", r#"{"order": "dance"}"#, r#"{"order": "phase"}"#] {
            assert!(matches!(request(text.as_bytes()), Some(Request::Nonsense(_))), "{text}");
        }
    }
}
