//! A thread for each CPU that computes, so that the event loops do not stand still meanwhile.

use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex};
use std::{io, thread};

use webserver_parser::endpoints;

use crate::epoll::Waker;

/// Something to compute.
pub struct Job {
    /// Which connection wants it.
    pub token: u64,
    /// Which Fibonacci number.
    pub number: u64,
    /// Who is told.
    pub reply: Arc<Mailbox>,
}

/// Where an event loop finds its results.
pub struct Mailbox {
    results: Mutex<Vec<(u64, u64)>>,
    /// Wakes the event loop.
    pub waker: Waker,
}

impl Mailbox {
    /// An empty one.
    pub fn new() -> io::Result<Self> {
        Ok(Mailbox { results: Mutex::default(), waker: Waker::new()? })
    }

    /// The results that have come: token and Fibonacci number.
    pub fn take(&self) -> Vec<(u64, u64)> {
        std::mem::take(&mut *self.results.lock().expect("nobody panics with the lock"))
    }

    fn put(&self, token: u64, result: u64) {
        self.results.lock().expect("nobody panics with the lock").push((token, result));
        self.waker.wake();
    }
}

/// Starts the threads. They end when the senders are gone.
pub fn start(threads: usize) -> Sender<Job> {
    let (sender, receiver) = mpsc::channel();
    let receiver = Arc::new(Mutex::new(receiver));
    for _ in 0..threads {
        let receiver = Arc::clone(&receiver);
        thread::spawn(move || {
            while let Some(job) = next(&receiver) {
                job.reply.put(job.token, endpoints::fibonacci(job.number));
            }
        });
    }
    sender
}

fn next(receiver: &Mutex<Receiver<Job>>) -> Option<Job> {
    receiver.lock().expect("nobody panics with the lock").recv().ok()
}
