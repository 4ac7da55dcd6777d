//! [`Course`]: the memory of a run over time, with its phases end to end, thinned to what a screen can show.

use plimsoll_memory::bytes::ByteSize;
use plimsoll_memory::meter::{Metric, PhaseReadings, ProcessRss, TimelinePoint};

/// Approximate maximum of moments in a course: more than a wide screen has columns.
pub(super) const MOMENTS: usize = 1600;

/// One phase on the course.
pub(super) struct Stretch<'a> {
    pub(super) phase: &'a PhaseReadings,
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

/// One moment of the course; values that were not read are absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Moment {
    /// Nanoseconds since the first phase began.
    pub(super) at_ns: u64,
    pub(super) rss: u64,
    pub(super) anon: Option<u64>,
    pub(super) shmem: Option<u64>,
    pub(super) swap: Option<u64>,
    pub(super) available: Option<u64>,
    /// The largest processes, if there were several.
    pub(super) largest: Vec<ProcessRss>,
}

/// The memory of a run over time.
pub(super) struct Course<'a> {
    pub(super) stretches: Vec<Stretch<'a>>,
    pub(super) moments: Vec<Moment>,
    pub(super) span_ns: u64,
}

impl<'a> Course<'a> {
    /// Builds the course of consecutive `phases`.
    pub(super) fn of(phases: &'a [PhaseReadings]) -> Self {
        let (mut stretches, mut moments, mut from_ns) = (Vec::new(), Vec::new(), 0u64);
        for phase in phases {
            let last = phase.timeline.iter().map(|point| point.at_ns).max().unwrap_or(0);
            let to_ns = from_ns.saturating_add(phase.wall_ns.max(last));
            moments.extend(phase.timeline.iter().map(|point| moment(point, from_ns)));
            stretches.push(Stretch { phase, from_ns, to_ns });
            from_ns = to_ns;
        }
        // A record from elsewhere may have its points in any order.
        moments.sort_by_key(|moment| moment.at_ns);
        Self { stretches, moments: thinned(moments, from_ns), span_ns: from_ns }
    }

    /// Position of `at_ns` as a share of the whole.
    pub(super) fn share(&self, at_ns: u64) -> f64 {
        if self.span_ns == 0 { 0.0 } else { at_ns.min(self.span_ns) as f64 / self.span_ns as f64 }
    }

    /// The largest resident set, from samples or from the kernel's mark.
    pub(super) fn peak(&self) -> u64 {
        let seen = self.moments.iter().map(|moment| moment.rss).max().unwrap_or(0);
        let read = self.stretches.iter().filter_map(|stretch| stretch.phase.readings.get(&Metric::PeakRss));
        read.map(|reading| reading.bytes.bytes()).max().unwrap_or(0).max(seen)
    }
}

fn moment(point: &TimelinePoint, from_ns: u64) -> Moment {
    let bytes = |bytes: Option<ByteSize>| bytes.map(ByteSize::bytes);
    Moment {
        at_ns: from_ns.saturating_add(point.at_ns),
        rss: point.rss.bytes(),
        anon: bytes(point.anon),
        shmem: bytes(point.shmem),
        swap: bytes(point.swap),
        available: bytes(point.available),
        largest: point.largest.clone(),
    }
}

/// Thins the moments: of each short stretch of time, only the first moment and the extremes remain.
fn thinned(moments: Vec<Moment>, span_ns: u64) -> Vec<Moment> {
    if moments.len() <= MOMENTS {
        return moments;
    }
    // A stretch keeps at most five moments.
    let stretch = span_ns / (MOMENTS as u64 / 5) + 1;
    let mut kept = Vec::with_capacity(MOMENTS);
    for part in moments.chunk_by(|a, b| a.at_ns / stretch == b.at_ns / stretch) {
        let extreme = |best: Option<(usize, &Moment)>| best.map(|(at, _)| at);
        let all = || part.iter().enumerate();
        let mut places = vec![
            Some(0),
            extreme(all().max_by_key(|(_, moment)| moment.rss)),
            extreme(all().min_by_key(|(_, moment)| moment.rss)),
            extreme(all().filter(|(_, moment)| moment.anon.is_some()).max_by_key(|(_, moment)| moment.anon)),
            extreme(all().filter(|(_, moment)| moment.available.is_some()).min_by_key(|(_, moment)| moment.available)),
        ];
        places.sort_unstable();
        places.dedup();
        kept.extend(places.into_iter().flatten().map(|at| part[at].clone()));
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(points: impl Iterator<Item = (u64, u64)>, wall_ns: u64) -> PhaseReadings {
        let bytes = |n| Some(ByteSize::new(n));
        let point = |(at_ns, rss)| TimelinePoint {
            at_ns,
            rss: ByteSize::new(rss),
            anon: bytes(rss / 2),
            ..TimelinePoint::default()
        };
        PhaseReadings { wall_ns, timeline: points.map(point).collect(), ..PhaseReadings::default() }
    }

    #[test]
    fn phases_stand_end_to_end() {
        let phases = [phase([(0, 5), (7, 6)].into_iter(), 10), phase([(0, 9), (25, 2)].into_iter(), 20)];
        let course = Course::of(&phases);
        assert_eq!(
            course.moments.iter().map(|moment| (moment.at_ns, moment.rss)).collect::<Vec<_>>(),
            [(0, 5), (7, 6), (10, 9), (35, 2)]
        );
        assert_eq!((course.span_ns, course.stretches[1].from_ns, course.peak()), (35, 10, 9));
        assert_eq!((course.share(0), course.share(7), course.share(99)), (0.0, 0.2, 1.0));
        assert_eq!(Course::of(&[]).share(5), 0.0);
    }

    #[test]
    fn a_long_course_keeps_a_spike_of_one() {
        let points = (0..100_000u64).map(|n| (n * 10, if n == 61_234 { 900 } else { 100 + n % 3 }));
        let phases = [phase(points, 1_000_000)];
        let course = Course::of(&phases);
        assert!(course.moments.len() <= MOMENTS && course.moments.len() > MOMENTS / 4, "{}", course.moments.len());
        assert!(course.moments.is_sorted_by_key(|moment| moment.at_ns));
        assert!(course.moments.iter().any(|moment| (moment.at_ns, moment.rss) == (612_340, 900)));
    }
}
