//! The verdict on a device's message, in the order of tests that proved right on real logs.

use super::findings::Numbers;
use super::verdict::Verdict;
use plimsoll_memory::bytes::{ByteSize, GIB, MIB};

/// The verdict on the numbers of a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    pub(super) verdict: Verdict,
    /// The verdict in one or two sentences.
    pub(super) explanation: String,
}

/// How much a context, workspaces and libraries may add to a process beyond what the allocator holds.
const OVERHEAD: u64 = 3 * GIB;
/// A figure in GiB is rounded to half of its second decimal; sums of a few figures are compared with this tolerance.
const ROUNDING: u64 = 32 * MIB;
/// A request larger than any single device on sale, for messages that do not state the device's memory.
const BEYOND_ANY_DEVICE: u64 = 288 * GIB;

/// What the driver never hands out: a device with less than this is full, whatever was requested.
const REMAINDER: u64 = 16 * MIB;

/// Finds this process among those that a message lists, and fills in what it and the others hold.
///
/// The list shows process ids of the host, which a container does not know: this process is the one that holds what the
/// allocator holds, and little more.
pub(super) fn identify(numbers: &mut Numbers, processes: &[(u64, u64)]) {
    if processes.is_empty() {
        return;
    }
    let mut others: Vec<u64> = processes.iter().map(|(_, bytes)| *bytes).collect();
    if numbers.this_process.is_none() {
        let held = held(numbers);
        let own = held.and_then(|held| {
            let range = held.saturating_sub(ROUNDING)..=held + OVERHEAD;
            let fits = others.iter().enumerate().filter(|(_, bytes)| range.contains(bytes));
            fits.min_by_key(|(_, bytes)| bytes.abs_diff(held)).map(|(at, _)| at)
        });
        // The listed processes leave less than the allocator holds, so one of them must be this process.
        let hidden = || {
            let (total, free) = (numbers.capacity?.bytes(), numbers.free?.bytes());
            let unlisted = total.saturating_sub(free).saturating_sub(others.iter().sum());
            (unlisted + ROUNDING < held?).then_some(())?;
            let largest = others.iter().enumerate().filter(|(_, bytes)| **bytes + ROUNDING >= held.unwrap_or(0));
            largest.min_by_key(|(_, bytes)| **bytes).map(|(at, _)| at)
        };
        if let Some(own) = own.or_else(hidden) {
            numbers.this_process = Some(ByteSize::new(others.remove(own)));
        }
    }
    if !others.is_empty() {
        numbers.other_processes = Some(others.into_iter().map(ByteSize::new).sum());
    }
}

/// What the allocator holds.
fn held(numbers: &Numbers) -> Option<u64> {
    let allocated = numbers.allocated.map(ByteSize::bytes);
    let reserved = numbers.reserved.map(ByteSize::bytes);
    reserved.into_iter().chain(allocated).max()
}

