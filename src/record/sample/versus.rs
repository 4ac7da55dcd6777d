//! Two kernels that were timed in turns.

use super::*;

/// The record of a kernel that was timed in turns with another, which fails on the last entry: faster on every second
/// entry, slower on the others, of which one cannot be decided.
pub(crate) fn versus() -> Record {
    let mut record = record();
    let pairs = 10.try_into().unwrap();
    let other = KernelIdentity::new("lib:./embedding.so", Some("00ff".to_owned()));
    capture(&mut record).versus = Some(VersusSemantics { kernel: other, pairs });
    record.semantics_digest = record.semantics.digest();
    let interval = |low, high| Some(SpeedupInterval { low, high, confidence: 0.99 });
    let speedup = |ratio, interval| Speedup {
        ratio,
        interval,
        pairs: 10,
        method: "shift within pairs, exact Wilcoxon signed-rank interval, of logarithms".to_owned(),
    };
    let mut entries = record.results.entries.clone();
    let mut of_entries = Rows::default();
    for (result, found) in entries.all_mut().iter_mut().zip([
        Some(speedup(1.5, interval(1.48, 1.52))),
        Some(speedup(0.8, interval(0.79, 0.82))),
        Some(speedup(1.01, interval(0.98, 1.03))),
        None,
    ]) {
        let profile = result.profile.as_mut().unwrap();
        match &found {
            Some(speedup) => {
                let statistics = profile.statistics.as_mut().unwrap();
                statistics.mean_ns *= speedup.ratio;
                let time = record.results.entries[result.index].profile.as_ref().unwrap().statistics.unwrap().mean_ns;
                let times_ns = vec![[time, time * speedup.ratio]; 10];
                of_entries.push(Pairs { times_ns, speedup: found });
            }
            None => {
                *profile =
                    Profile::failed(Failure::new(FailureKind::Exception, "ValueError: no kernel for 1120 columns"));
                of_entries.push(Pairs::default());
            }
        }
    }
    record.results.entries[3].profile = Some(Profile::not_run("the other kernel failed on it"));
    let timing = Aggregation::EntryMeans.aggregate(&entries);
    let all = Some(speedup(1.17, interval(1.16, 1.18)));
    record.results.versus = Some(Versus { entries, timing, pairs: of_entries, speedup: all });
    record
}
