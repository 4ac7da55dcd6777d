//! [`Exits`]: the high-water mark of every process that ends, as the kernel reports it at its exit (taskstats, generic
//! netlink).
//!
//! The kernel reports to a process with CAP_NET_ADMIN in the initial user and PID namespaces. A report is sent before
//! the process releases its memory, so that it waits in the socket once `/proc` shows that the process has none.

use std::collections::HashMap;
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::{read, write};

use crate::bytes::{ByteSize, KIB};
use crate::socket::{Received, netlink, receive, word};

/// `GENL_ID_CTRL`, `CTRL_CMD_GETFAMILY`, `CTRL_ATTR_FAMILY_ID` and `CTRL_ATTR_FAMILY_NAME` of linux/genetlink.h.
const CONTROL: u16 = 16;
const GET_FAMILY: u8 = 3;
const FAMILY_ID: u16 = 1;
const FAMILY_NAME: u16 = 2;
/// `TASKSTATS_CMD_GET` and `TASKSTATS_CMD_ATTR_REGISTER_CPUMASK` of linux/taskstats.h.
const GET: u8 = 1;
const REGISTER: u16 = 3;
/// `TASKSTATS_TYPE_STATS` and `TASKSTATS_TYPE_AGGR_PID`.
const STATS: u16 = 3;
const OF_THREAD: u16 = 4;
/// `NLMSG_ERROR`, which also acknowledges, `NLM_F_REQUEST` and `NLM_F_ACK` of linux/netlink.h.
const ACKNOWLEDGED: u16 = 2;
const REQUEST: u16 = 1;
const ACKNOWLEDGE: u16 = 4;
/// Where the attributes of a message begin: behind the headers of netlink and of generic netlink.
const ATTRIBUTES: usize = 16 + 4;
/// The first version of `struct taskstats` with the process that a thread belongs to (Linux 5.19).
const HAS_PROCESS: u16 = 12;
/// Room for what comes between two samples: some two thousand exits.
const ROOM: libc::c_int = 4 << 20;

/// A process that has ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exit {
    /// The largest resident set of its last program.
    pub(crate) mark: ByteSize,
    /// How long it has lived.
    pub(crate) lived: Duration,
    /// The name of its command.
    pub(crate) name: String,
}

/// Receives the mark of every process that ends on this machine.
#[derive(Debug)]
pub(crate) struct Exits {
    socket: OwnedFd,
    ended: HashMap<u32, Exit>,
    lost: bool,
}

impl Exits {
    /// Receives from now on; `None` if the kernel does not report exits to this process.
    pub(crate) fn watch() -> Option<Self> {
        let socket = netlink(libc::NETLINK_GENERIC, 0, ROOM)?;
        let ask = |family, flags, command, kind, text: &str| {
            write(&socket, &request(family, flags, command, kind, text)).ok()?;
            let mut answer = [0; 1024];
            let length = read(&socket, &mut answer).ok()?;
            Some(answer[..length].to_vec())
        };
        let family = family(&ask(CONTROL, REQUEST, GET_FAMILY, FAMILY_NAME, "TASKSTATS")?)?;
        let processors = std::fs::read_to_string("/sys/devices/system/cpu/possible").ok()?;
        let answer = ask(family, REQUEST | ACKNOWLEDGE, GET, REGISTER, processors.trim_end())?;
        let accepted = half(&answer, 4) == Some(ACKNOWLEDGED) && word(&answer, 16) == Some(0);
        accepted.then(|| Self { socket, ended: HashMap::new(), lost: false })
    }

    /// Reads the reports since the last call. Returns the processes that have ended and were not forgotten yet; `None`
    /// if some may have been missed.
    pub(crate) fn take(&mut self) -> Option<&mut HashMap<u32, Exit>> {
        let mut bytes = [0; 2048];
        while let Some(received) = receive(&self.socket, &mut bytes) {
            match received {
                Received::Message(message) => self.report(message),
                Received::Lost => self.lost = true,
            }
        }
        if self.lost { None } else { Some(&mut self.ended) }
    }

    fn report(&mut self, message: &[u8]) {
        let of_thread = attributes(message.get(ATTRIBUTES..).unwrap_or_default()).find(|(kind, _)| *kind == OF_THREAD);
        let stats = of_thread.and_then(|(_, parts)| attributes(parts).find(|(kind, _)| *kind == STATS));
        match stats.and_then(|(_, stats)| parse(stats)) {
            Some((process, is_main, exit)) => {
                // Each thread is reported, with the mark of the memory that all of them share.
                let known = self.ended.entry(process).or_default();
                known.mark = known.mark.max(exit.mark);
                known.lived = known.lived.max(exit.lived);
                if is_main || known.name.is_empty() {
                    known.name = exit.name;
                }
            }
            // An older kernel, or something unknown.
            None => self.lost = true,
        }
    }
}