/// Decides the verdict; `numbers` come from [`identify`].
pub(super) fn decide(numbers: &Numbers) -> Decision {
    let bytes = |size: Option<ByteSize>| size.map(ByteSize::bytes);
    let (tried, total, free) = (bytes(numbers.tried), bytes(numbers.capacity), bytes(numbers.free));
    let held = held(numbers);
    let show = |bytes: u64| ByteSize::new(bytes).to_string();
    let decision = |verdict, explanation: String| Decision { verdict, explanation };

    if let (Some(allowed), Some(tried)) = (bytes(numbers.allowed), tried) {
        let used = held.max(bytes(numbers.this_process).filter(|_| total.is_none())).unwrap_or(0);
        let over = used.saturating_add(tried).saturating_add(ROUNDING) > allowed;
        if over || free.is_some_and(|free| free >= tried) {
            let text = format!(
                "The process may use {} and holds {}; {} more would exceed the limit, whatever the device has free.",
                show(allowed),
                show(used),
                show(tried)
            );
            return decision(Verdict::ProcessCap, text);
        }
    }
    let Some(tried) = tried else {
        if let Some(allowed) = numbers.allowed {
            let text = format!("The process may use {allowed}; the message ends before what was requested.");
            return decision(Verdict::ProcessCap, text);
        }
        if let (Some(total), Some(others)) = (total, bytes(numbers.other_processes))
            && others > total / 2
        {
            let text = format!("Other processes hold {} of the device's {}.", show(others), show(total));
            return decision(Verdict::OtherProcess, text);
        }
        if let (Some(total), Some(held)) = (total, held.filter(|held| total.is_some_and(|total| *held > total))) {
            let text = format!("The program needs {} of the device's {}.", show(held), show(total));
            return decision(Verdict::Capacity, text);
        }
        let text = "The message ends before its numbers: the device could not hold what the work needs.".to_owned();
        return decision(Verdict::Capacity, text);
    };
    let Some(total) = total else {
        return if tried >= BEYOND_ANY_DEVICE {
            decision(Verdict::SingleHugeRequest, format!("One request of {} is larger than any device.", show(tried)))
        } else if let Some(unused) = bytes(numbers.unallocated).filter(|unused| *unused >= tried) {
            let text = format!("{} are free but could not serve {}: they are in pieces.", show(unused), show(tried));
            decision(Verdict::Fragmentation, text)
        } else if let Some(free) = free {
            decision(Verdict::Capacity, format!("{} more did not fit: {} were free.", show(tried), show(free)))
        } else {
            decision(Verdict::Capacity, format!("{} more did not fit; the message does not say of what.", show(tried)))
        };
    };
    if tried > total {
        let text = format!("One request of {} is larger than the device, which has {}.", show(tried), show(total));
        return decision(Verdict::SingleHugeRequest, text);
    }
    let others = bytes(numbers.other_processes).unwrap_or(0);
    if others > total / 5 {
        let text = format!(
            "Other processes hold {} of the device's {}; this one could not get {} more.",
            show(others),
            show(total),
            show(tried)
        );
        return decision(Verdict::OtherProcess, text);
    }
    if let Some(found) = outside(numbers, tried, total, others) {
        return found;
    }
    let allocated = bytes(numbers.allocated).unwrap_or(0);
    if let Some(pools) = bytes(numbers.private_pools).filter(|pools| *pools > allocated / 2) {
        let text = format!(
            "Private pools (CUDA graphs) hold {} of the {} that is allocated; other work cannot use them.",
            show(pools),
            show(allocated)
        );
        return decision(Verdict::PrivatePool, text);
    }
    if let Some(free) = free.filter(|free| *free as f64 > 1.2 * tried as f64 && *free >= REMAINDER) {
        let text = format!(
            "{} were free and {} were requested: neither capacity nor fragmentation explains the refusal.",
            show(free),
            show(tried)
        );
        return decision(Verdict::UnexplainedFreeExceedsRequest, text);
    }
    let unused = bytes(numbers.unallocated).unwrap_or(0);
    let room = free.unwrap_or(0).saturating_add(unused);
    if unused >= tried && unused >= total / 20 {
        let text = format!(
            "The allocator holds {} that no tensor uses but could not serve {} from it: it is in pieces.",
            show(unused),
            show(tried)
        );
        return decision(Verdict::Fragmentation, text);
    }
    if tried >= total / 4 && tried > room {
        let text = format!(
            "One request of {} is {} % of the device, and only {} are left: rearranging memory would not make room \
             for it.",
            show(tried),
            tried.saturating_mul(100) / total.max(1),
            show(room)
        );
        return decision(Verdict::SingleHugeRequest, text);
    }
    let holds = held.map(|held| {
        let pieces = if unused > 0 { format!(" ({} of it unused, in pieces)", show(unused)) } else { String::new() };
        format!("PyTorch holds {}{pieces} of the device's {}", show(held), show(total))
    });
    let holds = holds.unwrap_or_else(|| format!("The device has {}", show(total)));
    let left = free.map_or_else(String::new, |free| format!(", {} are free", show(free)));
    let text = format!("{holds}{left}: {} more did not fit.", show(tried));
    decision(Verdict::Capacity, text)
}

/// Memory that is held neither by the allocator nor by a listed process.
fn outside(numbers: &Numbers, tried: u64, total: u64, others: u64) -> Option<Decision> {
    let held = held(numbers)?;
    let free = numbers.free?.bytes();
    let show = |bytes: u64| ByteSize::new(bytes).to_string();
    let small = tried < total / 4;
    let own = numbers.this_process.map(ByteSize::bytes);
    if let Some(own) = own {
        let extra = own.saturating_sub(held);
        if extra > total / 4 && own <= total && small {
            let explanation = format!(
                "This process holds {}, PyTorch's allocator only {} of it: {} belong to something else in the \
                 process, such as NCCL, another framework or another allocator.",
                show(own),
                show(held),
                show(extra)
            );
            return Some(Decision { verdict: Verdict::NonPytorchMemory, explanation });
        }
    }
    let accounted = free.saturating_add(own.unwrap_or(held)).saturating_add(others);
    let missing = total.saturating_sub(accounted);
    if missing > total / 4 && small {
        let explanation = format!(
            "{} of the device's {} are held by no process in the message: by one that it cannot see, or by one that \
             ended without releasing its memory.",
            show(missing),
            show(total)
        );
        return Some(Decision { verdict: Verdict::UnattributedMemory, explanation });
    }
    None
}
