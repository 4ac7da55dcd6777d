//! The events of a memory snapshot: each request that failed according to its trace.

use super::advice::{Known, advice};
use super::findings::{Event, Evidence, KnownBatch, Numbers};
use super::phase;
use super::sighting::Work;
use super::snapshot::{Category, DeviceFindings, OomFinding, OomVerdict, SnapshotFindings};
use super::verdict::{Kind, Verdict};
use crate::estimate::Ladder;
use plimsoll_memory::bytes::ByteSize;

/// The events of `snapshot`, in the order of its devices.
pub(super) fn events(snapshot: &SnapshotFindings, batch: Option<&KnownBatch>, ladder: Option<&Ladder>) -> Vec<Event> {
    let of_device = |device: &DeviceFindings| -> Vec<Event> {
        let Some(trace) = &device.trace else { return Vec::new() };
        trace.ooms.iter().map(|oom| event(&snapshot.name, device, oom, batch, ladder)).collect()
    };
    snapshot.devices.iter().flat_map(of_device).collect()
}

fn event(
    name: &str,
    device: &DeviceFindings,
    oom: &OomFinding,
    batch: Option<&KnownBatch>,
    ladder: Option<&Ladder>,
) -> Event {
    let point = &oom.moment.point;
    let used = point.allocated + point.pending_free;
    let private: ByteSize =
        device.groups.iter().filter(|group| group.pool.is_some()).map(|group| group.state.allocated).sum();
    let frames: Vec<String> = oom
        .stack
        .iter()
        .map(|frame| format!("File \"{}\", line {}, in {}", frame.file, frame.line, frame.function))
        .collect();
    let phase = phase::phase(&frames.iter().map(String::as_str).collect::<Vec<_>>());
    let work = if phase.is_some_and(|phase| phase != Verdict::Eval) { Work::Training } else { Work::Unknown };
    let entry = point.entry.unwrap_or(0);
    let place = oom.stack.first().map_or(String::new(), |frame| format!(", at {frame}"));
    let mut event = Event {
        kind: Kind::VramOom,
        backend: Some("cuda".to_owned()),
        software: Some("pytorch".to_owned()),
        verdict: verdict(oom.verdict),
        also: phase.into_iter().collect(),
        numbers: Numbers {
            tried: Some(oom.tried),
            free: Some(oom.device_free),
            allocated: Some(point.allocated),
            reserved: Some(point.reserved),
            unallocated: Some(point.reserved.saturating_sub(used)),
            private_pools: Some(private).filter(|&private| oom.largest_free.is_some() && private > ByteSize::ZERO),
            ..Numbers::default()
        },
        evidence: vec![Evidence {
            file: name.to_owned(),
            line: entry + 1,
            offset: 0,
            text: format!("oom: size {}, device_free {}{place}", oom.tried.bytes(), oom.device_free.bytes()),
        }],
        occurrences: 1,
        rank: None,
        pid: None,
        job: None,
        device: Some(device.device.into()),
        host: None,
        victim: None,
        advice: Vec::new(),
        explanation: explanation(oom),
    };
    event.advice = advice(&event, Known { work, batch, ladder, tallest: tallest(oom), ..Known::default() });
    event
}

/// What most of the memory was used for, if that is at least a third of it.
fn tallest(oom: &OomFinding) -> Option<Category> {
    let band =
        oom.moment.bands.iter().filter(|band| band.category != Category::Unknown).max_by_key(|band| band.bytes)?;
    (band.bytes.bytes() >= oom.moment.point.allocated.bytes() / 3).then_some(band.category)
}

fn verdict(verdict: OomVerdict) -> Verdict {
    match verdict {
        OomVerdict::Fragmentation => Verdict::Fragmentation,
        OomVerdict::SingleHugeRequest => Verdict::SingleHugeRequest,
        OomVerdict::UnexplainedFreeExceedsRequest => Verdict::UnexplainedFreeExceedsRequest,
        OomVerdict::PrivatePool => Verdict::PrivatePool,
        OomVerdict::Capacity => Verdict::Capacity,
    }
}

fn explanation(oom: &OomFinding) -> String {
    let point = &oom.moment.point;
    let unused = point.reserved.saturating_sub(point.allocated + point.pending_free);
    let mut text = match oom.verdict {
        OomVerdict::Fragmentation => {
            format!("{unused} was reserved but unused, more than the {} requested, but in pieces.", oom.tried)
        }
        OomVerdict::SingleHugeRequest => {
            format!(
                "One request of {}: more than the {} free on the device and the {unused} unused in the allocator.",
                oom.tried, oom.device_free
            )
        }
        OomVerdict::UnexplainedFreeExceedsRequest => {
            format!(
                "{} was free on the device, and {} were requested: a limit on the process, or the driver, refused \
                 them.",
                oom.device_free, oom.tried
            )
        }
        OomVerdict::PrivatePool => {
            "Private pools, such as those of CUDA graphs, hold most of what is reserved.".to_owned()
        }
        OomVerdict::Capacity => format!(
            "{} of {} reserved was in use, {} free on the device.",
            point.allocated, point.reserved, oom.device_free
        ),
    };
    if let Some(largest) = oom.largest_free {
        text.push_str(&format!(" The largest free block that could have served it has {largest}."));
    }
    if let Some(band) = tallest(oom).and_then(|of| oom.moment.bands.iter().find(|band| band.category == of)) {
        text.push_str(&format!(" Most of it is {}: {}.", band.category.name(), band.bytes));
    }
    if let Some(culprit) = oom.moment.culprits.first()
        && let Some(frame) = culprit.stack.first()
    {
        text.push_str(&format!(" Most is held by {frame}: {} in {} blocks.", culprit.bytes, culprit.count));
    }
    text
}

#[cfg(test)]
mod tests {
    use crate::snapshot::{Options, Snapshot};
    use crate::{Analysis, Kind, Verdict};

    #[test]
    fn an_oom_of_a_snapshot_is_an_event() {
        let bytes = include_bytes!("../../tests/fixtures/snapshot.pickle");
        let mut analysis = Analysis::default();
        assert!(analysis.read_with("snapshot.pickle", &bytes[..], |_, _| Ok(0)).unwrap().is_some());
        analysis.add_snapshot(
            Snapshot::read("snapshot.pickle", &bytes[..], Options::default()).unwrap().findings().unwrap(),
        );
        let findings = analysis.findings(None);
        assert_eq!((findings.kind, findings.verdict), (Kind::VramOom, Verdict::SingleHugeRequest));
        let event = &findings.events[0];
        assert_eq!(event.numbers.tried.unwrap().bytes(), 500 << 20);
        assert_eq!(event.numbers.free.unwrap().bytes(), 20 << 20);
        assert_eq!(event.device, Some(0));
        assert!(!event.advice.is_empty());
        assert_eq!(findings.snapshots.len(), 1);
    }

    #[test]
    fn a_snapshot_without_an_oom_is_a_report() {
        let bytes = include_bytes!("../../tests/fixtures/snapshot_earlier.pickle");
        let mut analysis = Analysis::default();
        analysis.read_with("earlier.pickle", &bytes[..], |_, _| Ok(0)).unwrap();
        analysis.add_snapshot(
            Snapshot::read("earlier.pickle", &bytes[..], Options::default()).unwrap().findings().unwrap(),
        );
        let findings = analysis.findings(None);
        assert_eq!((findings.kind, findings.events.len()), (Kind::Report, 0));
    }
}
