//! System calls that kernels do not need, refused by seccomp.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen as Len, SeccompCmpOp as Op, SeccompCondition, SeccompFilter,
    SeccompRule, TargetArch,
};

/// Calls that reach other processes, other namespaces or the machine, or that would bypass this filter.
const REFUSED: &[i64] = &[
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_kcmp,
    libc::SYS_pidfd_getfd,
    libc::SYS_pidfd_send_signal,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_io_uring_setup,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_quotactl,
    libc::SYS_acct,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_reboot,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_adjtimex,
    libc::SYS_clock_adjtime,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];
/// Socket types that reach beyond the machine's own processes.
const NETWORKS: [i32; 5] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK, libc::AF_PACKET, libc::AF_VSOCK];
/// Namespaces that a clone may ask for.
const SPACES: [i32; 7] = [
    libc::CLONE_NEWUSER,
    libc::CLONE_NEWPID,
    libc::CLONE_NEWNS,
    libc::CLONE_NEWNET,
    libc::CLONE_NEWIPC,
    libc::CLONE_NEWUTS,
    libc::CLONE_NEWCGROUP,
];

/// A rule for an argument of a call.
fn rule(argument: u8, op: Op, value: u64) -> Result<SeccompRule, seccompiler::BackendError> {
    SeccompRule::new(vec![SeccompCondition::new(argument, Len::Dword, op, value)?])
}

/// The rules that keep a process from signals and limits.
fn against(supervisor: u32) -> Result<BTreeMap<i64, Vec<SeccompRule>>, seccompiler::BackendError> {
    let mut rules = BTreeMap::new();
    // By process number, by group, or everybody.
    let others = [supervisor, supervisor.wrapping_neg(), u32::MAX];
    for call in [libc::SYS_kill, libc::SYS_rt_sigqueueinfo] {
        let rules_of_call = others.map(|process| rule(0, Op::Eq, u64::from(process)));
        rules.insert(call, rules_of_call.into_iter().collect::<Result<_, _>>()?);
    }
    for (call, argument) in [
        (libc::SYS_tkill, 0),
        (libc::SYS_tgkill, 0),
        (libc::SYS_prlimit64, 0),
        (libc::SYS_sched_setaffinity, 0),
        (libc::SYS_sched_setscheduler, 0),
        (libc::SYS_sched_setattr, 0),
        (libc::SYS_setpriority, 1),
    ] {
        rules.insert(call, vec![rule(argument, Op::Eq, u64::from(supervisor))?]);
    }
    Ok(rules)
}

/// Refuses the calls to this process and its descendants. `supervisor` is absent if they cannot name it.
pub fn restrict(supervisor: Option<u32>) -> Result<(), Box<dyn std::error::Error>> {
    let arch: TargetArch = std::env::consts::ARCH.try_into()?;
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = REFUSED.iter().map(|call| (*call, Vec::new())).collect();
    let networks = NETWORKS.map(|family| rule(0, Op::Eq, family as u64));
    rules.insert(libc::SYS_socket, networks.into_iter().collect::<Result<_, _>>()?);
    let spaces = SPACES.map(|space| rule(0, Op::MaskedEq(space as u64), space as u64));
    rules.insert(libc::SYS_clone, spaces.into_iter().collect::<Result<_, _>>()?);
    if let Some(supervisor) = supervisor {
        rules.extend(against(supervisor)?);
    }
    let refuse = |rules, error: i32| -> Result<BpfProgram, Box<dyn std::error::Error>> {
        let action = SeccompAction::Errno(error as u32);
        Ok(SeccompFilter::new(rules, SeccompAction::Allow, action, arch)?.try_into()?)
    };
    // The flags of clone3 are in memory, where filters cannot read them: the C library falls back to clone.
    seccompiler::apply_filter(&refuse(BTreeMap::from([(libc::SYS_clone3, Vec::new())]), libc::ENOSYS)?)?;
    seccompiler::apply_filter(&refuse(rules, libc::EPERM)?)?;
    Ok(())
}
