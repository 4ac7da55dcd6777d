//! Logs of public issues, in the formats of their programs, and their findings.

use std::fmt::Write;

use proptest::prelude::*;

use super::*;
use crate::telemetry::{Metric, Position, Reader};
use plimsoll_memory::ByteSize;

fn collect(text: &str) -> Collector {
    let (mut reader, mut samples, mut offset) = (Reader::default(), Vec::new(), 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        reader.line(Position { line: index as u64 + 1, offset }, line, &mut samples);
        offset += line.len() as u64;
    }
    reader.finish(&mut samples);
    let mut collector = Collector::default();
    samples.iter().for_each(|sample| collector.push(sample));
    collector
}

fn verdict(text: &str) -> TrendVerdict {
    collect(text).trends().verdict
}

/// A log of NeMo-RL: steps of `seconds`, and the memory of each rank after refit, by step.
fn nemo(steps: u64, ranks: u64, seconds: f64, memory: impl Fn(u64, u64) -> (f64, f64)) -> String {
    let mut text = String::new();
    for step in 1..=steps {
        let _ = writeln!(text, "========================= Step {step}/1000 =========================");
        for rank in 0..ranks {
            let (allocated, reserved) = memory(step, rank);
            let (pid, ip) = (1000 + rank, rank / 8);
            let _ = writeln!(
                text,
                "\x1b[36m(MegatronPolicyWorker[rank={rank}] pid={pid}, ip=10.0.0.{ip})\x1b[0m GPU Memory before refit: 30.00GB allocated, 40.00GB reserved"
            );
            let _ = writeln!(
                text,
                "\x1b[36m(MegatronPolicyWorker[rank={rank}] pid={pid}, ip=10.0.0.{ip})\x1b[0m GPU Memory after refit complete: {allocated:.2}GB allocated, {reserved:.2}GB reserved"
            );
        }
        let _ = writeln!(text, "  \u{2022} Total step time: {seconds:.2}s");
    }
    text
}

const AFTER: Option<&str> = Some("after refit complete");

/// NeMo-RL #2003: 8 nodes, Qwen 30B.
#[test]
fn nemo_rl_2003_s_table_is_reproduced_from_its_logs() {
    let growing = |from: f64, to: f64, step: u64| from + (to - from) * (step as f64 - 1.0) / 9.0;
    let logs = [
        ("BF16", nemo(10, 64, 95.0, |_, _| (0.5, 5.2))),
        ("FP8", nemo(10, 64, 87.0, |step, _| (growing(1.9, 8.9, step), growing(9.0, 26.0, step)))),
        ("FP8 + clear caches", nemo(10, 64, 91.0, |_, rank| (0.6, if rank % 16 == 3 { 3.0 } else { 15.5 }))),
        ("FP8 + clear + expandable", nemo(10, 64, 127.0, |_, _| (1.1, 3.0))),
    ];
    let readings: Vec<Readings> = logs.iter().map(|(_, log)| collect(log).readings(AFTER).unwrap()).collect();
    let near = |found: Option<ByteSize>, gib: f64| {
        let found = found.unwrap().bytes() as f64 / (1u64 << 30) as f64;
        assert!((found - gib).abs() < 0.5 * gib.min(1.0), "{found} is not {gib}");
    };
    for (found, (allocated, reserved)) in readings.iter().zip([(0.5, 5.2), (8.9, 26.0), (0.6, 15.5), (1.1, 3.0)]) {
        near(found.allocated, allocated);
        near(found.reserved, reserved);
    }
    assert_eq!(readings.iter().map(|r| r.seconds.unwrap()).collect::<Vec<_>>(), [95.0, 87.0, 91.0, 127.0]);

    let allowance = Allowance::default();
    let table: Vec<String> =
        readings[1..].iter().map(|found| compare(&readings[0], found, &allowance).to_string()).collect();
    assert_eq!(table, ["leak", "fragmentation, varies by rank", "cured, at +33.7 % time"]);
    assert_eq!(compare(&readings[0], &readings[0], &allowance).verdict, ConfigurationVerdict::Solved);

    // Each log alone: growth is a leak, memory that stays reserved is the cache, the others are fine.
    let verdicts: Vec<TrendVerdict> = logs.iter().map(|(_, log)| verdict(log)).collect();
    assert_eq!(
        verdicts,
        [TrendVerdict::ReportOnly, TrendVerdict::Leak, TrendVerdict::Fragmentation, TrendVerdict::ReportOnly]
    );
}

