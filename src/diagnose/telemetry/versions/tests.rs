//! Readings of two versions.

use super::*;
use crate::telemetry::{Position, Reader};

/// The label, the metric, and the two amounts in MiB of each row that a reader finds in `text`.
fn rows(text: &str) -> Vec<(String, Metric, f64, f64)> {
    let (mut reader, mut samples, mut offset) = (Reader::default(), Vec::new(), 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        reader.line(Position { line: index as u64 + 1, offset }, line, &mut samples);
        offset += line.len() as u64;
    }
    samples.retain(|sample| sample.format == Format::Versions);
    let mib = |sample: &Sample| sample.figures.values().next().unwrap().value() / f64::from(1 << 20);
    let row = |pair: &[Sample]| {
        let metric = *pair[0].figures.keys().next().unwrap();
        (pair[0].label.clone().unwrap_or_default(), metric, mib(&pair[0]), mib(&pair[1]))
    };
    samples.chunks(2).map(row).collect()
}

fn found(text: &str) -> Vec<(f64, f64)> {
    rows(text).into_iter().map(|(_, _, before, after)| (before.round(), after.round())).collect()
}

#[test]
fn rows_that_state_the_change_prove_themselves() {
    for (text, expected) in [
        ("peak allocated GiB   41.2    58.9   +43.0%", vec![(42189.0, 60314.0)]),
        ("| peak RSS | 412 MiB | 655 MiB | +59.0 % |", vec![(412.0, 655.0)]),
        ("peak RSS: 412 MiB -> 655 MiB (+59.0%)", vec![(412.0, 655.0)]),
        ("peak RSS  655 MiB  412 MiB  +59.0%", vec![(412.0, 655.0)]),
        ("max_rss_mb\t1210.4\t1530.9\t+320.5", vec![(1210.0, 1531.0)]),
        ("peak CUDA memory (MiB)  52,110  60,874  +16.8%  FAIL (max +3%)", vec![(52110.0, 60874.0)]),
        ("peak RSS (MiB)  4,110  3,000  -1,110  -27.0%", vec![(4110.0, 3000.0)]),
        ("peak memory bs=32  9.1 GiB  9.1 GiB  +0.0%", vec![(9318.0, 9318.0)]),
        // Of two columns that are named the ratio is enough, and the name may stand behind.
        (
            "Name  rounds  peak main (MiB)  peak PR (MiB)  ratio  status\nparse_1M  3  288.40  611.95  2.12  FAIL (> 1.20)",
            vec![(288.0, 612.0)],
        ),
        (
            "| Change | Before [04f19aa2] <v1> | After [d2bb7c61] | Ratio | Benchmark |\n| + | 182M | 497M | 2.73 | graph.peakmem_all |",
            vec![(182.0, 497.0)],
        ),
        (
            "Peak memory\n\n| case | base `9f12c0e` | head (4ad7b31) | \u{394} |\n|---|---|---|---|\n| bert | 11 840 MiB | 14,902.5 MiB | **+25.9 %** |",
            vec![(11840.0, 14903.0)],
        ),
        ("Name  rounds  peak main (MiB)  peak PR (MiB)  ratio\nparse_1M  3  288.40  611.95  1.52", vec![]),
        ("| Benchmark | base-mem | new-mem |\n| dumps | 9.0 MB | 14.0 MB: 1.56x slower |", vec![(9.0, 14.0)]),
        // The newer one stands first, both share a cell, and the change stands before them.
        (
            "| Suite of memory | Current: 3fa2b1c | Previous: 99ab012 | Ratio |\n|-|-|-|-|\n| `peak_rss/import` | `812.0` MiB | `512.0` MiB | `1.59` |",
            vec![(512.0, 812.0)],
        ),
        (
            "| **Ratio** | **Test** | **Absolute values (old vs new)** |\n|---|---|---|\n| 7% | Explicit Memory | 412,331,904.12 -> 441,022,311.40 |",
            vec![(393.0, 421.0)],
        ),
        ("| 7% | Explicit Memory | 4,123.12 -> 4,410.40 |", vec![]),
        // Another change than the two have, and what is no memory.
        ("peak allocated GiB   41.2    58.9   +12.0%", vec![]),
        ("tokens/s  6120  6088  -0.5%", vec![]),
        ("image size  412 MiB  655 MiB  +59.0 %", vec![]),
        ("memory bandwidth GB/s  412  655  +59.0 %", vec![]),
        ("The peak memory went from 412 MiB  to 655 MiB (+59.0%).", vec![]),
        ("memory  1 GiB  2 GiB  50%", vec![]),
    ] {
        assert_eq!(found(text), expected, "{text}");
    }
}

