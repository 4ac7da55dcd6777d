//! Conclusions from what was found: each kind of figure, and the command that would improve it.

use super::probe::{Found, GroupFound, Inside};
use super::{FigureSight, Sight};
use crate::meter::cgroup::CgroupVersion;
use crate::meter::counting::HeldBack;

/// Lets a program that other users start read the kernel's process events.
const CAPABILITY: &str = "sudo setcap cap_net_admin+ep \"$(command -v plimsoll)\"";

pub(super) fn figures(found: &Found) -> Vec<FigureSight> {
    let figure = |figure: &str, sight: Sight, how: &str, better: Option<String>| FigureSight {
        figure: figure.to_owned(),
        sight,
        how: how.to_owned(),
        better,
    };
    let either = |name: &str, there: bool, (yes, sight): (&str, Sight), no: (&str, Sight, Option<&str>)| {
        if there { figure(name, sight, yes, None) } else { figure(name, no.1, no.0, no.2.map(str::to_owned)) }
    };
    let own_mark = match found.held_back {
        HeldBack::ByThread(most) => format!(
            "its own mark (VmHWM, ru_maxrss), from which each thread may hold back {most}: this kernel counts a \
             thread's latest faults late (Linux 6.2)"
        ),
        HeldBack::ByProcessor { processors, each } => format!(
            "its own mark (VmHWM, ru_maxrss), from which each of {processors} processors may hold back {each}: this \
             kernel counts late what a processor faults in"
        ),
    };
    let mut figures = vec![figure("peak RSS of one process", Sight::Exact, &own_mark, None)];
    figures.push(figure(
        "peak RSS of several processes",
        Sight::Sampled,
        if found.births && found.exits {
            "sum of VmRSS over the tree; the mark of every process bounds what samples miss"
        } else if found.group.is_ok() {
            "sum of VmRSS over the tree; a control group's mark bounds what samples miss"
        } else {
            "sum of VmRSS over the tree; nothing bounds what samples miss"
        },
        (found.group.is_err() && !found.exits).then(|| room(found)).flatten(),
    ));
    figures.extend(of_group(found, &figure));
    figures.push(either(
        "number of processes",
        found.births,
        ("every fork, as the kernel reports it (process connector)", Sight::Exact),
        (
            "samples: one process alone is counted exactly, but one that lives between two samples of several is missed",
            Sight::Sampled,
            // The kernel reports to the initial user namespace alone.
            Some(CAPABILITY).filter(|_| !found.root && !found.user_namespace && found.inside.is_none()),
        ),
    ));
    figures.push(either(
        "peak PSS",
        found.pss,
        ("sum of smaps_rollup, for at most 0.5 % of the time", Sight::Sampled),
        ("this kernel has no /proc/PID/smaps_rollup (Linux 4.14)", Sight::Missing, None),
    ));
    figures.push(either(
        "huge pages of hugetlbfs",
        found.huge_pages,
        ("sum of HugetlbPages over the tree", Sight::Sampled),
        ("this kernel is built without hugetlbfs", Sight::Missing, None),
    ));
    figures.push(either(
        "stalls for memory",
        found.pressure,
        ("the kernel's count (/proc/pressure/memory)", Sight::Exact),
        ("the kernel does not count stalls; boot it with psi=1", Sight::Missing, None),
    ));
    figures.push(either(
        "kills for memory",
        found.kills,
        (
            if found.kernel_log {
                "the kernel's counts; the reason from its log (--diagnose)"
            } else {
                "the kernel's counts; its log may not be read"
            },
            Sight::Exact,
        ),
        ("this kernel does not count them (Linux 4.13)", Sight::Missing, None),
    ));
    figures.push(match &found.gpu {
        Ok(()) => figure("memory on GPUs", Sight::Sampled, "the driver's list of processes (--gpu)", None),
        Err(reason) => figure("memory on GPUs", Sight::Missing, reason, None),
    });
    figures
}

/// Builds a figure from its name, how well it can be read, from what, and what would help.
type MakeFigure<'a> = dyn Fn(&str, Sight, &str, Option<String>) -> FigureSight + 'a;