#[test]
fn the_worst_rank_decides_and_the_spread_is_told() {
    let log = nemo(8, 16, 90.0, |step, rank| if rank == 11 { (1.0 + 2.0 * step as f64, 30.0) } else { (1.0, 5.0) });
    let trends = collect(&log).trends();
    let leak = &trends.findings[0];
    assert_eq!(
        (leak.verdict, leak.worker.rank, leak.label.as_str()),
        (TrendVerdict::Leak, Some(11), "after refit complete")
    );
    let spread = leak.spread.unwrap();
    assert_eq!((spread.ranks, spread.highest_worker.rank, spread.rank_dependent), (16, Some(11), true));
    assert!(
        leak.explanation.contains("it depends on the rank: 1.00 GiB on rank 0, 17.00 GiB on rank 11"),
        "{}",
        leak.explanation
    );
    assert_eq!(leak.statistics.readings, 8);
    assert!((leak.statistics.slope / (1u64 << 31) as f64 - 1.0).abs() < 0.01);
}

/// NeMo-RL #3244: the same worker at the same step in two releases.
#[test]
fn nemo_rl_3244_is_a_regression() {
    let (before, after) = (nemo(3, 8, 95.0, |_, _| (7.87, 12.0)), nemo(3, 8, 95.0, |_, _| (27.02, 30.0)));
    let (old, new) = (collect(&before).readings(AFTER).unwrap(), collect(&after).readings(AFTER).unwrap());
    assert_eq!(regression(&old, &new, &Allowance::default()), Some(TrendVerdict::Regression));
    assert_eq!(regression(&old, &old, &Allowance::default()), None);
    assert_eq!(regression(&new, &old, &Allowance::default()), None);
    // Both in one text: the second is another run because its steps start over.
    let trends = collect(&(before + &after)).trends();
    assert_eq!(trends.verdict, TrendVerdict::Regression);
    let finding = trends
        .findings
        .iter()
        .find(|finding| finding.metric == Metric::Allocated && finding.verdict == TrendVerdict::Regression);
    assert!(finding.unwrap().explanation.contains("7.87 GiB in the run before, 27.02 GiB in the last"), "{finding:?}");
}

/// NeMo-RL #2619: memory that remains after vLLM's sleep.
#[test]
fn nemo_rl_2619_is_residual_growth() {
    let sleep = |freed: f64, left: f64| {
        format!(
            "INFO 05-29 10:00:00 [worker.py:145] Sleep mode freed {freed:.2} GiB memory, {left:.2} GiB memory is still in use.\n"
        )
    };
    let log =
        [(43.82, 4.11), (40.0, 11.57), (40.0, 25.0), (40.0, 24.1)].map(|(freed, left)| sleep(freed, left)).concat();
    let trends = collect(&log).trends();
    assert_eq!(trends.verdict, TrendVerdict::ResidualGrowth);
    assert!(trends.findings[0].explanation.starts_with("4.11 GiB were still in use after the first sleep, 25.00 GiB"));
    let steady = [4.11, 4.3, 4.2, 4.25].map(|left| sleep(43.0, left)).concat();
    assert_eq!(verdict(&steady), TrendVerdict::ReportOnly);
}

#[test]
fn sleep_that_frees_nothing_is_ineffective() {
    let log = "Sleep mode freed 0.00 GiB memory, 70.31 GiB memory is still in use.\n";
    let trends = collect(log).trends();
    assert_eq!(trends.verdict, TrendVerdict::SleepIneffective);
    assert!(trends.findings[0].explanation.contains("expandable_segments"));
}

fn deepspeed(reports: &[(&str, f64, f64, f64)]) -> String {
    let mut text = String::new();
    for (label, ma, ca, host) in reports {
        let _ = write!(
            text,
            "{label}\nMA {ma} GB         Max_MA {ma} GB         CA {ca} GB         Max_CA {ca:.0} GB \nCPU Virtual Memory:  used = {host} GB, percent = 13.4%\n"
        );
    }
    text
}

