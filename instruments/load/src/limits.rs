//! The limits of this host that a run needs raised or must respect.

use std::os::fd::AsRawFd;

use crate::clock::MILLISECOND;
use crate::errors::ErrorClass;
use crate::lane::Lane;
use crate::plan::Plan;
use crate::socket::{Dialler, pending_error};

/// Descriptors that we need besides connections.
const SPARE: u64 = 64;

/// Raises the soft limit of descriptors as far as needed and allowed, and finds out whether anything listens.
pub fn prepare(plan: &Plan) -> Result<(), String> {
    let most = plan.steps.iter().map(|step| step.max_connections).max().unwrap_or(0);
    raise_descriptors(most + SPARE);
    if plan.keepalive { Ok(()) } else { probe(plan) }
}

fn raise_descriptors(wanted: u64) {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the pointer is to our own rlimit. If the limit cannot be raised, running out is counted and flagged.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &mut limit) == 0 && limit.rlim_cur < wanted {
            limit.rlim_cur = wanted.min(limit.rlim_max);
            libc::setrlimit(libc::RLIMIT_NOFILE, &limit);
        }
    }
}

/// Connects once, where no connections are opened before the start that would show it.
fn probe(plan: &Plan) -> Result<(), String> {
    let job = &plan.job;
    let wrong = |class: ErrorClass| format!("nothing could connect to {}: {}", job.url, class.name());
    let mut dialler = Dialler::new(&plan.address, &job.source, 0, false, true)?;
    let (socket, connected) = dialler.dial().map_err(|errno| wrong(ErrorClass::of_errno(errno)))?;
    if connected {
        return Ok(());
    }
    let mut wanted = libc::pollfd { fd: socket.as_raw_fd(), events: libc::POLLOUT, revents: 0 };
    let milliseconds = (plan.timeout / MILLISECOND) as libc::c_int;
    // SAFETY: the pointer is to our own entry, and one is what is announced.
    if unsafe { libc::poll(&mut wanted, 1, milliseconds) } != 1 {
        return Err(wrong(ErrorClass::Timeout));
    }
    pending_error(socket.as_raw_fd()).map_or(Ok(()), |errno| Err(wrong(ErrorClass::of_errno(errno))))
}

/// Gives the calling thread exact timers and, with `--pin`, a CPU of its own.
pub fn prepare_thread(lane: &Lane) {
    // SAFETY: no pointers. The slack of timers is 50 µs otherwise, see prctl(2), PR_SET_TIMERSLACK.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, 1) };
    if lane.plan.job.urgent {
        hurry();
    }
    if lane.plan.job.pin {
        pin(lane.thread);
    }
}

/// Lets the calling thread go before all others on its CPU, or at least before most. Real time first: niceness only counts
/// among the processes of one session where the kernel groups them by session (sched(7), autogroup).
fn hurry() {
    let priority = libc::sched_param { sched_priority: 1 };
    // SAFETY: the pointer is to our own parameters. Refused, we go on as before, and the send lag shows what that means.
    unsafe {
        if libc::sched_setscheduler(0, libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, &priority) != 0 {
            libc::setpriority(libc::PRIO_PROCESS, 0, -20);
        }
    }
}

/// Binds the calling thread to the CPU number `index` of those it may use.
fn pin(index: usize) {
    // SAFETY: cpu_set_t is plain bits, for which zeroes are valid; the pointers are to our own sets with their size.
    unsafe {
        let mut allowed: libc::cpu_set_t = std::mem::zeroed();
        if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut allowed) != 0 {
            return;
        }
        let cpus: Vec<usize> =
            (0..libc::CPU_SETSIZE as usize).filter(|&cpu| libc::CPU_ISSET(cpu, &allowed)).collect();
        let mut own: libc::cpu_set_t = std::mem::zeroed();
        libc::CPU_SET(cpus[index % cpus.len()], &mut own);
        libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &own);
    }
}