/// The figures that a control group provides.
fn of_group(found: &Found, figure: &MakeFigure<'_>) -> Vec<FigureSight> {
    const PEAK: &str = "peak of a control group";
    const PHASES: &str = "the same in every phase";
    const SWAP: &str = "swap of the command";
    const CEILING: &str = "ceilings that --enforce keeps";
    let Ok(group) = &found.group else {
        let reason = found.group.as_ref().err().map_or("", String::as_str);
        let (sight, how) = if found.own_group {
            (Sight::Sampled, format!("only this process's group, including other programs in it: {reason}"))
        } else {
            (Sight::Missing, reason.to_owned())
        };
        return vec![
            figure(PEAK, sight, &how, room(found)),
            figure(SWAP, Sight::Sampled, "sum of VmSwap over the tree", room(found)),
            figure(CEILING, Sight::Sampled, "by samples: faster growth gets further", room(found)),
        ];
    };
    let newer = |what: &str| format!("this kernel cannot {what}");
    let GroupFound { below, has_peak, resets_peak, has_swap_peak, kills_at_once } = group;
    let is_v2 = found.version == Some(CgroupVersion::V2);
    vec![
        if *has_peak {
            figure(PEAK, Sight::Exact, &format!("its mark, in a group below {below} (--cgroup)"), None)
        } else {
            figure(PEAK, Sight::Sampled, &newer("keep a mark: memory.peak came with Linux 5.19"), None)
        },
        if *resets_peak {
            figure(PHASES, Sight::Exact, "the mark is reset when a phase begins", None)
        } else {
            let reset = "reset the mark (Linux 6.12): only a phase higher than all before is exact";
            figure(PHASES, Sight::Sampled, &newer(reset), None)
        },
        if *has_swap_peak {
            figure(SWAP, Sight::Exact, "the group's mark (memory.swap.peak)", None)
        } else {
            figure(SWAP, Sight::Sampled, "sum of VmSwap over the tree", None)
        },
        figure(
            CEILING,
            Sight::Exact,
            if is_v2 && *kills_at_once {
                "by the group's limit; the kernel ends all of it at once"
            } else {
                "by the group's limit; its processes are ended one by one"
            },
            None,
        ),
    ]
}