/// DeepSpeed #7693: a tensor of 12 GB moves to the device and back.
#[test]
fn deepspeed_7693_s_round_trip_is_host_growth() {
    let log = deepspeed(&[
        ("before to", 9.36, 9.4, 135.33),
        ("after .to(device)", 21.36, 24.05, 135.33),
        ("after .cpu()", 9.36, 24.05, 147.38),
    ]);
    let trends = collect(&log).trends();
    assert_eq!(trends.verdict, TrendVerdict::HostGrowth);
    let explanation = &trends.findings[0].explanation;
    assert!(
        explanation.starts_with("12.00 GiB moved to the device and back, and the host holds 12.05 GiB more"),
        "{explanation}"
    );
    assert!(explanation.contains("24.05 GiB stay cached"), "{explanation}");
}

#[test]
fn offloading_while_a_model_is_built_is_no_host_growth() {
    let log = deepspeed(&[
        ("Before creating fp16 partitions", 0.58, 1.0, 300.0),
        ("After creating fp16 partitions", 26.38, 26.7, 300.0),
        ("DeepSpeedZeRoOffload initialize [end]", 0.58, 26.7, 326.0),
    ]);
    assert!(!collect(&log).trends().findings.iter().any(|finding| finding.verdict == TrendVerdict::HostGrowth));
}

#[test]
fn host_memory_that_rises_step_by_step_is_host_growth() {
    let reports: Vec<String> = (1..=8).map(|step| format!("after step {step}")).collect();
    let reports: Vec<_> =
        reports.iter().enumerate().map(|(i, label)| (label.as_str(), 5.0, 6.0, 100.0 + 1.5 * i as f64)).collect();
    let trends = collect(&deepspeed(&reports)).trends();
    assert_eq!((trends.verdict, trends.findings[0].label.as_str()), (TrendVerdict::HostGrowth, "after step #"));
}

/// Lines of a training whose print is the most so far, after each step.
fn peaks(name: &str, mib: impl IntoIterator<Item = u64>) -> String {
    let most = mib.into_iter().scan(0, |most, mib| {
        *most = mib.max(*most);
        Some(*most)
    });
    most.enumerate().map(|(step, mib)| format!("step {step} {name} {mib} MiB\n")).collect()
}

#[test]
fn a_peak_that_rises_at_every_step_is_a_leak() {
    let rising = || (0..20).map(|step| 4000 + step * 100 + step % 3);
    assert_eq!(verdict(&peaks("max_memory_allocated", rising())), TrendVerdict::Leak);
    assert_eq!(verdict(&peaks("max rss", rising())), TrendVerdict::HostGrowth);
    // Of a program that fills its caches, and of a model that is loaded.
    let levels_off = || (0..20).map(|step: u64| 8000 - 4000 / (step + 1));
    assert_eq!(verdict(&peaks("max_memory_allocated", levels_off())), TrendVerdict::ReportOnly);
    assert_eq!(verdict(&peaks("max rss", levels_off())), TrendVerdict::ReportOnly);
}

proptest! {
    /// A small process whose readings go up and down, as those of most do.
    #[test]
    fn a_small_process_grows_if_its_level_does(
        level in 20.0f64..120.0,
        noise in prop::collection::vec(-0.025f64..0.025, 24..60),
    ) {
        let text = |rise: f64| -> String {
            let last = (noise.len() - 1) as f64;
            let mib = |index: usize| level * (1.0 + rise * index as f64 / last + noise[index]);
            (0..noise.len()).map(|index| format!("request {index} rss {:.2} MiB\n", mib(index))).collect()
        };
        prop_assert_eq!(verdict(&text(1.0)), TrendVerdict::HostGrowth);
        prop_assert_eq!(verdict(&text(0.0)), TrendVerdict::ReportOnly);
        // It fills its caches.
        prop_assert_eq!(verdict(&text(0.15)), TrendVerdict::ReportOnly);
    }

    #[test]
    fn the_peaks_of_work_that_varies_are_no_leak(mib in prop::collection::vec(4000u64..12000, 16..64)) {
        prop_assert_eq!(verdict(&peaks("max_memory_allocated", mib.iter().copied())), TrendVerdict::ReportOnly);
        prop_assert_eq!(verdict(&peaks("max rss", mib)), TrendVerdict::ReportOnly);
    }
}

