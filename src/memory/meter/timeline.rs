//! Resident memory over time in bounded memory: thinned to a few hundred points that keep every peak.

use std::time::Duration;

use super::reading::TimelinePoint;
use crate::bytes::ByteSize;
use crate::nanoseconds;

/// The maximum number of points in a timeline.
pub const TIMELINE_POINTS: usize = 300;

/// The extreme points of one stretch of time, in order of time.
type Stretch = Vec<TimelinePoint>;

/// Takes points in order of time. Of each stretch of time it keeps the points with the most and the least resident
/// memory, the most anonymous memory and the least available memory. Stretches double when there are too many points,
/// so the memory stays bounded for any duration.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    stretch_ns: u64,
    /// The number of each stretch, and its points.
    stretches: Vec<(u64, Stretch)>,
    points: usize,
    last: Option<TimelinePoint>,
}

impl Timeline {
    /// A timeline of samples taken at `interval`.
    pub(crate) fn new(interval: Duration) -> Self {
        let stretch_ns = nanoseconds(interval).max(1);
        Self { stretch_ns, stretches: Vec::new(), points: 0, last: None }
    }

    pub(crate) fn push(&mut self, point: TimelinePoint) {
        self.last = Some(point.clone());
        self.insert(point.at_ns / self.stretch_ns, vec![point]);
        // One point is reserved for the very last, which `into_points` adds.
        while self.points > TIMELINE_POINTS - 1 && self.stretches.len() > 1 {
            self.stretch_ns = self.stretch_ns.saturating_mul(2);
            self.points = 0;
            for (number, stretch) in std::mem::take(&mut self.stretches) {
                self.insert(number / 2, stretch);
            }
        }
    }

    fn insert(&mut self, number: u64, points: Vec<TimelinePoint>) {
        if self.stretches.last().is_none_or(|(last, _)| *last != number) {
            self.stretches.push((number, Vec::new()));
        }
        if let Some((_, stretch)) = self.stretches.last_mut() {
            self.points -= stretch.len();
            stretch.extend(points);
            keep_extremes(stretch);
            self.points += stretch.len();
        }
    }

    /// The points in order of time, including the last one pushed.
    pub(crate) fn into_points(self) -> Vec<TimelinePoint> {
        let mut points: Vec<_> = self.stretches.into_iter().flat_map(|(_, stretch)| stretch).collect();
        if points.last() != self.last.as_ref() {
            points.extend(self.last);
        }
        // If only one process ran throughout, it holds everything.
        if points.iter().all(|point| point.largest.len() < 2) {
            points.iter_mut().for_each(|point| point.largest.clear());
        }
        points
    }
}

fn keep_extremes(stretch: &mut Stretch) {
    if stretch.len() <= 1 {
        return;
    }
    let at = |best: Option<(usize, &TimelinePoint)>| best.map(|(at, _)| at);
    let points = || stretch.iter().enumerate();
    // In a tie `max_by_key` takes the last and `min_by_key` the first: a plateau keeps its end and a valley its start.
    let kept = [
        at(points().max_by_key(|(_, point)| point.rss)),
        at(points().min_by_key(|(_, point)| point.rss)),
        at(points().filter(|(_, point)| point.anon.is_some()).max_by_key(|(_, point)| point.anon)),
        at(points().filter(|(_, point)| point.available.is_some()).min_by_key(|(_, point)| point.available)),
    ];
    let mut index = 0;
    stretch.retain(|_| {
        index += 1;
        kept.contains(&Some(index - 1))
    });
}

