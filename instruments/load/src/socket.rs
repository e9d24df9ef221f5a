//! Sockets as the kernel gives them: opened, connected, read and written without blocking.

use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::OsStrExt;

use crate::target::Address;

/// IP_BIND_ADDRESS_NO_PORT of ip(7): bind an address, and choose the port at connect, when the other end is known.
const IP_BIND_ADDRESS_NO_PORT: libc::c_int = 24;

/// An error number of errno(3).
pub type Errno = i32;

/// The last error number of this thread.
pub fn errno() -> Errno {
    std::io::Error::last_os_error().raw_os_error().unwrap_or(libc::EIO)
}

/// An address in the kernel's form.
#[derive(Clone, Copy)]
pub struct KernelAddress {
    storage: libc::sockaddr_storage,
    length: libc::socklen_t,
}

impl KernelAddress {
    /// The kernel's form of an address. The path of a Unix socket has at most 107 bytes.
    pub fn new(address: &Address) -> Result<Self, String> {
        match address {
            Address::Tcp(address) => Ok(Self::of_ip(*address)),
            Address::Unix(path) => {
                let bytes = path.as_os_str().as_bytes();
                // SAFETY: zeroes are a valid sockaddr_un.
                let mut un: libc::sockaddr_un = unsafe { std::mem::zeroed() };
                if bytes.is_empty() || bytes.len() >= un.sun_path.len() {
                    return Err(format!("--unix {}: a path of 1 to 107 bytes, please", path.display()));
                }
                un.sun_family = libc::AF_UNIX as libc::sa_family_t;
                for (place, byte) in un.sun_path.iter_mut().zip(bytes) {
                    *place = *byte as libc::c_char;
                }
                Ok(Self::of(un))
            }
        }
    }

    fn of_ip(address: SocketAddr) -> Self {
        match address {
            SocketAddr::V4(v4) => Self::of(libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr { s_addr: u32::from(*v4.ip()).to_be() },
                sin_zero: [0; 8],
            }),
            SocketAddr::V6(v6) => Self::of(libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr { s6_addr: v6.ip().octets() },
                sin6_scope_id: v6.scope_id(),
            }),
        }
    }

    fn of<T>(address: T) -> Self {
        assert!(size_of::<T>() <= size_of::<libc::sockaddr_storage>());
        // SAFETY: the storage is plain bytes, is large enough (asserted) and aligned for every address.
        let storage = unsafe {
            let mut storage: libc::sockaddr_storage = std::mem::zeroed();
            std::ptr::write((&raw mut storage).cast::<T>(), address);
            storage
        };
        Self { storage, length: size_of::<T>() as libc::socklen_t }
    }

    /// The address family.
    pub fn family(&self) -> libc::c_int {
        libc::c_int::from(self.storage.ss_family)
    }

    /// Pointer and length, for calls.
    pub fn raw(&self) -> (*const libc::sockaddr, libc::socklen_t) {
        ((&raw const self.storage).cast(), self.length)
    }
}

/// Where connections go and from where.
#[derive(Clone)]
pub struct Dialler {
    target: KernelAddress,
    sources: Vec<KernelAddress>,
    next_source: usize,
    no_delay: bool,
    reset_close: bool,
}

impl Dialler {
    /// A dialler; `first` says which of the sources comes first, so that threads differ.
    pub fn new(
        address: &Address,
        sources: &[IpAddr],
        first: usize,
        keepalive: bool,
        reset_close: bool,
    ) -> Result<Self, String> {
        let target = KernelAddress::new(address)?;
        let sources = sources.iter().map(|ip| KernelAddress::of_ip(SocketAddr::new(*ip, 0))).collect();
        // One write on a fresh connection is never delayed by Nagle's algorithm; only later ones can be.
        let no_delay = keepalive && matches!(address, Address::Tcp(_));
        Ok(Self { target, sources, next_source: first, no_delay, reset_close })
    }

    /// The address that is dialled.
    pub fn target(&self) -> &KernelAddress {
        &self.target
    }