/// Few readings are enough if they lie further apart than those of a program that starts.
#[test]
fn times_may_stand_in_the_line_above_it_or_count_from_an_epoch() {
    let daily = |day: u64| {
        format!(
            "procstat,host=a memory_rss={}i {}000000000\n",
            28_114_944 + day * 2_500_000,
            1_740_787_200 + day * 86_400
        )
    };
    let each_second = |second: u64| {
        format!("procstat,host=a memory_rss={}i {}000000000\n", 28_114_944 + second * 2_500_000, 1_740_787_200 + second)
    };
    assert_eq!(verdict(&(0..8).map(daily).collect::<String>()), TrendVerdict::HostGrowth);
    assert_eq!(verdict(&(0..8).map(each_second).collect::<String>()), TrendVerdict::ReportOnly);
    let hourly = |hour: u64| {
        format!(
            "trainbox  Mon Sep 15 {:02}:00:03 2025  535.183.01\n[0] NVIDIA RTX A6000 | 71'C,  98 % | {} / 49140 MB | kofi(20782M)\n",
            hour,
            6190 + hour * 1850
        )
    };
    assert_eq!(verdict(&(1..8).map(hourly).collect::<String>()), TrendVerdict::Leak);
}

/// Adam's moments after the first step, as in DeepSpeed #7693: memory grows once, and not again.
#[test]
fn growth_in_the_first_step_only_is_no_leak() {
    let log = nemo(6, 1, 90.0, |step, _| if step == 1 { (20.0, 22.0) } else { (52.0, 54.0) });
    let trends = collect(&log).trends();
    assert_eq!(trends.verdict, TrendVerdict::ReportOnly);
    let finding =
        trends.findings.iter().find(|f| f.metric == Metric::Allocated && f.label == "after refit complete").unwrap();
    assert_eq!(finding.pattern, Pattern::FirstStepOnly);
}

#[test]
fn m20_rising_reserved_that_levels_off_is_no_leak_and_rising_allocated_is() {
    let levels_off = nemo(20, 2, 90.0, |step, _| (3.0, 9.0 - 6.0 / step as f64));
    let trends = collect(&levels_off).trends();
    assert_ne!(trends.verdict, TrendVerdict::Leak);
    let reserved =
        trends.findings.iter().find(|f| f.metric == Metric::Reserved && f.label == "after refit complete").unwrap();
    assert_eq!(reserved.pattern, Pattern::Plateau);
    let rises = nemo(20, 2, 90.0, |step, _| (3.0 + 0.25 * step as f64, 12.0));
    assert_eq!(verdict(&rises), TrendVerdict::Leak);
}

#[test]
fn a_cache_that_grows_to_the_end_is_in_pieces_and_one_that_stops_is_none() {
    let print = |reserved: &dyn Fn(f64) -> f64| {
        let line =
            |step: i32| format!("step {step} allocated 18.02 GiB reserved {:.2} GiB\n", reserved(f64::from(step)));
        (0..12).map(line).collect::<String>()
    };
    assert_eq!(verdict(&print(&|step| 29.0 + 3.0 * step)), TrendVerdict::Fragmentation);
    assert_eq!(verdict(&print(&|step| 62.0 - 33.0 / (1.0 + step))), TrendVerdict::CacheNotLeak);
    assert_eq!(verdict(&print(&|step| 60.0 + 0.3 * step)), TrendVerdict::CacheNotLeak, "hardly more");
}

#[test]
fn a_model_that_is_loaded_leaks_nothing() {
    let log = deepspeed(&[
        ("after embedding", 2.0, 2.0, 50.0),
        ("after layer", 8.0, 8.0, 51.0),
        ("after head", 16.0, 16.0, 52.0),
    ]);
    assert_eq!(verdict(&log), TrendVerdict::ReportOnly);
}

#[test]
fn three_readings_are_growth_only_where_every_step_is_large() {
    assert_eq!(verdict(&nemo(3, 1, 90.0, |step, _| (4.0 * step as f64, 20.0))), TrendVerdict::Leak);
    assert_eq!(verdict(&nemo(3, 1, 90.0, |step, _| (10.0 + 0.5 * step as f64, 20.0))), TrendVerdict::ReportOnly);
    assert_eq!(verdict(&nemo(2, 1, 90.0, |step, _| (4.0 * step as f64, 20.0))), TrendVerdict::ReportOnly);
}

