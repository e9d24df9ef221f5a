//! A small fast HTTP/1.1 server: one thread, edge-triggered epoll, one fixed answer.
//!
//!     fast [--host ADDRESS] [--port PORT]

use load_generator_server::{
    BATCH, Connections, Epoll, Event, LISTENER, Order, Record, date, is_over, listen, take_first_cpu,
};

fn main() -> std::io::Result<()> {
    take_first_cpu();
    let listener = listen()?;
    let epoll = Epoll::new(&listener);
    let mut connections = Connections::default();
    let mut record = Record::new();
    let mut events = [Event { events: 0, u64: 0 }; BATCH];
    let mut buffer = vec![0; 65_536];
    loop {
        let count = epoll.wait(&mut events, 1_000_000_000);
        let now = date();
        for event in &events[..count] {
            match event.u64 {
                LISTENER => connections.accept(&listener, &epoll, |_| {}),
                key => {
                    let goes_on = serve(&mut connections, key as usize, &mut buffer, &mut record, now);
                    if !goes_on || is_over(event) {
                        connections.close(key as usize);
                    }
                }
            }
        }
    }
}

/// Answers the requests that are there; `false` when the connection is over.
fn serve(
    connections: &mut Connections,
    index: usize,
    buffer: &mut [u8],
    record: &mut Record,
    now: u64,
) -> bool {
    let Some(connection) = connections.get(index) else { return true };
    loop {
        let Some(count) = connection.read(buffer) else { return true };
        if count == 0 {
            return false;
        }
        match Order::of(&buffer[..count]) {
            Some(Order::Reset) => {
                *record = Record::new();
                connection.tell("{}");
                return false;
            }
            Some(Order::Report { .. }) => {
                connection.tell(&format!("{{{}}}", record.json()));
                return false;
            }
            None => {}
        }
        let ended = connection.requests(&buffer[..count]);
        record.came(ended, now);
        if !(0..ended).all(|_| connection.answer()) {
            return false;
        }
        if count < buffer.len() {
            return true;
        }
    }
}
