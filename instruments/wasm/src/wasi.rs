//! WASI preview 1 for all engines: the calls of `wasmtime-wasi`, on a slice of memory and with plain numbers.
//!
//! Every engine gets the same host, so that what differs between them is the engine. [`for_each_call`] is the one list of
//! the calls; each engine expands it into its own kind of import.

use crate::counts::Counts;
use crate::host::Host;
use crate::stop::Stop;
use std::future::Future;
use std::pin::pin;
use wasmtime_wasi::p1::wasi_snapshot_preview1 as calls;
use wasmtime_wasi::p1::wasi_snapshot_preview1::WasiSnapshotPreview1;
use wasmtime_wasi::runtime::{in_tokio, poll_noop};
use wiggle::GuestMemory;

/// The name under which modules import the calls.
pub const MODULE: &str = "wasi_snapshot_preview1";
/// Bytes that one call may make the host copy; what `wasmtime` allows.
const COPIED_AT_MOST: usize = 128 << 20;

/// Expands `$each! { kind name(argument: type, …); … }` for all calls but `proc_exit`, which does not return. `now` calls
/// cannot wait, `wait` calls may.
macro_rules! for_each_call {
    ($each:ident) => {
        $each! {
            now args_get(a: i32, b: i32);
            now args_sizes_get(a: i32, b: i32);
            now environ_get(a: i32, b: i32);
            now environ_sizes_get(a: i32, b: i32);
            now clock_res_get(a: i32, b: i32);
            now clock_time_get(a: i32, b: i64, c: i32);
            wait fd_advise(a: i32, b: i64, c: i64, d: i32);
            now fd_allocate(a: i32, b: i64, c: i64);
            wait fd_close(a: i32);
            wait fd_datasync(a: i32);
            wait fd_fdstat_get(a: i32, b: i32);
            now fd_fdstat_set_flags(a: i32, b: i32);
            now fd_fdstat_set_rights(a: i32, b: i64, c: i64);
            wait fd_filestat_get(a: i32, b: i32);
            wait fd_filestat_set_size(a: i32, b: i64);
            wait fd_filestat_set_times(a: i32, b: i64, c: i64, d: i32);
            wait fd_pread(a: i32, b: i32, c: i32, d: i64, e: i32);
            now fd_prestat_get(a: i32, b: i32);
            now fd_prestat_dir_name(a: i32, b: i32, c: i32);
            wait fd_pwrite(a: i32, b: i32, c: i32, d: i64, e: i32);
            wait fd_read(a: i32, b: i32, c: i32, d: i32);
            wait fd_readdir(a: i32, b: i32, c: i32, d: i64, e: i32);
            wait fd_renumber(a: i32, b: i32);
            wait fd_seek(a: i32, b: i64, c: i32, d: i32);
            wait fd_sync(a: i32);
            now fd_tell(a: i32, b: i32);
            wait fd_write(a: i32, b: i32, c: i32, d: i32);
            wait path_create_directory(a: i32, b: i32, c: i32);
            wait path_filestat_get(a: i32, b: i32, c: i32, d: i32, e: i32);
            wait path_filestat_set_times(a: i32, b: i32, c: i32, d: i32, e: i64, f: i64, g: i32);
            wait path_link(a: i32, b: i32, c: i32, d: i32, e: i32, f: i32, g: i32);
            wait path_open(a: i32, b: i32, c: i32, d: i32, e: i32, f: i64, g: i64, h: i32, i: i32);
            wait path_readlink(a: i32, b: i32, c: i32, d: i32, e: i32, f: i32);
            wait path_remove_directory(a: i32, b: i32, c: i32);
            wait path_rename(a: i32, b: i32, c: i32, d: i32, e: i32, f: i32);
            wait path_symlink(a: i32, b: i32, c: i32, d: i32, e: i32);
            wait path_unlink_file(a: i32, b: i32, c: i32);
            wait poll_oneoff(a: i32, b: i32, c: i32, d: i32);
            now proc_raise(a: i32);
            now sched_yield();
            now random_get(a: i32, b: i32);
            now sock_accept(a: i32, b: i32, c: i32);
            now sock_recv(a: i32, b: i32, c: i32, d: i32, e: i32, f: i32);
            now sock_send(a: i32, b: i32, c: i32, d: i32, e: i32);
            now sock_shutdown(a: i32, b: i32);
        }
    };
}
pub(crate) use for_each_call;

macro_rules! result {
    (now $future:expr) => {
        $future
    };
    (wait $future:expr) => {
        settle($future)
    };
}

macro_rules! define {
    ($($kind:ident $name:ident($($argument:ident: $type:ty),*);)*) => {
        /// The calls: each takes the host's state, the module's memory and the arguments, and gives the call's errno.
        // WASI decides how many arguments a call has.
        #[allow(clippy::too_many_arguments)]
        pub mod call {
            use super::*;
            $(
                #[doc = concat!("WASI's `", stringify!($name), "`.")]
                ///
                /// # Errors
                /// What ends the module: a fault of the host's, never an errno.
                pub fn $name(host: &mut Host, memory: &mut [u8] $(, $argument: $type)*) -> Result<i32, Stop> {
                    host.wasi.set_hostcall_fuel(COPIED_AT_MOST);
                    let mut guest = GuestMemory::Unshared(memory);
                    let answer = result!($kind calls::$name(&mut host.wasi, &mut guest $(, $argument)*));
                    let errno = answer.map_err(Stop::from_host)?;
                    if host.counting {
                        let arguments: &[i64] = &[$(i64::from($argument)),*];
                        host.shared.counts().see(stringify!($name), errno, moved(stringify!($name), arguments, memory));
                    }
                    Ok(errno)
                }
            )*
        }
    };
}
for_each_call!(define);

/// WASI's `proc_exit`: what ends the module.
pub fn proc_exit(host: &mut Host, code: i32) -> Stop {
    if host.counting {
        host.shared.counts().see("proc_exit", 0, 0);
    }
    Stop::Exit(code)
}

/// The result of a call that may wait. Nearly all are ready at once, for files are used on this very thread.
fn settle<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    match poll_noop(future.as_mut()) {
        Some(output) => output,
        None => in_tokio(future),
    }
}

/// Bytes that a reading or writing call has moved: what it wrote to its last argument, a pointer.
fn moved(name: &str, arguments: &[i64], memory: &[u8]) -> u32 {
    if Counts::direction(name).is_none() {
        return 0;
    }
    let place = arguments.last().map_or(0, |&pointer| pointer as u32 as usize);
    let bytes = memory.get(place..place.saturating_add(4));
    bytes.map_or(0, |bytes| u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}