/// The process of `struct taskstats`, whether it is about its main thread, and what it says.
fn parse(stats: &[u8]) -> Option<(u32, bool, Exit)> {
    let long = |at: usize| Some(u64::from_ne_bytes(stats.get(at..at + 8)?.try_into().ok()?));
    if half(stats, 0)? < HAS_PROCESS {
        return None;
    }
    let name = stats.get(80..112)?.split(|byte| *byte == 0).next().unwrap_or_default();
    let (thread, process) = (word(stats, 128)?, word(stats, 368)?);
    let exit = Exit {
        mark: ByteSize::new(long(200)?.saturating_mul(KIB)),
        lived: Duration::from_micros(long(376)?),
        name: String::from_utf8_lossy(name).into_owned(),
    };
    Some((process, thread == process, exit))
}

/// The attributes in `bytes`, each with its kind.
fn attributes(mut bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    std::iter::from_fn(move || {
        let (length, kind) = (usize::from(half(bytes, 0)?), half(bytes, 2)?);
        let content = bytes.get(4..length)?;
        // Each begins at a multiple of four bytes.
        bytes = bytes.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, content))
    })
}

/// The id of the family in the answer to a question for it.
fn family(answer: &[u8]) -> Option<u16> {
    if half(answer, 4)? != CONTROL {
        return None;
    }
    attributes(answer.get(ATTRIBUTES..)?).find(|(kind, _)| *kind == FAMILY_ID).and_then(|(_, id)| half(id, 0))
}

fn half(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_ne_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

/// A message to `family` with one attribute, which is a text.
fn request(family: u16, flags: u16, command: u8, kind: u16, text: &str) -> Vec<u8> {
    // The text ends with a zero.
    let content = 4 + text.len() + 1;
    let length = ATTRIBUTES + content.next_multiple_of(4);
    let mut bytes = Vec::with_capacity(length);
    bytes.extend((length as u32).to_ne_bytes());
    [family, flags].iter().for_each(|half| bytes.extend(half.to_ne_bytes()));
    // Sequence and port.
    bytes.extend([0; 8]);
    bytes.extend([command, 1, 0, 0]);
    [content as u16, kind].iter().for_each(|half| bytes.extend(half.to_ne_bytes()));
    bytes.extend(text.as_bytes());
    bytes.resize(length, 0);
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A report about a thread of a process, as Linux 6.18 sends it.
    fn report(thread: u32, process: u32, name: &str, kib: u64, version: u16) -> Vec<u8> {
        let mut stats = vec![0; 416];
        stats[0..2].copy_from_slice(&version.to_ne_bytes());
        stats[80..80 + name.len()].copy_from_slice(name.as_bytes());
        stats[128..132].copy_from_slice(&thread.to_ne_bytes());
        stats[200..208].copy_from_slice(&kib.to_ne_bytes());
        stats[368..372].copy_from_slice(&process.to_ne_bytes());
        stats[376..384].copy_from_slice(&7000u64.to_ne_bytes());
        let attribute = |kind: u16, content: &[u8]| {
            let length = (content.len() + 4) as u16;
            [&length.to_ne_bytes(), &kind.to_ne_bytes(), content].concat()
        };
        let inside = [attribute(1, &thread.to_ne_bytes()), attribute(6, &[]), attribute(STATS, &stats)].concat();
        [vec![0; ATTRIBUTES], attribute(OF_THREAD, &inside)].concat()
    }

    fn exits() -> Exits {
        Exits { socket: std::fs::File::open("/dev/null").unwrap().into(), ended: HashMap::new(), lost: false }
    }

    #[test]
    fn a_process_has_the_largest_mark_of_its_threads_and_the_name_of_the_first() {
        let mut exits = exits();
        exits.report(&report(12, 11, "worker", 300, 13));
        exits.report(&report(11, 11, "make", 900, 13));
        exits.report(&report(13, 11, "worker", 500, 13));
        let mark = ByteSize::new(900 * KIB);
        let exit = Exit { mark, lived: Duration::from_millis(7), name: "make".to_owned() };
        assert_eq!(exits.take(), Some(&mut HashMap::from([(11, exit)])));
        exits.report(&report(14, 0, "old", 1, 11));
        assert_eq!(exits.take(), None, "the version has no process");
    }

    #[test]
    fn what_the_kernel_reports_is_the_mark_of_a_process_that_has_ended() {
        let Some(mut exits) = Exits::watch() else { return };
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        let exit = exits.take().and_then(|ended| ended.remove(&child.id())).expect("the report comes before the end");
        assert_eq!(exit.name, "true");
        assert!(exit.mark > ByteSize::new(100 * KIB) && exit.mark < ByteSize::mib(64), "{exit:?}");
    }

    proptest! {
        #[test]
        fn no_message_panics(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            exits().report(&bytes);
            let _ = family(&bytes);
        }
        #[test]
        fn no_cut_message_panics(cut in 0..448usize) {
            exits().report(&report(11, 11, "make", 900, 13)[..cut]);
        }
    }
}