#[test]
fn a_header_names_the_unit_and_two_versions() {
    let table = "nightly memory gate, one GPU\n+-----+\n| workload | baseline GiB | candidate GiB |\n+-----+\n\
        | llama-7b fwd+bwd | 41.5 | 50.0 |\n| bert-large | 11.0 | 13.5 |\n| steps | 100 |\n";
    assert_eq!(
        rows(table),
        [
            ("llama-7b fwd+bwd".to_owned(), Metric::MaxAllocated, 42496.0, 51200.0),
            ("bert-large".to_owned(), Metric::MaxAllocated, 11264.0, 13824.0)
        ]
    );
    let versions = "peak RSS of the importer\n  case      2.5.1       2.6.0\n  small   100 MiB     120 MiB\n";
    assert_eq!(found(versions), [(100.0, 120.0)]);
    let headed = "## Memory check of the tablet\n\nBuild 4410 is the baseline, the limit 10 %.\n\n\
        | step | baseline | current | Δ | Δ% |\n|---|---|---|---|---|\n| start | 212.4 MB | 251.0 MB | +38.6 MB | +18.2 % |\n";
    assert_eq!(found(headed), [(212.0, 251.0)]);
    assert!(found(&headed.replace("Memory", "Speed")).is_empty());
    let roles = "Peak GPU memory, nightly\n\n| metric | v2.2.0 (baseline) | v2.3.0-rc1 |\n|---|---|---|\n| throughput (img/s) | 2488 | 2479 |\n| peak GPU mem (MiB) | 21,904 | 27,316 |\n";
    assert_eq!(found(roles), [(21904.0, 27316.0)]);
    let commit = "## Peak GPU memory\n\n| benchmark | v2.3.1 (MiB) | main@8e1fd04 (MiB) | Δ |\n|---|---:|---:|---|\n| bert fwd+bwd | 14210 | 18877 | +32.8 %|\n";
    assert_eq!(found(commit), [(14210.0, 18877.0)]);
    let benchstat = "        │ old.txt │ new.txt │\n        │ sec/op │ sec/op vs base │\nRow-16  3.211 ± 0%  6.422 ± 1%  +100.0% (p=0.0 n=10)\n\
        \n        │ B/op │ B/op vs base │\nRow-16  2.016Mi ± 0%  4.375Mi ± 0%  +117.01% (p=0.000 n=10)\n";
    assert_eq!(found(benchstat), [(2.0, 4.0)]);
    let rss = "  │ a.txt │ b.txt │\n  │ peak-RSS-bytes │ peak-RSS-bytes vs base │\nPut-8  182.4Mi ± 1%  241.9Mi ± 1%  +32.62% (p=0.0 n=10)\n";
    assert_eq!(found(rss), [(182.0, 242.0)]);
    let bencher = "| Benchmark | Memory Benchmark Result MiB (Result Δ%) | Latency Benchmark Result ms (Result Δ%) |\n|---|---|---|\n\
        | build | 🚨 742.80 MiB (+71.20%) | ✅ 812.40 ms (-0.41%) |\n";
    assert_eq!(found(bencher), [(434.0, 743.0)]);
    let named =
        "metric   ref   new   change\n-----\nmax allocated, rank 0 (MB)      31118.2      36844.9      +18.4 %\n";
    assert_eq!(found(named), [(31118.0, 36845.0)]);
    assert!(heads("        │ B/op │ B/op vs base │") && !heads("the memory of a step  and what remains after it"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read(text in "[a-z0-9 .%|│±+-]{0,60}|\\PC{0,60}") {
        let _ = (rows(&format!("memory  {text}\n")), amounts(&text), header(&text, 1));
    }
}
