//! Being told to end: by SIGINT or SIGTERM, or by the lifeline.

use std::os::fd::AsFd;
use std::sync::atomic::Ordering;

use crate::run::STOP;

/// Makes the signals, and with `lifeline` the end of standard input, stop the run.
pub fn watch(lifeline: bool) {
    let handler: extern "C" fn(libc::c_int) = on_signal;
    for signal in [libc::SIGINT, libc::SIGTERM] {
        // SAFETY: the handler only stores into an atomic, which is safe in a signal handler.
        unsafe { libc::signal(signal, handler as libc::sighandler_t) };
    }
    if lifeline {
        std::thread::spawn(|| {
            bakeoff_share::lifeline::wait_for_end(std::io::stdin().as_fd());
            STOP.store(true, Ordering::Relaxed);
        });
    }
}

extern "C" fn on_signal(_signal: libc::c_int) {
    STOP.store(true, Ordering::Relaxed);
}
