//! The time limit. A thread sleeps until the time of what is under way is over, and never wakes before, so that it costs
//! the measurement nothing.

use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

/// Time that the engine has to stop a module before the process ends.
const GRACE: Duration = Duration::from_secs(1);

type Act = Box<dyn FnOnce() + Send>;

/// What is under way.
struct Armed {
    deadline: Instant,
    /// Asks the engine to stop the module; tried first.
    soft: Option<Act>,
    /// Reports what is known and ends the process.
    hard: Act,
}

/// Watches one thing at a time, all with the same time limit.
pub struct Watchdog {
    limit: Duration,
    armed: Arc<Mutex<Option<Armed>>>,
}

impl Watchdog {
    /// Starts the thread.
    pub fn start(limit: Duration) -> Self {
        let armed = Arc::new(Mutex::new(None));
        let theirs = Arc::clone(&armed);
        thread::spawn(move || watch(&theirs, limit));
        Self { limit, armed }
    }

    /// From now on the limit runs. If it is over, `soft` is called if there is one, and a second later `hard`, which
    /// does not return.
    pub fn arm(&self, soft: Option<Act>, hard: impl FnOnce() + Send + 'static) {
        let armed = Armed { deadline: Instant::now() + self.limit, soft, hard: Box::new(hard) };
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = Some(armed);
    }

    /// It has ended in time.
    pub fn disarm(&self) {
        *self.armed.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

fn watch(armed: &Mutex<Option<Armed>>, limit: Duration) {
    let mut sleep = limit;
    loop {
        thread::sleep(sleep);
        let mut now_armed = armed.lock().unwrap_or_else(PoisonError::into_inner);
        // Whatever is armed while we sleep `limit` cannot be due before we wake.
        sleep = match now_armed.as_mut() {
            None => limit,
            Some(armed) => match armed.deadline.checked_duration_since(Instant::now()) {
                Some(left) if !left.is_zero() => left,
                _ => match armed.soft.take() {
                    Some(soft) => {
                        soft();
                        armed.deadline += GRACE;
                        GRACE.min(limit)
                    }
                    None => {
                        if let Some(armed) = now_armed.take() {
                            (armed.hard)();
                        }
                        limit
                    }
                },
            },
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::channel;

    #[test]
    fn it_bites_what_is_late_and_nothing_else() {
        let watchdog = Watchdog::start(Duration::from_millis(300));
        let (told, hears) = channel();
        let second = told.clone();
        watchdog.arm(None, move || told.send("early").unwrap());
        watchdog.disarm();
        watchdog.arm(None, move || second.send("late").unwrap());
        assert_eq!(hears.recv_timeout(Duration::from_secs(20)), Ok("late"));
        assert!(hears.recv_timeout(Duration::from_millis(1)).is_err());
    }

    #[test]
    fn it_asks_before_it_bites() {
        let watchdog = Watchdog::start(Duration::from_millis(10));
        let (told, hears) = channel();
        let second = told.clone();
        let soft: Act = Box::new(move || told.send("asked").unwrap());
        watchdog.arm(Some(soft), move || second.send("bitten").unwrap());
        assert_eq!(hears.recv_timeout(Duration::from_secs(20)), Ok("asked"));
        assert_eq!(hears.recv_timeout(Duration::from_secs(20)), Ok("bitten"));
    }
}
