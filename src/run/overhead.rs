//! [`Overhead`]: what a launcher takes beside a launch.

/// The most time that the launches of a region may take beyond the measured overhead, together and each, in nanoseconds:
/// a sleeping processor wakes up slowly, twice a launch, and a shared one has others' data in its caches.
const SLACK_NS: (f64, f64) = (400_000.0, 50_000.0);
/// The additional time allowed between two launches, in nanoseconds.
const LAUNCH_NS: f64 = 1_000.0;

/// A launcher's overhead beside a launch, measured before any kernel was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Overhead {
    /// One turn of the worker.
    pub launch_ns: f64,
    /// One patch that is put into an argument.
    pub patch_ns: f64,
    /// One byte that is put into an argument, or copied from an output.
    pub byte_ns: f64,
    /// Each output after the first.
    pub output_ns: f64,
}

/// What is done beside the launches of a region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Besides {
    pub launches: usize,
    /// The worker has its turn once or twice a launch.
    pub turns: usize,
    pub patches: usize,
    /// Bytes that are put into arguments, or copied from outputs.
    pub bytes: usize,
    /// Outputs after the first one of each launch.
    pub more_outputs: usize,
}

impl Overhead {
    /// Twice the measured overhead, plus [`SLACK_NS`]: the most that some launches may take besides. Memory in use by others
    /// is slower.
    pub(super) fn allowed_ns(&self, besides: Besides) -> f64 {
        let Besides { launches, turns, patches, bytes, more_outputs } = besides;
        let of = |ns: f64, count: usize| ns * count as f64;
        // In addition to idle launches: a kernel's arguments are bound, its output is described.
        let bound = of(LAUNCH_NS, turns);
        let data = of(self.patch_ns, patches) + of(self.byte_ns, bytes);
        let measured = bound + of(self.launch_ns, turns) + data + of(self.output_ns, more_outputs);
        let (together, each) = SLACK_NS;
        together + of(each, launches) + 2.0 * measured
    }
}
