//! How many connections each peer has open; that one is over its limit is logged at most once a minute.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::{Arc, Mutex, PoisonError};

use crate::telemetry::throttle::Throttle;

/// The bits of an IPv6 address that one peer cannot choose at will.
const NETWORK: u128 = u128::MAX << (128 - NETWORK_BITS);
const NETWORK_BITS: u32 = 64;

/// Connections of each peer, up to a limit.
#[derive(Debug)]
pub(in crate::server) struct Peers {
    limit: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
    /// All peers together: a peer that comes from many networks must not fill the log.
    refused: Throttle<()>,
}

/// The place of one connection; it is free again when this is dropped.
#[derive(Debug)]
pub(in crate::server) struct PeerPlace {
    peers: Arc<Peers>,
    peer: IpAddr,
}

impl Peers {
    pub(in crate::server) fn new(limit: usize) -> Self {
        Self {
            limit,
            open: Mutex::default(),
            refused: Throttle::default(),
        }
    }

    /// A place for a connection from an address, unless its peer has as many as it may.
    pub(in crate::server) fn enter(self: &Arc<Self>, address: IpAddr) -> Option<PeerPlace> {
        let peer = peer(address);
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let count = open.entry(peer).or_default();
        if self.limit <= *count {
            drop(open);
            self.tell(peer);
            return None;
        }
        *count += 1;
        Some(PeerPlace {
            peers: Arc::clone(self),
            peer,
        })
    }

    fn tell(&self, peer: IpAddr) {
        let peer = match peer {
            IpAddr::V4(address) => address.to_string(),
            IpAddr::V6(network) => format!("{network}/{NETWORK_BITS}"),
        };
        let limit = self.limit;
        match self.refused.count(()) {
            Some(count) => {
                tracing::warn!(
                    peer,
                    limit,
                    count,
                    "closed: too many connections of one peer"
                );
            }
            None => tracing::debug!(peer, limit, "closed: too many connections of one peer"),
        }
    }
}

impl Drop for PeerPlace {
    fn drop(&mut self) {
        let mut open = self
            .peers
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = open.get_mut(&self.peer) {
            *count -= 1;
            if *count == 0 {
                open.remove(&self.peer);
            }
        }
    }
}

/// An IPv4 address however it is written, or the network of an IPv6 address.
fn peer(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V4(address) => IpAddr::V4(address),
        IpAddr::V6(address) => IpAddr::V6(Ipv6Addr::from_bits(address.to_bits() & NETWORK)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_free_again_when_its_connection_ends_and_nothing_is_kept() {
        let peers = Arc::new(Peers::new(2));
        let enter = |address: &str| peers.enter(address.parse().unwrap());
        let first = enter("192.0.2.1");
        let second = enter("::ffff:192.0.2.1");
        assert!(first.is_some() && second.is_some());
        assert!(enter("192.0.2.1").is_none());
        let other = enter("192.0.2.2");
        assert!(other.is_some());
        drop(first);
        assert!(enter("192.0.2.1").is_some());
        drop((second, other));
        assert_eq!(peers.open.lock().unwrap().len(), 0);
    }

    #[test]
    fn addresses_of_one_ipv6_network_are_one_peer() {
        let peers = Arc::new(Peers::new(1));
        let enter = |address: &str| peers.enter(address.parse().unwrap());
        let first = enter("2001:db8:0:1::1");
        assert!(first.is_some());
        assert!(enter("2001:db8:0:1:ffff::2").is_none());
        assert!(enter("2001:db8:0:2::1").is_some());
    }
}