#[test]
fn m18_retries_and_peaks_are_told() {
    let mut collector = Collector::default();
    let mut sample = crate::telemetry::Sample::new(crate::telemetry::Format::MemorySummary, Position::default());
    sample.retries = Some(14);
    collector.push(&sample);
    assert_eq!(collector.trends().retries, Some(14));
    assert_eq!(Collector::default().trends().retries, None);
}

#[test]
fn a_long_log_keeps_a_bounded_series_and_its_slope() {
    let mut collector = Collector::default();
    let (mut reader, mut samples) = (Reader::default(), Vec::new());
    for step in 0..100_000u64 {
        let allocated = 1.0 + step as f64 / 10_000.0;
        let line = format!("[gpumem] tag=end step={step} rank=0 alloc={allocated:.4} reserved=20.0");
        reader.line(Position { line: step, offset: step * 100 + 1 }, &line, &mut samples);
        samples.drain(..).for_each(|sample| collector.push(&sample));
    }
    let trends = collector.trends();
    let leak = &trends.findings[0];
    assert_eq!((trends.verdict, leak.statistics.last.bytes() >> 20), (TrendVerdict::Leak, 11_263));
    assert!(leak.statistics.readings <= 514);
    assert!((leak.statistics.slope * 10_000.0 / (1u64 << 30) as f64 - 1.0).abs() < 0.01, "{}", leak.statistics.slope);
}

proptest! {
    #[test]
    fn noise_around_a_level_is_no_leak(level in 1.0f64..60.0, noise in prop::collection::vec(-0.005f64..0.005, 3..40)) {
        let log = nemo(noise.len() as u64, 1, 90.0, |step, _| {
            let allocated = level * (1.0 + noise[step as usize - 1]);
            (allocated, allocated + 2.0)
        });
        prop_assert_ne!(verdict(&log), TrendVerdict::Leak);
    }

    #[test]
    fn a_steady_rise_is_a_leak_whatever_the_noise_and_the_outlier(rise in 0.5f64..2.0, noise in prop::collection::vec(0.0f64..0.2, 8..40), outlier in 3usize..6) {
        let log = nemo(noise.len() as u64, 2, 90.0, |step, _| {
            let at = step as usize - 1;
            let spike = if at == outlier { 9.0 } else { 0.0 };
            (3.0 + rise * step as f64 + noise[at] + spike, 70.0)
        });
        prop_assert_eq!(verdict(&log), TrendVerdict::Leak);
    }

    #[test]
    fn the_order_of_ranks_changes_nothing(values in prop::collection::vec((0.1f64..40.0, 0.0f64..40.0), 6)) {
        let of = |flip: bool| {
            let log = nemo(3, 2, 90.0, |step, rank| {
                let (allocated, more) = values[((step - 1) * 2 + rank) as usize];
                (allocated, allocated + more)
            });
            let mut lines: Vec<&str> = log.split_inclusive('\n').collect();
            if flip {
                // The two ranks of a step, swapped.
                for step in lines.chunks_mut(6) {
                    step.swap(1, 3);
                    step.swap(2, 4);
                }
            }
            let trends = collect(&lines.concat()).trends();
            (trends.verdict, trends.findings.iter().map(|finding| (finding.verdict, finding.label.clone(), finding.metric, finding.worker)).collect::<Vec<_>>())
        };
        prop_assert_eq!(of(false), of(true));
    }
}

#[test]
fn readings_that_name_nobody_are_not_another_rank() {
    let named = |other: &str| {
        let line = |step: u64| format!("step {step} gpu mem: 4.0 GB\nstep {step} {other} gpu mem allocated: 9.0 GB\n");
        let text: String = (0..5).map(line).collect();
        collect(&text).trends().findings.iter().any(|finding| finding.verdict == TrendVerdict::VariesByRank)
    };
    assert!(!named("cuda:0"));
    let ranks: String = (0..5)
        .map(|step| format!("step {step} cuda:1 gpu mem: 4.0 GB\nstep {step} cuda:0 gpu mem: 9.0 GB\n"))
        .collect();
    assert!(collect(&ranks).trends().findings.iter().any(|finding| finding.verdict == TrendVerdict::VariesByRank));
}
