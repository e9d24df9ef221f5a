//! Starting the command with as little as possible between the clock's start and its first instruction.
//!
//! The child shares our memory until it starts the command (like vfork), so that nothing is copied and it can tell us when
//! it did so, or why it could not, by writing into a struct of ours.

use crate::args::CpuList;
use crate::cgroup::Entry;
use std::ffi::{CStr, CString};
use std::io;
use std::os::fd::RawFd;
use std::ptr;

/// Everything that a start needs, made before, because a child that shares our memory must not allocate any.
pub struct Launch {
    /// The program's path.
    pub program: CString,
    /// Its arguments, beginning with its name.
    pub arguments: Vec<CString>,
    /// Its environment, `KEY=VALUE` each.
    pub environment: Vec<CString>,
    /// Its working directory.
    pub cwd: Option<CString>,
    /// CPUs that it is bound to, where no group does that.
    pub cpus: Option<CpuList>,
}

/// Standard input, output and error of the command.
#[derive(Debug, Clone, Copy)]
pub struct Streams {
    /// Read by the command.
    pub stdin: RawFd,
    /// Written by the command.
    pub stdout: RawFd,
    /// Written by the command.
    pub stderr: RawFd,
}

/// A started root process.
#[derive(Debug, Clone, Copy)]
pub struct Started {
    /// Its process id.
    pub pid: i32,
    /// CLOCK_MONOTONIC in nanoseconds, just before exec.
    pub at_ns: u64,
}

/// What was being done when a start failed.
const STAGES: [&str; 6] = [
    "cannot start",
    "cannot enter the control group for",
    "cannot connect the streams of",
    "cannot bind the CPUs of",
    "cannot enter the working directory of",
    "the instrument ended while starting",
];

/// What the child reads and writes while it shares our memory.
struct Shared<'a> {
    launch: &'a Launch,
    argv: Vec<*const libc::c_char>,
    envp: Vec<*const libc::c_char>,
    join: &'a [RawFd],
    streams: Streams,
    affinity: Option<libc::cpu_set_t>,
    parent: i32,
    /// Written by the child.
    at_ns: u64,
    /// Written by the child: the error number, and the index of the stage that failed.
    failure: Option<(i32, usize)>,
}

/// A stack for the child, with room for a few calls.
const STACK_BYTES: usize = 64 * 1024;

impl Launch {
    /// Starts the command inside the group.
    ///
    /// # Errors
    /// What failed and why, as one text in an `io::Error`.
    pub fn start(&self, entry: &Entry, streams: Streams) -> io::Result<Started> {
        let mut shared = Shared {
            launch: self,
            argv: pointers(&self.arguments),
            envp: pointers(&self.environment),
            join: &entry.join,
            streams,
            affinity: self.cpus.as_ref().map(affinity),
            parent: std::process::id() as i32,
            at_ns: 0,
            failure: None,
        };
        let mut stack = vec![0u128; STACK_BYTES / 16];
        let pid = match entry.born_in.and_then(|group| birth::into_group(group, &mut stack, &mut shared)) {
            Some(pid) => pid,
            None => clone_like_vfork(&mut stack, &mut shared)?,
        };
        // SAFETY: a plain volatile read of our own field; the child has written to it behind the compiler's back.
        let (failure, at_ns) = unsafe {
            (ptr::read_volatile(&raw const shared.failure), ptr::read_volatile(&raw const shared.at_ns))
        };
        if let Some((number, stage)) = failure {
            // SAFETY: waiting for our own child, which has ended.
            unsafe { libc::waitpid(pid, ptr::null_mut(), 0) };
            let error = io::Error::from_raw_os_error(number);
            let program = self.program.to_string_lossy();
            return Err(io::Error::new(error.kind(), format!("{} {program}: {error}", STAGES[stage])));
        }
        Ok(Started { pid, at_ns })
    }
}

fn pointers(texts: &[CString]) -> Vec<*const libc::c_char> {
    texts.iter().map(|text| text.as_ptr()).chain([ptr::null()]).collect()
}

fn affinity(cpus: &CpuList) -> libc::cpu_set_t {
    // SAFETY: an all-zero set is a valid, empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    for &cpu in &cpus.0 {
        // SAFETY: CPU numbers were checked against the size of the set when they were read.
        unsafe { libc::CPU_SET(cpu, &mut set) };
    }
    set
}

fn clone_like_vfork(stack: &mut [u128], shared: &mut Shared) -> io::Result<i32> {
    let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
    // SAFETY: the stack's end is aligned and its memory outlives the child's use of it, since the call returns only when the
    // child has started another program or has ended. So does `shared`.
    let pid = unsafe {
        libc::clone(child_main, stack.as_mut_ptr_range().end.cast(), flags, ptr::from_mut(shared).cast())
    };
    if pid < 0 { Err(io::Error::last_os_error()) } else { Ok(pid) }
}

/// Birth straight into a group of version 2. Joining one later takes a lock of the whole machine, which may take
/// milliseconds.
mod birth {
    use super::{STACK_BYTES, Shared, child_main};
    use std::os::fd::RawFd;
    use std::ptr;

    /// The kernel's `struct clone_args`.
    #[repr(C)]
    #[derive(Default)]
    struct CloneArgs {
        flags: u64,
        pidfd: u64,
        child_tid: u64,
        parent_tid: u64,
        exit_signal: u64,
        stack: u64,
        stack_size: u64,
        tls: u64,
        set_tid: u64,
        set_tid_size: u64,
        cgroup: u64,
    }

    const CLONE_INTO_CGROUP: u64 = 0x2_0000_0000;

