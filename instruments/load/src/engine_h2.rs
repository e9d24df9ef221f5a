//! The engine of HTTP/2: the crates `h2` and tokio, with a runtime of its own on each thread and a timer of the kernel for
//! punctual arrivals (tokio's own has a grain of 1 ms).

use std::cell::{Cell, RefCell};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use h2::client::SendRequest;
use tokio::io::unix::AsyncFd;
use tokio::sync::Notify;

use crate::clock::{self, MILLISECOND, now};
use crate::errors::ErrorClass;
use crate::h2_connection::{self, Traffic};
use crate::lane::Lane;
use crate::socket::Dialler;
use crate::worker::{Exchange, Summary, Times, Worker};

/// Pause after a failure to connect.
const PAUSE: Duration = Duration::from_millis(50);
/// The longest wait between two looks at the clock.
const LONGEST: u64 = 50 * MILLISECOND;

/// One place for a connection.
#[derive(Default)]
struct Place {
    sender: RefCell<Option<SendRequest<Bytes>>>,
    streams: Cell<u64>,
}

/// What the tasks of a thread share.
struct Shared {
    lane: Lane,
    worker: RefCell<Worker>,
    places: Vec<Place>,
    open: Cell<u64>,
    /// Something has changed: a stream has ended, a connection has come, a moment has come.
    news: Notify,
    dialler: Rc<RefCell<Dialler>>,
    traffic: Rc<Traffic>,
    counted: Cell<(u64, u64)>,
    streams: u64,
}

/// Runs a thread's share of a step.
pub fn run(lane: Lane) -> Result<Summary, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("the runtime of HTTP/2: {error}"))?;
    let local = tokio::task::LocalSet::new();
    let result = local.block_on(&runtime, load(lane));
    drop(local);
    result
}

async fn load(lane: Lane) -> Result<Summary, String> {
    let plan = lane.plan.clone();
    let job = &plan.job;
    let dialler = Dialler::new(&plan.address, &job.source, lane.thread, true, job.reset_close)?;
    let never = Times { start: u64::MAX, measure: u64::MAX, end: u64::MAX, drain: u64::MAX };
    let worker = Worker::new(plan.clone(), &lane.step, lane.thread, never, lane.reports.clone());
    let paced = lane.step.rate.is_some();
    let shared = Rc::new(Shared {
        worker: RefCell::new(worker),
        places: (0..lane.step.connections).map(|_| Place::default()).collect(),
        open: Cell::new(0),
        news: Notify::new(),
        dialler: Rc::new(RefCell::new(dialler)),
        traffic: Rc::default(),
        counted: Cell::default(),
        streams: job.streams.unwrap_or(if paced { 100 } else { 1 }),
        lane,
    });
    for place in 0..shared.places.len() {
        tokio::task::spawn_local(keep_open(shared.clone(), place));
    }
    let alarm = Alarm::new(shared.clone())?;
    let deadline = now() + plan.timeout;
    while shared.open.get() < shared.lane.step.connections && now() < deadline && !shared.is_hopeless() {
        alarm.wait(&shared, now() + 5 * MILLISECOND).await;
    }
    let Some(start) = shared.lane.gate.wait(shared.open.get()) else {
        return Ok(std::mem::take(&mut shared.worker.borrow_mut().summary));
    };
    clock::sleep_until(start);
    shared.begin(start);
    drive(&shared, &alarm).await;
    Ok(shared.finish())
}

/// The turns of the loop: sends what is due while there is room, then waits for news.
async fn drive(shared: &Rc<Shared>, alarm: &Alarm) {
    loop {
        let time = now();
        let until = {
            let mut worker = shared.worker.borrow_mut();
            shared.count(&mut worker);
            worker.tick(time);
            if worker.is_over(time) || shared.lane.gate.is_stopped() {
                return;
            }
            (time + LONGEST).min(worker.next_tick())
        };
        let full = dispatch(shared, time);
        let due = shared.worker.borrow().next_due().filter(|_| !full);
        alarm.wait(shared, due.map_or(until, |due| until.min(due))).await;
    }
}

/// Sends what is due; `true` where there was no room for all of it.
fn dispatch(shared: &Rc<Shared>, time: u64) -> bool {
    loop {
        let mut worker = shared.worker.borrow_mut();
        if worker.is_paced() && worker.next_due().is_none_or(|due| due > time) {
            return false;
        }
        let Some(place) = shared.free_place() else {
            worker.starve(time);
            return true;
        };
        let Some(due) = worker.take_due(time) else { return false };
        let mut exchange = Exchange::default();
        worker.begin(&mut exchange, due, now());
        drop(worker);
        tokio::task::spawn_local(carry(shared.clone(), place, exchange));
    }
}

/// Carries one exchange out.
async fn carry(shared: Rc<Shared>, place: usize, exchange: Exchange) {
    let at = &shared.places[place];
    at.streams.set(at.streams.get() + 1);
    let template = exchange.template;
    let exchange = RefCell::new(exchange);
    let sender = at.sender.borrow().clone();
    let plan = &shared.lane.plan;
    let request = h2_connection::request(plan, &plan.templates[template], shared.worker.borrow_mut().fill());
    let verdict = match (sender, request) {
        (Some(sender), Ok(request)) => {
            let on_status =
                |status| shared.worker.borrow_mut().receive_status(&mut exchange.borrow_mut(), status);
            let on_piece =
                |piece: &[u8]| shared.worker.borrow_mut().receive_piece(&mut exchange.borrow_mut(), piece);
            let whole = h2_connection::exchange(sender, request, on_status, on_piece);
            tokio::time::timeout(Duration::from_nanos(plan.timeout), whole)
                .await
                .unwrap_or(Err(ErrorClass::Timeout))
        }
        (None, _) => Err(ErrorClass::Reset),
        (_, Err(class)) => Err(class),
    };
    shared.worker.borrow_mut().conclude(&mut exchange.borrow_mut(), verdict, now());
    at.streams.set(at.streams.get() - 1);
    shared.news.notify_one();
}

