//! What a command consisted of and what it cost: memory by kind at the peak, processes, processor time, faults and
//! stalls.

use super::memory::marked;
use crate::record::{Policy, Record};
use plimsoll_memory::meter::{
    Activity, ActivityScope, CpuSource, Metric, PhaseReadings, ProcessPeak, Source, worst_reading,
};
use plimsoll_memory::text::Screen;
use plimsoll_memory::text::{LABEL, clean, counted, duration, labelled};

/// Maximum number of processes named, largest first.
const NAMED: usize = 4;

/// Writes one line for each fact that is known.
pub(super) fn cost(record: &Record, screen: &Screen) -> String {
    let phases = &record.phases;
    let lines = [
        ("at peak", at_peak(phases)),
        ("cgroup", cgroup(record)),
        ("processes", processes(phases)),
        ("cost", activity(phases)),
    ];
    let lines = lines.into_iter().filter_map(|(label, words)| Some((label, words?)));
    lines.map(|(label, words)| labelled(label, screen.palette.dim, &words, LABEL, screen)).collect()
}

/// The composition of the memory when most of it was resident; if samples missed the peak, of the largest sample.
fn at_peak(phases: &[PhaseReadings]) -> Option<String> {
    let split = phases.iter().filter_map(|phase| phase.at_peak).max_by_key(|split| split.rss)?;
    let parts = [("anonymous", split.anon), ("of files", split.file), ("shared", split.shmem), ("in swap", split.swap)];
    let parts: Vec<_> = parts.into_iter().filter_map(|(kind, bytes)| Some(format!("{} {kind}", bytes?))).collect();
    // The kernel's own mark may be of memory that was freed before a sample saw it.
    let peak = worst_reading(phases, Metric::PeakRss).map_or(split.rss, |(_, peak)| peak.bytes);
    let missed = peak.bytes() / 20 * 19 > split.rss.bytes();
    let of = if missed { format!(" in the largest sample, which missed the peak of {peak}") } else { String::new() };
    Some(format!("{} resident{of}: {}", split.rss, parts.join(", "))).filter(|_| !parts.is_empty())
}

/// The memory of the control group that was created for the command.
fn cgroup(record: &Record) -> Option<String> {
    match &record.policy {
        Policy::Process(policy) if policy.own_cgroup => {}
        _ => return None,
    }
    let reading = worst_reading(&record.phases, Metric::PeakCgroup);
    let reason = || record.phases.iter().find_map(|phase| phase.unavailable.get(&Metric::PeakCgroup)).cloned();
    reading.map(|(_, reading)| format!("{} ({})", marked(reading).trim_end(), reading.counter)).or_else(reason)
}

fn processes(phases: &[PhaseReadings]) -> Option<String> {
    let counts = || phases.iter().filter_map(|phase| phase.process_count);
    // A process that lives through several phases is counted in each.
    let count = counts().map(|count| count.count).max()?;
    let exact = phases.len() == 1 && counts().all(|count| count.source == Source::Exact);
    let mut largest: Vec<&ProcessPeak> = Vec::new();
    for process in phases.iter().flat_map(|phase| &phase.processes) {
        match largest.iter_mut().find(|known| known.pid == process.pid && known.name == process.name) {
            Some(known) if known.peak_rss.bytes >= process.peak_rss.bytes => {}
            Some(known) => *known = process,
            None => largest.push(process),
        }
    }
    largest.sort_by_key(|process| std::cmp::Reverse(process.peak_rss.bytes));
    let named: Vec<_> = largest
        .iter()
        .take(NAMED)
        .map(|process| format!("{} ({}) {}", clean(&process.name), process.pid, marked(&process.peak_rss).trim_end()))
        .collect();
    let at_least = if exact { "" } else { "at least " };
    let of = if named.is_empty() { String::new() } else { format!("; largest: {}", named.join(", ")) };
    Some(format!("{at_least}{}{of}", counted(count, "process", "processes")))
}

fn activity(phases: &[PhaseReadings]) -> Option<String> {
    let sum =
        |part: fn(&Activity) -> Option<u64>| phases.iter().map(|phase| part(&phase.activity)).sum::<Option<u64>>();
    let mut parts = Vec::new();
    if let Some((user, system)) = sum(|activity| activity.cpu_user_ns).zip(sum(|activity| activity.cpu_system_ns)) {
        let to_the_tick = phases.iter().any(|phase| phase.activity.cpu_source == CpuSource::Tick);
        parts.push(format!(
            "{} processor time in its own code, {} in the kernel{}",
            duration(user as f64),
            duration(system as f64),
            if to_the_tick { ", to 10 ms" } else { "" }
        ));
    }
    if let Some((minor, major)) = sum(|activity| activity.minor_faults).zip(sum(|activity| activity.major_faults)) {
        parts.push(format!("{minor} minor and {major} major faults"));
    }
    if let Some(stalled) = sum(|activity| activity.some_stall_us) {
        let of = match phases.first()?.activity.stalls_of {
            ActivityScope::System => "system",
            ActivityScope::Cgroup => "control group",
        };
        parts.push(format!("{} stalled for memory ({of})", duration(stalled as f64 * 1e3)));
    }
    (!phases.is_empty() && !parts.is_empty()).then(|| parts.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::sample;
    use plimsoll_memory::bytes::ByteSize;

    #[test]
    fn a_composition_without_the_peak_says_so() {
        let mut phases = sample::command().phases;
        let largest = phases.iter().filter_map(|phase| phase.at_peak).map(|split| split.rss).max().unwrap();
        let mut says = |peak: ByteSize| {
            for phase in &mut phases {
                phase.readings.get_mut(&Metric::PeakRss).unwrap().bytes = peak;
            }
            at_peak(&phases).unwrap()
        };
        let start = format!("{largest} resident: ");
        assert!(says(largest).starts_with(&start) && says(largest + ByteSize::mib(1)).starts_with(&start));
        let twice = largest + largest;
        let missed = format!("{largest} resident in the largest sample, which missed the peak of {twice}: ");
        assert!(says(twice).starts_with(&missed));
    }
}
