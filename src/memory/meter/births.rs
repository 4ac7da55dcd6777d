//! [`Births`]: follows every process of a tree by the kernel's event of each fork, exec and exit (the process connector,
//! netlink).
//!
//! The kernel reports events only to a process with CAP_NET_ADMIN in the initial user and PID namespaces, and not in
//! most containers. Messages wait in the socket until they are read, so that none is missed between two samples unless
//! the socket overflows, which the kernel reports as well.

use std::collections::HashMap;

use rustix::fd::OwnedFd;
use rustix::io::write;

use crate::socket::{Received, netlink, receive, word};

/// `CN_IDX_PROC` and `CN_VAL_PROC` of linux/connector.h.
const PROC: u32 = 1;
/// `PROC_CN_MCAST_LISTEN` of linux/cn_proc.h.
const LISTEN: u32 = 1;
/// The kinds of events, in `what`.
const ACKNOWLEDGED: u32 = 0;
const FORK: u32 = 1;
const EXEC: u32 = 2;
const EXIT: u32 = 0x8000_0000;
/// Where an event begins behind the headers of netlink and of the connector, and its data behind its own head.
const EVENT: usize = 16 + 20;
const DATA: usize = EVENT + 16;
/// Room for what comes between two samples: some five thousand events.
const ROOM: libc::c_int = 4 << 20;

/// What a process of the tree did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    Forked { parent: u32, child: u32 },
    Executed(u32),
    Ended(u32),
}

impl Event {
    /// The process, if it executed a program.
    pub(crate) fn executed(&self) -> Option<u32> {
        if let Self::Executed(pid) = self { Some(*pid) } else { None }
    }
}

/// Counts the processes of a tree.
#[derive(Debug)]
pub(crate) struct Births {
    socket: OwnedFd,
    /// The processes of the tree that live, with the number of their threads.
    living: HashMap<u32, u64>,
    born: u64,
    /// Whether the kernel has confirmed that it reports events.
    confirmed: bool,
    /// Whether events were lost.
    lost: bool,
    /// What happened since [`Births::events`] was called, in order.
    events: Vec<Event>,
}

impl Births {
    /// Counts from now on, for the tree below `root`, which has no children yet; `None` if the kernel does not report
    /// events.
    pub(crate) fn watch(root: u32) -> Option<Self> {
        let socket = netlink(libc::NETLINK_CONNECTOR, PROC, ROOM)?;
        write(&socket, &listen()).ok()?;
        Some(Self {
            socket,
            living: HashMap::from([(root, 1)]),
            born: 1,
            confirmed: false,
            lost: false,
            events: Vec::new(),
        })
    }

    /// Reads the events since the last call.
    pub(crate) fn take(&mut self) {
        let mut bytes = [0; 512];
        while let Some(received) = receive(&self.socket, &mut bytes) {
            match received {
                Received::Message(message) => self.event(message),
                Received::Lost => self.lost = true,
            }
        }
    }

    fn event(&mut self, message: &[u8]) {
        let number = |at| word(message, at);
        match number(EVENT) {
            Some(ACKNOWLEDGED) => self.confirmed |= number(DATA) == Some(0),
            Some(FORK) => {
                let (Some(parent), Some(thread), Some(process)) =
                    (number(DATA + 4), number(DATA + 8), number(DATA + 12))
                else {
                    return;
                };
                if thread != process {
                    self.living.entry(process).and_modify(|threads| *threads += 1);
                } else if self.living.contains_key(&parent) && self.living.insert(process, 1).is_none() {
                    self.born += 1;
                    self.events.push(Event::Forked { parent, child: process });
                }
            }
            Some(EXEC) => {
                let Some(process) = number(DATA + 4).filter(|process| self.living.contains_key(process)) else {
                    return;
                };
                // All other threads have ended before, the first one, too, if another executes.
                self.living.insert(process, 1);
                self.events.push(Event::Executed(process));
            }
            Some(EXIT) => {
                // A process ends with its last thread, which need not be the first one.
                let Some(process) = number(DATA + 4) else { return };
                let Some(threads) = self.living.get_mut(&process) else { return };
                *threads = threads.saturating_sub(1);
                if *threads == 0 {
                    self.living.remove(&process);
                    self.events.push(Event::Ended(process));
                }
            }
            _ => {}
        }
    }

