//! Conclusions from what was found: each kind of figure, and the command that would improve it.

use super::probe::{Found, GroupFound, Inside};
use super::{FigureSight, Sight};
use crate::meter::cgroup::CgroupVersion;

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
    let mut figures = vec![figure("peak RSS of one process", Sight::Exact, "its own mark (VmHWM, ru_maxrss)", None)];
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
            "samples: a process between two of them is missed",
            Sight::Sampled,
            Some(CAPABILITY).filter(|_| !found.root && found.inside.is_none()),
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
    let command = match (found.inside, found.version) {
        (Some(Inside::Docker), _) => "docker run --privileged --cgroupns=private IMAGE",
        (Some(Inside::Podman), _) => "podman run --cgroups=split --security-opt unmask=/sys/fs/cgroup IMAGE",
        // A step's group belongs to slurmstepd and a pod's to the node, so this user cannot open either.
        (Some(Inside::Kubernetes | Inside::Slurm | Inside::Container), _) => return None,
        (_, None) => return None,
        (_, Some(CgroupVersion::V1)) if found.root => return None,
        (_, Some(CgroupVersion::V1)) => "sudo plimsoll run --cgroup -- CMD",
        // The user's systemd lives as long as a session, or permanently if lingering is enabled.
        (_, Some(CgroupVersion::V2)) if found.has_systemd && !found.root => "sudo loginctl enable-linger \"$USER\"",
        (_, Some(CgroupVersion::V2)) if found.root => {
            "mkdir -p /sys/fs/cgroup/init && for p in $(cat /sys/fs/cgroup/cgroup.procs); do echo $p > \
             /sys/fs/cgroup/init/cgroup.procs; done; echo +memory > /sys/fs/cgroup/cgroup.subtree_control"
        }
        (_, Some(CgroupVersion::V2)) => "sudo plimsoll run --cgroup -- CMD",
    };
    Some(command.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(version: Option<CgroupVersion>, group: Result<GroupFound, String>) -> Found {
        Found {
            root: false,
            inside: None,
            version,
            group,
            own_group: true,
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
        assert!(command(v2, &|found| found.inside = Some(Inside::Podman)).unwrap().starts_with("podman run"));
        assert_eq!(command(v2, &|found| found.inside = Some(Inside::Slurm)), None);
        assert!(command(v2, &|found| found.root = true).unwrap().contains("subtree_control"));
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