    /// The child's process id; None if the kernel cannot do it, and then the child joins by itself.
    #[cfg(target_arch = "x86_64")]
    pub fn into_group(group: RawFd, stack: &mut [u128], shared: &mut Shared) -> Option<i32> {
        let arguments = CloneArgs {
            flags: (libc::CLONE_VM | libc::CLONE_VFORK) as u64 | CLONE_INTO_CGROUP,
            exit_signal: libc::SIGCHLD as u64,
            stack: stack.as_mut_ptr() as u64,
            stack_size: STACK_BYTES as u64,
            cgroup: group as u64,
            ..CloneArgs::default()
        };
        let joins = std::mem::take(&mut shared.join);
        let result: i64;
        // SAFETY: the child runs on its own stack and never comes back from `child_main`, so this frame is the parent's
        // alone. The parent goes on only when the child has started another program or has ended. `shared` lives as long.
        unsafe {
            std::arch::asm!(
                "syscall",
                "test rax, rax",
                "jnz 2f",
                "xor ebp, ebp",
                "mov rdi, r12",
                "call r13",
                "ud2",
                "2:",
                inlateout("rax") libc::SYS_clone3 => result,
                in("rdi") &raw const arguments,
                in("rsi") size_of::<CloneArgs>(),
                in("r12") ptr::from_mut(shared),
                in("r13") child_main as *const (),
                lateout("rcx") _,
                lateout("r11") _,
            );
        }
        if result < 0 {
            shared.join = joins;
            return None;
        }
        Some(result as i32)
    }

    /// Other machines join by writing.
    #[cfg(not(target_arch = "x86_64"))]
    pub fn into_group(_: RawFd, _: &mut [u128], _: &mut Shared) -> Option<i32> {
        let _ = (STACK_BYTES, child_main, CLONE_INTO_CGROUP, CloneArgs::default(), ptr::null::<u8>());
        None
    }
}

/// The child's life until the command's. It must neither allocate nor return.
extern "C" fn child_main(shared: *mut libc::c_void) -> libc::c_int {
    // SAFETY: the parent passed its `Shared` and waits, so nobody else uses it.
    let shared = unsafe { &mut *shared.cast::<Shared>() };
    let stage = match prepare(shared) {
        Ok(()) => {
            shared.at_ns = bakeoff_share::clock::now_ns();
            // SAFETY: the program and both arrays are valid C strings and end with a null pointer.
            unsafe {
                libc::execve(shared.launch.program.as_ptr(), shared.argv.as_ptr(), shared.envp.as_ptr())
            };
            0
        }
        Err(stage) => stage,
    };
    let number = io::Error::last_os_error().raw_os_error().unwrap_or(0);
    shared.failure = Some((number, stage));
    // SAFETY: _exit runs none of the handlers of the program whose memory is shared.
    unsafe { libc::_exit(127) }
}

/// Makes the child what the command shall find; the error is the index of the stage that failed.
fn prepare(shared: &Shared) -> Result<(), usize> {
    // SAFETY: all pointers come from values that live in the waiting parent, and every call is allowed in a child that
    // shares memory.
    unsafe {
        // If the instrument is killed outright, at least the root goes with it.
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid() != shared.parent {
            return Err(5);
        }
        // A session of its own: no terminal's or group's signal reaches the tree by accident.
        libc::setsid();
        for &file in shared.join {
            if libc::write(file, c"0".as_ptr().cast(), 1) != 1 {
                return Err(1);
            }
        }
        let Streams { stdin, stdout, stderr } = shared.streams;
        if libc::dup2(stdin, 0) < 0 || libc::dup2(stdout, 1) < 0 || libc::dup2(stderr, 2) < 0 {
            return Err(2);
        }
        if let Some(set) = &shared.affinity
            && libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), set) != 0
        {
            return Err(3);
        }
        if let Some(cwd) = &shared.launch.cwd
            && libc::chdir(cwd.as_ptr()) != 0
        {
            return Err(4);
        }
        // Whoever started us may have had signals ignored; the command shall not depend on that.
        for signal in 1..32 {
            libc::signal(signal, libc::SIG_DFL);
        }
        let mut none: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut none);
        libc::sigprocmask(libc::SIG_SETMASK, &raw const none, ptr::null_mut());
    }
    Ok(())
}

/// Finds a program as a shell would: names with a slash are paths, others are looked for in the folders of `path`.
///
/// # Errors
/// A text that says where it was looked for.
pub fn find_program(name: &str, path: Option<&str>) -> Result<CString, String> {
    let c_string = |text: &str| CString::new(text).map_err(|_| format!("{name:?} holds a zero byte"));
    if name.contains('/') {
        return c_string(name);
    }
    let path = path.unwrap_or("/usr/local/bin:/usr/bin:/bin");
    for folder in path.split(':') {
        let candidate = c_string(&format!("{}/{name}", if folder.is_empty() { "." } else { folder }))?;
        if is_executable(&candidate) {
            return Ok(candidate);
        }
    }
    Err(format!("there is no program {name} in PATH ({path}); install it, or give its path"))
}

fn is_executable(path: &CStr) -> bool {
    // SAFETY: the path is a valid C string.
    let allowed = unsafe { libc::access(path.as_ptr(), libc::X_OK) == 0 };
    allowed && path.to_str().is_ok_and(|path| std::path::Path::new(path).is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_found_in_the_path() {
        assert_eq!(find_program("./x", None).unwrap().as_c_str(), c"./x");
        assert!(find_program("sh", Some("/nowhere:/bin")).is_ok());
        let why = find_program("no-such-program", Some("/bin")).unwrap_err();
        assert!(why.contains("no-such-program") && why.contains("/bin"), "{why}");
    }
}