/// Keeps a place connected, as long as the thread lives.
async fn keep_open(shared: Rc<Shared>, place: usize) {
    loop {
        let began = now();
        let lost = Rc::new(Notify::new());
        let losing = lost.clone();
        let opening = h2_connection::open(
            &shared.lane.plan,
            shared.dialler.clone(),
            shared.traffic.clone(),
            move || losing.notify_one(),
        );
        let timeout = Duration::from_nanos(shared.lane.plan.timeout);
        match tokio::time::timeout(timeout, opening).await.unwrap_or(Err(ErrorClass::Timeout)) {
            Ok(sender) => {
                shared.opened(place, sender, now() - began);
                lost.notified().await;
                *shared.places[place].sender.borrow_mut() = None;
                shared.open.set(shared.open.get() - 1);
            }
            Err(class) => {
                let mut worker = shared.worker.borrow_mut();
                worker.summary.openings.failures.add(class);
                if shared.open.get() == 0 {
                    worker.fail_due(class, now());
                }
            }
        }
        shared.news.notify_one();
        tokio::time::sleep(PAUSE).await;
    }
}

impl Shared {
    /// A connection has been opened.
    fn opened(&self, place: usize, sender: SendRequest<Bytes>, span: u64) {
        *self.places[place].sender.borrow_mut() = Some(sender);
        self.open.set(self.open.get() + 1);
        let mut worker = self.worker.borrow_mut();
        worker.summary.openings.opened(span);
        worker.summary.connections = worker.summary.connections.max(self.open.get());
        self.news.notify_one();
    }

    /// Nothing is open and enough has failed.
    fn is_hopeless(&self) -> bool {
        let failures = self.worker.borrow().summary.openings.failures.total();
        self.lane.gate.is_stopped() || (self.open.get() == 0 && failures > self.lane.step.connections)
    }

    /// The load begins.
    fn begin(&self, start: u64) {
        let (plan, step) = (&self.lane.plan, &self.lane.step);
        let times = Times::new(start, plan, step);
        let mut worker = self.worker.borrow_mut();
        let summary = std::mem::take(&mut worker.summary);
        *worker = Worker::new(plan.clone(), step, self.lane.thread, times, self.lane.reports.clone());
        worker.summary = summary;
    }

    /// The connection with the fewest streams, if it has room for one more.
    fn free_place(&self) -> Option<usize> {
        let connected = (0..self.places.len()).filter(|&place| self.places[place].sender.borrow().is_some());
        let place = connected.min_by_key(|&place| self.places[place].streams.get())?;
        (self.places[place].streams.get() < self.streams).then_some(place)
    }

    /// Hands the traffic since the last time to the worker.
    fn count(&self, worker: &mut Worker) {
        let (read, written) = (self.traffic.read.get(), self.traffic.written.get());
        let (read_before, written_before) = self.counted.replace((read, written));
        worker.traffic(read - read_before, written - written_before);
    }

    /// Gives up what is still under way, and ends.
    fn finish(&self) -> Summary {
        let time = now();
        let (plan, step) = (&self.lane.plan, &self.lane.step);
        let never = Times { start: u64::MAX, measure: u64::MAX, end: u64::MAX, drain: u64::MAX };
        let spare = Worker::new(plan.clone(), step, self.lane.thread, never, self.lane.reports.clone());
        let mut worker = self.worker.replace(spare);
        self.count(&mut worker);
        worker.abandon_in_flight();
        worker.finish(time)
    }
}

/// A timer of the kernel that makes news.
struct Alarm {
    timer: Rc<AsyncFd<OwnedFd>>,
}

impl Alarm {
    fn new(shared: Rc<Shared>) -> Result<Self, String> {
        // SAFETY: no pointers; a returned descriptor is new and ours alone.
        let timer = unsafe {
            let fd = libc::timerfd_create(libc::CLOCK_MONOTONIC, libc::TFD_NONBLOCK | libc::TFD_CLOEXEC);
            if fd < 0 {
                return Err(format!("timerfd_create: {}", std::io::Error::last_os_error()));
            }
            OwnedFd::from_raw_fd(fd)
        };
        // SAFETY: the descriptor is owned by the registration and is closed with it, not before.
        let timer = unsafe { AsyncFd::register(timer) }.map_err(|error| format!("timerfd: {error}"))?;
        let timer = Rc::new(timer);
        let ringing = timer.clone();
        tokio::task::spawn_local(async move {
            while let Ok(mut ready) = ringing.readable().await {
                let mut count = [0u8; 8];
                // SAFETY: the pointer is to our own 8 bytes.
                unsafe { libc::read(ringing.as_raw_fd(), count.as_mut_ptr().cast(), 8) };
                ready.clear_ready();
                shared.news.notify_one();
            }
        });
        Ok(Self { timer })
    }

    /// Waits for news, at most until `moment` on the clock.
    async fn wait(&self, shared: &Shared, moment: u64) {
        let zero = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let setting = libc::itimerspec { it_interval: zero, it_value: clock::timespec(moment.max(1)) };
        // SAFETY: the pointer is to our own setting; the old one is not asked for.
        unsafe {
            libc::timerfd_settime(
                self.timer.as_raw_fd(),
                libc::TFD_TIMER_ABSTIME,
                &setting,
                std::ptr::null_mut(),
            );
        }
        shared.news.notified().await;
    }
}
