//! Where the load goes, and whether it may go there.

use std::net::{IpAddr, SocketAddr, ToSocketAddrs};
use std::path::PathBuf;

/// The address that connections are made to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    /// TCP.
    Tcp(SocketAddr),
    /// A Unix socket.
    Unix(PathBuf),
}

/// A URL, taken apart.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Url {
    /// The scheme is https.
    pub tls: bool,
    /// The name or address.
    pub host: String,
    /// The port, also where it was left out.
    pub port: u16,
    /// What goes into the Host field.
    pub authority: String,
    /// Path and query.
    pub path: String,
}

impl Url {
    /// Reads `http://host[:port][/path]` or `https://…`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = |why: &str| format!("URL {text:?}: {why}; write http://127.0.0.1:8080/path");
        let (scheme, rest) = text.split_once("://").ok_or_else(|| wrong("no scheme"))?;
        let tls = match scheme {
            "http" => false,
            "https" => true,
            _ => return Err(wrong("the scheme is neither http nor https")),
        };
        let split = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(split);
        let path = path.split('#').next().unwrap_or_default();
        let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
        if path.bytes().any(|byte| byte <= b' ' || byte == 0x7f) {
            return Err(wrong("a blank or control character in the path"));
        }
        let (host, port) = match authority.rsplit_once(':') {
            Some((host, port)) if !port.ends_with(']') => {
                (host, port.parse().map_err(|_| wrong("the port is not a number up to 65535"))?)
            }
            _ => (authority, if tls { 443 } else { 80 }),
        };
        let host = host.trim_start_matches('[').trim_end_matches(']');
        if host.is_empty() || host.contains(['@', ' ']) {
            return Err(wrong("no host, or one with a user name"));
        }
        Ok(Self { tls, host: host.to_owned(), port, authority: authority.to_owned(), path })
    }

    /// The first address of the host.
    pub fn resolve(&self) -> Result<SocketAddr, String> {
        (self.host.as_str(), self.port)
            .to_socket_addrs()
            .ok()
            .and_then(|mut found| found.next())
            .ok_or_else(|| format!("the host {:?} has no address", self.host))
    }
}

/// Whether the address is of this machine: loopback, or an address of one of the interfaces of this network
/// namespace.
pub fn is_local(address: IpAddr) -> bool {
    address.is_loopback() || own_addresses().contains(&address)
}

/// The addresses of this network namespace's interfaces, see getifaddrs(3).
fn own_addresses() -> Vec<IpAddr> {
    let mut list: *mut libc::ifaddrs = std::ptr::null_mut();
    let mut found = Vec::new();
    // SAFETY: getifaddrs fills the list, which is walked while it is alive and freed once.
    unsafe {
        if libc::getifaddrs(&mut list) != 0 {
            return found;
        }
        let mut entry = list;
        while !entry.is_null() {
            found.extend(address_of((*entry).ifa_addr));
            entry = (*entry).ifa_next;
        }
        libc::freeifaddrs(list);
    }
    found
}

/// The address in a sockaddr of IPv4 or IPv6.
///
/// # Safety
/// `address` is null or points to a whole sockaddr of the family it names.
unsafe fn address_of(address: *const libc::sockaddr) -> Option<IpAddr> {
    // SAFETY: the caller promises that the pointer is null or good for its family.
    unsafe {
        match i32::from(address.as_ref()?.sa_family) {
            libc::AF_INET => {
                let address = &*address.cast::<libc::sockaddr_in>();
                Some(IpAddr::V4(u32::from_be(address.sin_addr.s_addr).into()))
            }
            libc::AF_INET6 => {
                let address = &*address.cast::<libc::sockaddr_in6>();
                Some(IpAddr::V6(address.sin6_addr.s6_addr.into()))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls() {
        let url = Url::parse("http://localhost:8080/a?b=c#d").unwrap();
        assert_eq!(
            (url.tls, url.host.as_str(), url.port, url.path.as_str()),
            (false, "localhost", 8080, "/a?b=c")
        );
        assert_eq!(url.authority, "localhost:8080");
        assert_eq!(Url::parse("https://127.0.0.1").unwrap().port, 443);
        assert_eq!(Url::parse("http://127.0.0.1?x").unwrap().path, "/?x");
        let six = Url::parse("http://[::1]:80/").unwrap();
        assert_eq!((six.host.as_str(), six.port), ("::1", 80));
        assert_eq!(Url::parse("http://[::1]/").unwrap().host, "::1");
    }

    #[test]
    fn wrong_urls() {
        for wrong in [
            "",
            "localhost:80",
            "ftp://x/",
            "http://",
            "http://:80/",
            "http://a:b/",
            "http://a@b/",
            "http://a/b c",
        ] {
            assert!(Url::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn only_addresses_of_this_machine_are_local() {
        assert!(is_local("127.0.0.9".parse().unwrap()) && is_local("::1".parse().unwrap()));
        assert!(!is_local("192.0.2.1".parse().unwrap()), "a documentation address (RFC 5737) is nobody's");
    }
}