    /// What happened since the last call, in order; `None` if something may have been missed.
    pub(crate) fn events(&mut self) -> Option<Vec<Event>> {
        let events = std::mem::take(&mut self.events);
        (self.confirmed && !self.lost).then_some(events)
    }

    /// How many processes there were so far, and how many of them have ended; `None` if some may have been missed.
    pub(crate) fn counts(&self) -> Option<(u64, u64)> {
        (self.confirmed && !self.lost).then(|| (self.born, self.born.saturating_sub(self.living.len() as u64)))
    }
}

/// The request for events, in the headers of netlink and of the connector.
fn listen() -> Vec<u8> {
    /// `NLMSG_DONE`, and no flags in the other half.
    const DONE: u32 = if cfg!(target_endian = "little") { 3 } else { 3 << 16 };
    let length = (EVENT + 4) as u32;
    // Length; kind and flags; sequence; port. Then index, value, sequence, acknowledgement.
    let words = [length, DONE, 0, 0, PROC, PROC, 0, 0];
    let mut bytes: Vec<u8> = words.iter().flat_map(|word| word.to_ne_bytes()).collect();
    // The length of what follows, and flags.
    [4u16, 0].iter().for_each(|half| bytes.extend(half.to_ne_bytes()));
    bytes.extend(LISTEN.to_ne_bytes());
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn births() -> Births {
        let socket = std::fs::File::open("/dev/null").unwrap().into();
        Births { socket, living: HashMap::from([(10, 1)]), born: 1, confirmed: false, lost: false, events: Vec::new() }
    }

    fn message(what: u32, data: &[u32]) -> Vec<u8> {
        let mut bytes = vec![0; EVENT];
        [&[what, 0, 0, 0], data].concat().iter().for_each(|word| bytes.extend(word.to_ne_bytes()));
        bytes
    }

    #[test]
    fn forks_of_the_tree_count_and_threads_and_strangers_do_not() {
        let mut births = births();
        assert_eq!(births.counts(), None, "the kernel has not confirmed");
        for (what, data) in [
            (ACKNOWLEDGED, &[0][..]),
            (FORK, &[10, 10, 11, 11]),
            // A thread of 11, which forks.
            (FORK, &[11, 11, 12, 11]),
            (FORK, &[12, 11, 13, 13]),
            (FORK, &[77, 77, 78, 78]),
            (EXIT, &[12, 11, 0, 0]),
            (EXIT, &[13, 13, 0, 0]),
        ] {
            births.event(&message(what, data));
        }
        assert_eq!(births.counts(), Some((3, 1)));
        // The first thread ends before the last one, and a thread executes in place of the first.
        births.events();
        for (what, data) in [
            (FORK, &[11, 11, 14, 11][..]),
            (EXIT, &[11, 11, 0, 0]),
            (FORK, &[10, 10, 15, 10]),
            (EXIT, &[10, 10, 0, 0]),
            (EXEC, &[10, 10]),
        ] {
            births.event(&message(what, data));
        }
        assert_eq!(births.events(), Some(vec![Event::Executed(10)]));
        for thread in [14, 10] {
            births.event(&message(EXIT, &[thread, if thread == 14 { 11 } else { 10 }, 0, 0]));
        }
        assert_eq!(births.events(), Some(vec![Event::Ended(11), Event::Ended(10)]));
        births.lost = true;
        assert_eq!(births.counts(), None);
    }

    #[test]
    fn a_refusal_is_no_leave() {
        let mut births = births();
        births.event(&message(ACKNOWLEDGED, &[1]));
        assert_eq!(births.counts(), None);
    }

    proptest! {
        #[test]
        fn no_message_panics(bytes in prop::collection::vec(any::<u8>(), 0..120)) {
            births().event(&bytes);
        }
    }
}
