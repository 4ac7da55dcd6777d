//! What a text says although nothing failed: a program of a nearly full device, and people of memory that grows.

use super::advice::{Known, advice};
use super::findings::{Advice, Event, Numbers};
use super::remedy;
use super::report::{Reported, gravity};
use super::stated::{GROWN, MORE, Statement};
use super::telemetry::Metric;
use super::trend::{Finding, Pattern, TrendVerdict as Trend};
use super::verdict::{Kind, Verdict};

/// Adds what is stated in the text `file` to the events: as [`add`] does, if figures prove it.
pub(super) fn state(events: &mut Vec<Event>, file: &str, statement: &Statement, reported: &[(usize, Reported)]) {
    let Statement { mut verdict, proven, claimed, of_host, ref evidence, ref explanation } = *statement;
    // Figures that explain why memory stays are more than what somebody thinks of it.
    let of_file = |event: &Event| event.evidence.iter().any(|one| one.file == file);
    let explained = |event: &Event| matches!(event.verdict, Verdict::CacheNotLeak | Verdict::SleepIneffective);
    if events.iter().any(|event| of_file(event) && explained(event)) {
        return;
    }
    let trends = reported.iter().filter(|(_, reported)| reported.report.name == file);
    let mut findings = trends.flat_map(|(_, reported)| &reported.report.trends.findings);
    // Rows alone say less than telemetry. Other programs use a device too, and one that starts takes more and more of it;
    // and what reads a known print knows whose memory grows.
    let grows = |event: &Event| of_file(event) && matches!(event.verdict, Verdict::Leak | Verdict::HostGrowth);
    let of_a_device = |finding: &Finding| finding.metric == Metric::DeviceUsed;
    // A device that was nearly full says why its figures rose.
    let full = |event: &Event| of_file(event) && event.verdict == Verdict::NearCapacity;
    if !claimed
        && (!of_host && findings.clone().any(of_a_device) || events.iter().any(|event| grows(event) || full(event)))
    {
        return;
    }
    // What is allocated is of the host if the text has no device.
    let of_a_program = |verdict| remedy::of_a_program(verdict).into_iter().map(Advice::from).collect();
    for event in events.iter_mut().filter(|event| of_host && of_file(event) && event.verdict == Verdict::Leak) {
        event.verdict = Verdict::HostGrowth;
        event.advice = of_a_program(event.verdict);
    }
    let mut explanation = explanation.clone();
    if !proven {
        let Some((of_figures, finding)) = findings.find_map(|finding| proves(verdict, finding)) else { return };
        verdict = of_figures;
        explanation.push_str(&format!(" Its figures agree: {}.", finding.explanation));
    }
    // Figures that say the same say more.
    if events.iter().any(|event| of_file(event) && event.verdict == verdict) {
        return;
    }
    let mut evidence = evidence.clone();
    evidence.iter_mut().for_each(|evidence| file.clone_into(&mut evidence.file));
    let mut said = Event {
        kind: Kind::Report,
        backend: None,
        software: None,
        verdict,
        also: Vec::new(),
        numbers: Numbers::default(),
        evidence,
        occurrences: 1,
        rank: None,
        pid: None,
        job: None,
        device: None,
        host: None,
        victim: None,
        advice: Vec::new(),
        explanation,
    };
    said.advice = if of_host { of_a_program(verdict) } else { advice(&said, Known::default()) };
    add(events, said);
}

/// Adds `said` to the events: an event of its own if nothing failed in that input. That event has the figures of its
/// telemetry, unless something graver is in them.
pub(super) fn add(events: &mut Vec<Event>, mut said: Event) {
    let file = said.evidence[0].file.clone();
    let of_file = |event: &Event| event.evidence.iter().any(|one| one.file == file);
    let mut failed = false;
    for event in events.iter_mut().filter(|event| of_file(event) && leads(said.verdict, event.kind)) {
        failed = true;
        if event.verdict != said.verdict && !event.also.contains(&said.verdict) {
            event.also.push(said.verdict);
            event.explanation.push_str(&format!(" The log shows more ({}): {}", said.verdict, said.explanation));
        }
    }
    if failed || events.iter().any(|event| event.kind != Kind::Report && of_file(event)) {
        return;
    }
    let lighter = |event: &Event| gravity(event.verdict) < gravity(said.verdict);
    if let Some(at) = events.iter().position(|event| of_file(event) && lighter(event)) {
        let report = events.remove(at);
        said.numbers = report.numbers;
        said.also = report.also;
        if report.verdict != Verdict::ReportOnly {
            said.explanation.push_str(&format!(" {}", report.explanation));
            said.also.push(report.verdict);
        }
    }
    events.push(said);
}

/// Whether what is said of memory explains a failure of this kind.
fn leads(verdict: Verdict, kind: Kind) -> bool {
    match verdict {
        Verdict::HostGrowth => matches!(kind, Kind::HostOom | Kind::CgroupOom | Kind::RayOom | Kind::HostAllocFail),
        Verdict::Regression => false,
        _ => kind == Kind::VramOom,
    }
}

/// What the readings of `finding` make of a claim, if they agree with it.
fn proves(claim: Verdict, finding: &Finding) -> Option<(Verdict, &Finding)> {
    let of_host = match finding.metric {
        Metric::HostUsed | Metric::HostPeak => true,
        Metric::Allocated | Metric::MaxAllocated | Metric::Reserved | Metric::MaxReserved | Metric::DeviceUsed => false,
        _ => return None,
    };
    let (first, last) = (finding.statistics.first.bytes() as f64, finding.statistics.last.bytes() as f64);
    let (least, readings) = if claim == Verdict::Regression { (MORE, 2) } else { (GROWN, 3) };
    let falls = finding.shape.windows(2).filter(|two| two[1] < two[0]).count();
    let rises = last >= least * first
        && finding.statistics.readings >= readings
        && 4 * falls < finding.shape.len()
        && matches!(finding.pattern, Pattern::Growing | Pattern::Sparse | Pattern::Unsteady);
    let verdict = match claim {
        Verdict::HostGrowth if !of_host => Verdict::Leak,
        Verdict::Leak if of_host => return None,
        claim => claim,
    };
    (rises && finding.verdict < Trend::Regression).then_some((verdict, finding))
}
