//! Finds the stacks of a process's tasks.

use std::fmt::Write as _;

use super::parse::hexadecimal;
use crate::meter::children::directory_numbers;
use crate::meter::text::read_path;

/// Maximum number of tasks that are read.
const TASKS: usize = 1024;

/// The stack pointers of tasks that wait in the kernel. A running task has none, and a process that may not be traced
/// reveals none.
pub(crate) fn stack_pointers(pid: u32, path: &mut String, buffer: &mut Vec<u8>) -> Vec<u64> {
    let mut tasks = Vec::new();
    path.clear();
    let _ = write!(path, "/proc/{pid}/task");
    directory_numbers(path, &mut tasks);
    let mut pointers: Vec<u64> = Vec::new();
    for task in tasks.into_iter().take(TASKS) {
        path.clear();
        let _ = write!(path, "/proc/{pid}/task/{task}/syscall");
        if let Ok(text) = read_path(path, buffer) {
            pointers.extend(parse(text));
        }
    }
    pointers.sort_unstable();
    pointers
}

/// The last word but one: `202 0x7f.. .. SP PC` in a system call, `-1 SP PC` in another wait, `running` otherwise.
fn parse(text: &[u8]) -> Option<u64> {
    hexadecimal(text.trim_ascii_end().rsplit(|&b| b == b' ').nth(1)?.strip_prefix(b"0x")?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_stack_pointer_is_the_last_word_but_one() {
        let waits = b"202 0x7f1 0x80 0x0 0x0 0x0 0x0 0x7ffd1234abc0 0x7f20cbd1e23d\n";
        assert_eq!(parse(waits), Some(0x7ffd_1234_abc0));
        assert_eq!(parse(b"-1 0x7ffd1234abc0 0x7f20cbd1e23d\n"), Some(0x7ffd_1234_abc0));
        for text in [&b"running\n"[..], b"", b"-1", b"x y z"] {
            assert_eq!(parse(text), None);
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in prop::collection::vec(any::<u8>(), 0..100)) {
            let _ = parse(&text);
        }
    }
}
