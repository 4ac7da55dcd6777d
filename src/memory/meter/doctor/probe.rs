//! What a machine offers, found by trying.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::fs::{Access, access};

use crate::meter::births::Births;
use crate::meter::cgroup::{Cgroup, CgroupVersion};
use crate::meter::counting::HeldBack;
use crate::meter::exits::Exits;
use crate::meter::gpu::GpuReader;
use crate::meter::process::ProcessMemory;

/// How long the kernel may take to confirm that it reports processes.
const WAIT_FOR_WORD: Duration = Duration::from_millis(200);

/// What contains this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Inside {
    Docker,
    Podman,
    Kubernetes,
    Container,
    Slurm,
    GithubActions,
}

impl Inside {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Docker => "docker",
            Self::Podman => "podman",
            Self::Kubernetes => "kubernetes",
            Self::Container => "container",
            Self::Slurm => "slurm",
            Self::GithubActions => "github-actions",
        }
    }

    /// The innermost container: a container within a Slurm job counts as a container.
    fn find(variable: impl Fn(&str) -> bool, file: impl Fn(&str) -> bool) -> Option<Self> {
        [
            (variable("KUBERNETES_SERVICE_HOST"), Self::Kubernetes),
            (file("/run/.containerenv"), Self::Podman),
            (file("/.dockerenv"), Self::Docker),
            (variable("container"), Self::Container),
            (variable("SLURM_JOB_ID"), Self::Slurm),
            (variable("GITHUB_ACTIONS"), Self::GithubActions),
        ]
        .into_iter()
        .find_map(|(holds, inside)| holds.then_some(inside))
    }
}

/// A control group that was created to test what it can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct GroupFound {
    /// The group below which it was created.
    pub(super) below: String,
    pub(super) has_peak: bool,
    pub(super) resets_peak: bool,
    pub(super) has_swap_peak: bool,
    pub(super) kills_at_once: bool,
}

/// The findings.
#[derive(Clone, Debug)]
pub(super) struct Found {
    pub(super) root: bool,
    pub(super) inside: Option<Inside>,
    pub(super) version: Option<CgroupVersion>,
    /// An error says why none can be created.
    pub(super) group: Result<GroupFound, String>,
    /// Whether the group that this process is in can be read.
    pub(super) own_group: bool,
    /// What the kernel's counters of a process may lack.
    pub(super) held_back: HeldBack,
    /// The group that this process is in, if this user may change it.
    pub(super) writable: Option<String>,
    /// Whether this process is in a user namespace other than the system's.
    pub(super) user_namespace: bool,
    pub(super) has_systemd: bool,
    pub(super) births: bool,
    /// Whether the kernel reports the mark of every process that ends.
    pub(super) exits: bool,
    pub(super) pressure: bool,
    pub(super) pss: bool,
    pub(super) huge_pages: bool,
    pub(super) kills: bool,
    pub(super) kernel_log: bool,
    /// An error says why it cannot be read.
    pub(super) gpu: Result<(), String>,
}

impl Found {
    pub(super) fn here() -> Self {
        let own = Cgroup::of(std::process::id()).ok();
        let version = own.as_ref().map(Cgroup::version);
        let own_group = own.as_ref().is_some_and(|group| group.current().is_ok());
        let controllers = |path: &Path| std::fs::read_to_string(path.join("cgroup.controllers")).unwrap_or_default();
        let has_memory = |path: &Path| controllers(path).split_ascii_whitespace().any(|name| name == "memory");
        let may_write =
            |path: &Path| has_memory(path) && access(path.join("cgroup.subtree_control"), Access::WRITE_OK).is_ok();
        let writable = own.as_ref().map(Cgroup::path).filter(|path| may_write(path));
        let writable = writable.map(|path| path.display().to_string());
        let made =
            Cgroup::create("doctor").or_else(|first| match Cgroup::make_room(&[std::os::unix::process::parent_id()]) {
                Ok(()) => Cgroup::create("doctor"),
                // If version 1 refuses, its error says most, because there is no other way.
                Err(_) if version != Some(CgroupVersion::V2) => Err(first),
                Err(error) => Err(error),
            });
        let exists = |path: &str| Path::new(path).exists();
        let reads = |path: &str| std::fs::read(path).is_ok();
        Self {
            root: rustix::process::geteuid().is_root(),
            inside: Inside::find(|name| std::env::var_os(name).is_some(), exists),
            version,
            group: made.map(|group| GroupFound::of(&group)).map_err(|error| error.to_string()),
            own_group,
            held_back: HeldBack::here(),
            writable,
            user_namespace: !maps_every_id(&std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default()),
            has_systemd: exists("/run/systemd/system"),
            births: kernel_reports_processes(),
            exits: Exits::watch().is_some(),
            pressure: reads("/proc/pressure/memory"),
            pss: reads("/proc/self/smaps_rollup"),
            huge_pages: ProcessMemory::read(std::process::id()).is_ok_and(|memory| memory.hugetlb.is_some()),
            kills: matches!(crate::meter::OomKills::read(), Ok(Some(_))),
            kernel_log: std::fs::File::open("/dev/kmsg").is_ok(),
            gpu: GpuReader::new().map(|_| ()).map_err(|reason| reason.to_string()),
        }
    }
}

/// Whether a `uid_map` is that of the system's own user namespace. A kernel without user namespaces has no such file.
fn maps_every_id(map: &str) -> bool {
    let words: Vec<&str> = map.split_ascii_whitespace().collect();
    words.is_empty() || words == ["0", "0", "4294967295"]
}

impl GroupFound {
    fn of(group: &Cgroup) -> Self {
        let has = |name: &str| group.path().join(name).exists();
        Self {
            below: group.path().parent().unwrap_or(group.path()).display().to_string(),
            has_peak: group.peak().is_ok(),
            resets_peak: group.reset_peak().is_ok(),
            has_swap_peak: has("memory.swap.peak"),
            kills_at_once: has("cgroup.kill"),
        }
    }
}

/// Whether the kernel reports every fork and exit to this process.
fn kernel_reports_processes() -> bool {
    let Some(mut births) = Births::watch(std::process::id()) else { return false };
    let began = Instant::now();
    loop {
        births.take();
        if births.counts().is_some() {
            return true;
        }
        if began.elapsed() > WAIT_FOR_WORD {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_namespace_maps_fewer_ids() {
        assert!(maps_every_id("         0          0 4294967295\n") && maps_every_id(""));
        assert!(!maps_every_id("         0       1000          1\n"));
        assert!(!maps_every_id("         0       1000          1\n         1     100000      65536\n"));
    }

    #[test]
    fn the_innermost_container_is_found() {
        let find = |variables: &[&str], files: &[&str]| {
            Inside::find(|name| variables.contains(&name), |path| files.contains(&path)).map(Inside::word)
        };
        assert_eq!(find(&[], &[]), None);
        assert_eq!(find(&["SLURM_JOB_ID"], &["/.dockerenv"]), Some("docker"));
        assert_eq!(find(&["KUBERNETES_SERVICE_HOST"], &["/.dockerenv"]), Some("kubernetes"));
        assert_eq!(find(&["GITHUB_ACTIONS", "SLURM_JOB_ID"], &[]), Some("slurm"));
        assert_eq!(find(&["GITHUB_ACTIONS"], &[]), Some("github-actions"));
        assert_eq!(find(&["container"], &["/run/.containerenv"]), Some("podman"));
    }
}