/// The command that makes it possible to create a control group.
fn room(found: &Found) -> Option<String> {
    let is_v2 = found.version? == CgroupVersion::V2;
    if let Some(own) = found.writable.as_ref().filter(|_| is_v2) {
        // Only the other processes in it are in the way.
        return Some(format!(
            "cd {own} && mkdir -p others && for p in $(cat cgroup.procs); do echo $p > others/cgroup.procs; done; \
             echo +memory > cgroup.subtree_control"
        ));
    }
    let command = match found.inside {
        Some(Inside::Docker) => "docker run --privileged --user root IMAGE",
        Some(Inside::Podman) if is_v2 => "podman run --security-opt unmask=/sys/fs/cgroup --user root IMAGE",
        Some(Inside::Podman) => "podman run --privileged --user root IMAGE",
        // A step's group belongs to slurmstepd and a pod's to the node, so this user cannot open either.
        Some(Inside::Kubernetes | Inside::Slurm | Inside::Container) => return None,
        // The root of a user namespace owns no group outside it, and sudo gives it nothing more.
        _ if found.user_namespace || found.root => return None,
        // The user's systemd lives as long as a session, or permanently if lingering is enabled.
        _ if is_v2 && found.has_systemd => "sudo loginctl enable-linger \"$USER\"",
        _ => "sudo plimsoll run --cgroup -- CMD",
    };
    Some(command.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteSize;

    fn found(version: Option<CgroupVersion>, group: Result<GroupFound, String>) -> Found {
        Found {
            root: false,
            inside: None,
            version,
            group,
            own_group: true,
            held_back: HeldBack::ByProcessor { processors: 2, each: ByteSize::new(372 << 10) },
            writable: None,
            user_namespace: false,
            has_systemd: false,
            births: false,
            exits: false,
            pressure: true,
            pss: true,
            huge_pages: true,
            kills: true,
            kernel_log: false,
            gpu: Err("no driver".to_owned()),
        }
    }

    fn group(resets_peak: bool, has_swap_peak: bool) -> GroupFound {
        GroupFound { below: "/x".to_owned(), has_peak: true, resets_peak, has_swap_peak, kills_at_once: true }
    }

    fn of(found: &Found, name: &str) -> (Sight, Option<String>) {
        let figure = figures(found).into_iter().find(|figure| figure.figure == name).unwrap();
        (figure.sight, figure.better)
    }

    #[test]
    fn kernels_differ_in_what_a_group_reports() {
        let newest = found(Some(CgroupVersion::V2), Ok(group(true, true)));
        let older = found(Some(CgroupVersion::V2), Ok(group(false, false)));
        for (found, sight) in [(&newest, Sight::Exact), (&older, Sight::Sampled)] {
            assert_eq!(of(found, "peak of a control group"), (Sight::Exact, None));
            assert_eq!(of(found, "the same in every phase"), (sight, None));
            assert_eq!(of(found, "swap of the command"), (sight, None));
        }
    }

    #[test]
    fn a_kernel_that_counts_late_is_named() {
        let mut found = found(None, Err("it is refused".to_owned()));
        let how = |found: &Found| figures(found).remove(0).how;
        assert!(how(&found).contains("each of 2 processors"), "{}", how(&found));
        found.held_back = HeldBack::ByThread(ByteSize::mib(4));
        assert!(how(&found).contains("each thread may hold back 4.00 MiB"), "{}", how(&found));
    }

    #[test]
    fn each_place_has_its_own_command_or_none() {
        let refused = || Err("it is refused".to_owned());
        let command = |version, change: &dyn Fn(&mut Found)| {
            let mut found = found(version, refused());
            change(&mut found);
            of(&found, "ceilings that --enforce keeps").1
        };
        let v2 = Some(CgroupVersion::V2);
        assert_eq!(command(v2, &|_| {}).as_deref(), Some("sudo plimsoll run --cgroup -- CMD"));
        assert!(command(v2, &|found| found.has_systemd = true).unwrap().contains("enable-linger"));
        assert!(command(v2, &|found| found.inside = Some(Inside::Docker)).unwrap().starts_with("docker run"));
        let podman = |version| command(version, &|found| found.inside = Some(Inside::Podman)).unwrap();
        assert!(podman(v2).contains("unmask=") && podman(Some(CgroupVersion::V1)).contains("--privileged"));
        assert_eq!(command(v2, &|found| found.inside = Some(Inside::Slurm)), None);
        assert_eq!(command(v2, &|found| found.root = true), None);
        // A writable group that others share, such as a privileged container's.
        let shared = command(v2, &|found| {
            (found.inside, found.root, found.writable) =
                (Some(Inside::Docker), true, Some("/sys/fs/cgroup".to_owned()));
        });
        assert!(shared.as_ref().is_some_and(|it| it.starts_with("cd /sys/fs/cgroup && mkdir")), "{shared:?}");
        // The root of a user namespace is nobody outside.
        for root in [true, false] {
            let inside = |found: &mut Found| (found.user_namespace, found.has_systemd, found.root) = (true, true, root);
            assert_eq!(command(v2, &inside), None);
            let mut found = found(v2, refused());
            inside(&mut found);
            assert_eq!(of(&found, "number of processes").1, None);
        }
        assert_eq!(command(None, &|_| {}), None);
        let nothing = found(None, refused());
        assert_eq!(of(&nothing, "number of processes"), (Sight::Sampled, Some(CAPABILITY.to_owned())));
        let several = |exits| {
            let found = Found { births: true, exits, ..found(None, refused()) };
            figures(&found).into_iter().find(|figure| figure.figure == "peak RSS of several processes").unwrap().how
        };
        assert!(several(true).contains("the mark of every process") && several(false).contains("nothing bounds"));
    }
}
