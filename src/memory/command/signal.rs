//! [`Signal`]: a signal by number and name.

use std::fmt;

/// The names of Linux's signals from 1 on (signal(7), x86 and Arm).
const NAMES: [&str; 31] = [
    "SIGHUP",
    "SIGINT",
    "SIGQUIT",
    "SIGILL",
    "SIGTRAP",
    "SIGABRT",
    "SIGBUS",
    "SIGFPE",
    "SIGKILL",
    "SIGUSR1",
    "SIGSEGV",
    "SIGUSR2",
    "SIGPIPE",
    "SIGALRM",
    "SIGTERM",
    "SIGSTKFLT",
    "SIGCHLD",
    "SIGCONT",
    "SIGSTOP",
    "SIGTSTP",
    "SIGTTIN",
    "SIGTTOU",
    "SIGURG",
    "SIGXCPU",
    "SIGXFSZ",
    "SIGVTALRM",
    "SIGPROF",
    "SIGWINCH",
    "SIGIO",
    "SIGPWR",
    "SIGSYS",
];

/// A signal that ended a process.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "schema", derive(serde::Serialize, serde::Deserialize, schemars::JsonSchema))]
pub struct Signal {
    /// Its number.
    pub number: i32,
    /// Its name, such as `SIGSEGV`; a signal without a name gets its number.
    pub name: String,
}

impl Signal {
    /// The signal with this number.
    pub fn new(number: i32) -> Self {
        let name = usize::try_from(number).ok().and_then(|number| NAMES.get(number.wrapping_sub(1)));
        Self { number, name: name.map_or_else(|| format!("signal {number}"), |name| (*name).to_owned()) }
    }
}

impl fmt::Display for Signal {
    /// `SIGSEGV (signal 11)`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.contains(&self.name.as_str()) {
            true => write!(f, "{} (signal {})", self.name, self.number),
            false => write!(f, "signal {}", self.number),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_system() {
        let known = [
            (libc::SIGHUP, "SIGHUP"),
            (libc::SIGKILL, "SIGKILL"),
            (libc::SIGSEGV, "SIGSEGV"),
            (libc::SIGTERM, "SIGTERM"),
            (libc::SIGCHLD, "SIGCHLD"),
            (libc::SIGXCPU, "SIGXCPU"),
            (libc::SIGSYS, "SIGSYS"),
        ];
        for (number, name) in known {
            assert_eq!(Signal::new(number).name, name);
        }
        assert_eq!(Signal::new(11).to_string(), "SIGSEGV (signal 11)");
        for odd in [-1, 0, 35, i32::MAX] {
            assert_eq!(Signal::new(odd).to_string(), format!("signal {odd}"));
        }
    }
}