    /// A new socket, bound to the next source if there are any, not yet connected.
    pub fn socket(&mut self) -> Result<OwnedFd, Errno> {
        let kind = libc::SOCK_STREAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
        // SAFETY: no pointers; a returned descriptor is new and ours alone.
        let socket = unsafe {
            let fd = libc::socket(self.target.family(), kind, 0);
            if fd < 0 {
                return Err(errno());
            }
            OwnedFd::from_raw_fd(fd)
        };
        if self.no_delay {
            set_option(&socket, libc::IPPROTO_TCP, libc::TCP_NODELAY, &1i32)?;
        }
        if self.reset_close {
            set_option(
                &socket,
                libc::SOL_SOCKET,
                libc::SO_LINGER,
                &libc::linger { l_onoff: 1, l_linger: 0 },
            )?;
        }
        if !self.sources.is_empty() {
            let source = self.sources[self.next_source % self.sources.len()];
            self.next_source += 1;
            set_option(&socket, libc::IPPROTO_IP, IP_BIND_ADDRESS_NO_PORT, &1i32)?;
            let (pointer, length) = source.raw();
            // SAFETY: the pointer and length are of one whole address, alive during the call.
            if unsafe { libc::bind(socket.as_raw_fd(), pointer, length) } != 0 {
                return Err(errno());
            }
        }
        Ok(socket)
    }

    /// A new socket on its way to be connected; `true` if it is connected already.
    pub fn dial(&mut self) -> Result<(OwnedFd, bool), Errno> {
        let socket = self.socket()?;
        let (pointer, length) = self.target.raw();
        // SAFETY: the pointer and length are of one whole address, alive during the call.
        if unsafe { libc::connect(socket.as_raw_fd(), pointer, length) } == 0 {
            return Ok((socket, true));
        }
        match errno() {
            libc::EINPROGRESS => Ok((socket, false)),
            // A Unix socket whose backlog is full says so at once.
            errno => Err(errno),
        }
    }
}

/// Sets an option of a socket.
pub fn set_option<T>(
    socket: &impl AsRawFd,
    level: libc::c_int,
    name: libc::c_int,
    value: &T,
) -> Result<(), Errno> {
    // SAFETY: the pointer is to a whole value of the size given, alive during the call.
    let result = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            name,
            (value as *const T).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if result == 0 { Ok(()) } else { Err(errno()) }
}

/// The error that a connection in progress ended in, or nothing (SO_ERROR of socket(7)).
pub fn pending_error(fd: RawFd) -> Option<Errno> {
    let mut error: libc::c_int = 0;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointers are to our own values of the sizes given.
    let result = unsafe {
        libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_ERROR, (&raw mut error).cast(), &mut length)
    };
    match (result, error) {
        (0, 0) => None,
        (0, error) => Some(error),
        _ => Some(errno()),
    }
}

/// Reads what is there; `Ok(0)` is the end, `None` is nothing there yet.
#[inline]
pub fn receive(fd: RawFd, buffer: &mut [u8]) -> Option<Result<usize, Errno>> {
    // SAFETY: the pointer and length are of one writable buffer.
    let count = unsafe { libc::recv(fd, buffer.as_mut_ptr().cast(), buffer.len(), 0) };
    if count >= 0 { Some(Ok(count as usize)) } else { refused_or_later() }
}

/// Writes what fits; `None` is nothing fits now.
#[inline]
pub fn send(fd: RawFd, bytes: &[u8]) -> Option<Result<usize, Errno>> {
    // SAFETY: the pointer and length are of one readable buffer. MSG_NOSIGNAL: a closed connection is an error, not a signal.
    let count = unsafe { libc::send(fd, bytes.as_ptr().cast(), bytes.len(), libc::MSG_NOSIGNAL) };
    if count >= 0 { Some(Ok(count as usize)) } else { refused_or_later() }
}

/// What a call that failed means: an error, or nothing there now.
#[cold]
pub fn refused_or_later() -> Option<Result<usize, Errno>> {
    match errno() {
        libc::EAGAIN | libc::EINTR => None,
        errno => Some(Err(errno)),
    }
}