/// Resident memory over time as one line of `width` block characters, from zero to its peak; each shows the maximum in
/// its part of the time. Empty without points or width.
pub fn sparkline(points: &[TimelinePoint], width: usize) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let (Some(first), Some(last), Some(peak)) =
        (points.first(), points.last(), points.iter().map(|point| point.rss).max())
    else {
        return String::new();
    };
    if width == 0 {
        return String::new();
    }
    let span = u128::from(last.at_ns.saturating_sub(first.at_ns)) + 1;
    let mut columns: Vec<Option<ByteSize>> = vec![None; width];
    for point in points {
        // In 0..width, as the offset is less than the span.
        let column = u128::from(point.at_ns.saturating_sub(first.at_ns)).min(span - 1) * width as u128 / span;
        let column = &mut columns[column as usize];
        *column = (*column).max(Some(point.rss));
    }
    let mut before = first.rss;
    let level = |rss: ByteSize| match peak.bytes() {
        0 => 0,
        peak => (u128::from(rss.bytes()) * 7).div_ceil(u128::from(peak)) as usize,
    };
    columns
        .into_iter()
        .map(|column| {
            // A column without a point repeats the previous one.
            before = column.unwrap_or(before);
            BLOCKS[level(before)]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn point(at_ns: u64, rss: u64) -> TimelinePoint {
        let anon = Some(ByteSize::new(rss / 2));
        let available = Some(ByteSize::new(1 << 40));
        TimelinePoint { at_ns, rss: ByteSize::new(rss), anon, available, ..TimelinePoint::default() }
    }

    #[test]
    fn a_short_timeline_is_kept_as_it_is() {
        let mut timeline = Timeline::new(Duration::from_nanos(10));
        let points: Vec<_> = (0..200).map(|n| point(n * 10, n % 7)).collect();
        points.iter().for_each(|point| timeline.push(point.clone()));
        assert_eq!(timeline.into_points(), points);
    }

    #[test]
    fn a_day_of_samples_keeps_a_spike_of_one() {
        let mut timeline = Timeline::new(Duration::from_millis(10));
        for n in 0..8_640_000 / 4 {
            timeline.push(point(n * 10_000_000, if n == 1_234_567 { 900 } else { 100 + n % 3 }));
        }
        let points = timeline.into_points();
        assert!(points.len() <= TIMELINE_POINTS && points.len() > 50, "{}", points.len());
        assert!(points.contains(&point(1_234_567 * 10_000_000, 900)));
    }

    #[test]
    fn a_sparkline_shows_the_shape() {
        let points: Vec<_> = [0, 10, 20, 70, 35, 0].iter().enumerate().map(|(n, &r)| point(n as u64 * 5, r)).collect();
        assert_eq!(sparkline(&points, 6), "▁▂▃█▅▁");
        assert_eq!(sparkline(&points, 3), "▂█▅");
        assert_eq!(sparkline(&[point(7, 3)], 4), "████");
        assert_eq!(sparkline(&[point(0, 0)], 2), "▁▁");
        assert_eq!((sparkline(&[], 5), sparkline(&points, 0)), (String::new(), String::new()));
    }

    proptest! {
        #[test]
        fn extremes_survive_thinning(
            samples in prop::collection::vec((1u64..50, any::<u32>(), prop::option::of(any::<u32>())), 1..2000),
        ) {
            let mut timeline = Timeline::new(Duration::from_nanos(20));
            let mut at_ns = 0;
            let all: Vec<_> = samples
                .into_iter()
                .map(|(gap, rss, other)| {
                    at_ns += gap;
                    let other = other.map(|bytes| ByteSize::new(bytes.into()));
                    TimelinePoint {
                        at_ns,
                        rss: ByteSize::new(rss.into()),
                        anon: other,
                        available: other,
                        ..TimelinePoint::default()
                    }
                })
                .collect();
            all.iter().for_each(|point| timeline.push(point.clone()));
            let kept = timeline.into_points();
            prop_assert!(kept.len() <= TIMELINE_POINTS);
            prop_assert!(kept.is_sorted_by_key(|point| point.at_ns) && kept.iter().all(|point| all.contains(point)));
            let peak = |points: &[TimelinePoint]| points.iter().map(|point| point.rss).max();
            let anon = |points: &[TimelinePoint]| points.iter().filter_map(|point| point.anon).max();
            let floor = |points: &[TimelinePoint]| points.iter().filter_map(|point| point.available).min();
            prop_assert_eq!((peak(&kept), anon(&kept), floor(&kept)), (peak(&all), anon(&all), floor(&all)));
            prop_assert_eq!(kept.last(), all.last());
        }
        #[test]
        fn a_sparkline_has_its_width(points in prop::collection::vec((any::<u64>(), any::<u64>()), 1..50), width in 0usize..100) {
            let points: Vec<_> = points.into_iter().map(|(at_ns, rss)| point(at_ns, rss)).collect();
            prop_assert_eq!(sparkline(&points, width).chars().count(), width);
        }
    }
}
