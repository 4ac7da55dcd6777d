//! The children of a process: from `/proc/PID/task/TID/children` if the kernel has it, otherwise from every process's
//! parent.

use std::fmt::Write as _;
use std::mem::MaybeUninit;

use rustix::fs::{Mode, OFlags, RawDir};

use super::process::Stat;
use super::text::{TextFile, number, numbers, read_path, read_single};

/// Finds children; owns buffers that searches reuse.
#[derive(Debug)]
pub(crate) struct ChildFinder {
    /// Whether the kernel lists children (`CONFIG_PROC_CHILDREN`).
    listed: bool,
    path: String,
    text: Vec<u8>,
    ids: Vec<u32>,
    /// Every process with its parent, if the kernel does not list children; read once per pass.
    parents: Vec<(u32, u32)>,
}

impl ChildFinder {
    pub(crate) fn new() -> Self {
        // The main thread's, as a look at the entry of a thread that is about to end delays the end of the process: whoever
        // reaps the process waits, spinning, until the thread has removed its entry.
        let path = format!("/proc/self/task/{}/children", std::process::id());
        let listed = rustix::fs::access(path, rustix::fs::Access::READ_OK).is_ok();
        Self { listed, path: String::new(), text: Vec::new(), ids: Vec::new(), parents: Vec::new() }
    }

    #[cfg(test)]
    pub(crate) fn without_lists() -> Self {
        Self { listed: false, ..Self::new() }
    }

    /// Begins a pass over a tree.
    pub(crate) fn begin(&mut self) {
        if self.listed {
            return;
        }
        self.parents.clear();
        directory_numbers("/proc", &mut self.ids);
        for &pid in &self.ids {
            self.path.clear();
            let _ = write!(self.path, "/proc/{pid}/stat");
            // A process that ends during the walk has no more children.
            if let Some(stat) = read_single(&self.path, &mut self.text).ok().and_then(Stat::parse) {
                self.parents.push((pid, stat.parent));
            }
        }
    }

    /// Adds the children of `pid`, which has `threads` threads, to `found`.
    pub(crate) fn children(&mut self, pid: u32, threads: u64, found: &mut Vec<u32>) {
        if !self.listed {
            found.extend(self.parents.iter().filter(|(_, parent)| *parent == pid).map(|(child, _)| *child));
            return;
        }
        self.ids.clear();
        if threads > 1 {
            self.path.clear();
            let _ = write!(self.path, "/proc/{pid}/task");
            directory_numbers(&self.path, &mut self.ids);
        } else {
            self.ids.push(pid);
        }
        for &thread in &self.ids {
            self.path.clear();
            let _ = write!(self.path, "/proc/{pid}/task/{thread}/children");
            if let Ok(text) = read_path(&self.path, &mut self.text) {
                found.extend(numbers(text).filter_map(|child| u32::try_from(child).ok()));
            }
        }
    }
}

/// Shows with one cheap read whether a process or thread was created since the last search: if not, a search would find
/// nothing new.
#[derive(Debug)]
pub(crate) struct NewestId(Option<TextFile>);

impl NewestId {
    pub(crate) fn open() -> Self {
        Self(TextFile::open("/proc/loadavg").ok())
    }

    /// The most recently assigned id; `None` if it cannot be read.
    pub(crate) fn read(&self, buffer: &mut Vec<u8>) -> Option<u64> {
        parse_newest(self.0.as_ref()?.read_single(buffer).ok()?)
    }
}

/// The last word of a loadavg.
fn parse_newest(text: &[u8]) -> Option<u64> {
    number(text.trim_ascii_end().rsplit(u8::is_ascii_whitespace).next()?)
}

/// The numeric names in a directory; empty if it cannot be read.
pub(crate) fn directory_numbers(path: &str, ids: &mut Vec<u32>) {
    ids.clear();
    let Ok(directory) = rustix::fs::open(path, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    else {
        return;
    };
    let mut buffer = [MaybeUninit::uninit(); 4096];
    let mut entries = RawDir::new(directory, &mut buffer);
    while let Some(Ok(entry)) = entries.next() {
        ids.extend(number(entry.file_name().to_bytes()).and_then(|id| u32::try_from(id).ok()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_process_changes_the_newest_id() {
        assert_eq!(parse_newest(b"0.09 0.20 0.20 2/78 11206\n"), Some(11206));
        assert_eq!((parse_newest(b""), parse_newest(b"0.09 x\n")), (None, None));
        let (newest, mut buffer) = (NewestId::open(), Vec::new());
        let before = newest.read(&mut buffer).unwrap();
        std::process::Command::new("true").status().unwrap();
        assert_ne!(newest.read(&mut buffer), Some(before));
    }

    #[test]
    fn both_ways_find_a_child_of_any_thread() {
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        for mut finder in [ChildFinder::new(), ChildFinder::without_lists()] {
            let mut found = Vec::new();
            finder.begin();
            finder.children(std::process::id(), 2, &mut found);
            assert!(found.contains(&child.id()), "{finder:?}");
            found.clear();
            finder.children(child.id(), 1, &mut found);
            assert!(found.is_empty());
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
}
