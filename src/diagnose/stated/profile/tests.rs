//! Conclusions of tools that look for leaks.

use super::*;

#[test]
fn what_the_late_profile_has_more_is_growth() {
    let of = |text: &str| concluded(&text.lines().collect::<Vec<_>>()).map(|found| found.last);
    let pprof = |command: &str, shown: &str| {
        of(&format!("$ go tool pprof {command}\nType: inuse_space\nShowing nodes accounting for {shown} total\n"))
    };
    assert_eq!(pprof("-top -base a.pb.gz b.pb.gz", "913.52MB, 98.41% of 928.30MB"), Some("928.30MB more".to_owned()));
    assert_eq!(pprof("-diff_base=a.pb.gz b.pb.gz", "1.52GB, 98.41% of 1.60GB"), Some("1.60GB more".to_owned()));
    assert_eq!(pprof("-top -base a.pb.gz b.pb.gz", "-3.52MB, 98.41% of 928.30MB"), None);
    assert_eq!(pprof("-top -base a.pb.gz b.pb.gz", "3.52MB, 98.41% of 3.60MB"), None);
    assert_eq!(pprof("-top b.pb.gz", "913.52MB, 98.41% of 928.30MB"), None);
    assert_eq!(pprof("-alloc_space -base a.pb.gz b.pb.gz", "913.52MB, 98.41% of 928.30MB"), None);
    let python = |above: &str, row: &str| of(&format!("{above}\n/app/a.py:48: {row}, average=133 B\n"));
    let grown = "size=311 MiB (+305 MiB), count=2450112 (+2401108)";
    assert_eq!(python("between 1,000 and 50,000 requests", grown), Some("305 MiB more".to_owned()));
    assert_eq!(python("after the start", grown), None);
    let again = |more: &[u32]| {
        let row = |mib: &u32| format!("a.py:48: size={mib} MiB (+18 MiB), count=241022 (+236914), average=80 B\n");
        of(&more.iter().map(row).collect::<String>())
    };
    assert_eq!(again(&[18, 36, 54, 72]), Some("54.00 MiB more".to_owned()));
    assert_eq!(again(&[18, 36, 54, 30]), None);
    // Twice is enough if the work and both steps are equal.
    let twice = |above: &str, more: u32| {
        let row =
            |held: u32, more: u32| format!("a.py:48: size={held} MiB (+{more} MiB), count=24 (+2), average=80 B\n");
        of(&format!("{above}\n{}after 100000 jobs\n{}", row(412, 206), row(412 + more, more)))
    };
    assert_eq!(twice("after 50000 jobs", 206), Some("206.00 MiB more".to_owned()));
    assert_eq!(twice("after 50000 jobs", 20), None);
    assert_eq!(twice("at the start", 206), None);
    assert_eq!(python("after 10 requests", "size=311 MiB (+12 MiB), count=2450112 (+2401108)"), None);
    assert_eq!(
        of("Total: reserved=6402112KB +2911040KB, committed=5188320KB +2904212KB"),
        Some("2904212KB more".to_owned())
    );
    assert_eq!(of("Total: reserved=6402112KB +2911KB, committed=5188320KB +2904KB"), None);
    assert_eq!(python("after 10 requests", "size=311 MiB (-305 MiB), count=2450112 (-2401108)"), None);
}

#[test]
fn objects_that_are_more_each_time_are_growth() {
    let of = |text: &str| concluded(&text.lines().collect::<Vec<_>>()).map(|found| found.last);
    let growth = |counts: [u32; 4]| {
        let row = |(at, count): (usize, &u32)| format!("after batch {at}\nRequest {count:>10} {:>+8}\n", 50_000);
        format!("function 2071 +2071\n{}", counts.iter().enumerate().map(row).collect::<String>())
    };
    assert_eq!(of(&growth([50_000, 100_000, 150_000, 200_000])), Some("150000 Request more".to_owned()));
    assert_eq!(of(&growth([50_000, 50_000, 50_000, 50_000])), None);
    let table = |list: i32| {
        format!(
            "  types |   # objects |   total size\n======= | =========== | ============\n  bytearray |  30000 |  30.24 MB\n  list | {list} | 234.45 KB\n"
        )
    };
    assert_eq!(of(&table(0).repeat(4)), Some("120.96 MiB more".to_owned()));
    assert_eq!(of(&table(30_000).repeat(4)), None, "all that there is, four times");
    assert_eq!(of(&table(0).repeat(3)), None);
}

#[test]
fn what_one_place_has_not_freed_at_each_report_is_growth() {
    let of = |counts: [u32; 3]| {
        let report = |count: &u32| {
            let bytes = count << 20;
            format!(
                "[11:16:33] Top 2 stacks with outstanding allocations:\n\t4096 bytes in 1 allocations from stack\n\t\tinit+0x4 [a]\n\t{bytes} bytes in {count} allocations from stack\n\t\topen+0x31 [a]\n"
            )
        };
        concluded(&counts.iter().map(report).collect::<String>().lines().collect::<Vec<_>>()).map(|found| found.last)
    };
    assert_eq!(of([12, 24, 36]), Some("24.00 MiB more".to_owned()));
    assert_eq!(of([12, 24, 20]), None);
    assert_eq!(of([12, 13, 14]), None);
}

#[test]
fn what_a_later_version_holds_more_is_a_regression() {
    let of = |peak: &str| {
        let text =
            format!("reading file \"b.zst\"\nreading diff file \"a.zst\"\npeak heap memory consumption: {peak}\n");
        compared(&text.lines().collect::<Vec<_>>()).map(|found| found.last)
    };
    assert_eq!(of("165.70M"), Some("165.70 MiB more".to_owned()));
    assert_eq!(of("-165.70M"), None);
    assert_eq!(of("312.40K"), None);
    assert!(compared(&["peak heap memory consumption: 165.70M"]).is_none(), "one recording");
    let of_rustc = |mean: &str| {
        let text = format!(
            "**Instruction count**\n| Regressions (primary) | 9.9% | [0.2%, 0.5%] | 6 |\n**Max RSS (memory usage)**\n\n| Regressions (primary) | {mean} | [2.1%, 21.4%] | 34 |\n"
        );
        compared(&text.lines().collect::<Vec<_>>()).map(|found| found.last)
    };
    assert_eq!(of_rustc("8.3%").as_deref(), Some("8.3 % more"));
    assert_eq!(of_rustc("0.4%"), None);
    assert_eq!(of_rustc("-"), None);
}

#[test]
fn what_was_lost_at_the_end_is_growth() {
    let of = |text: &str| concluded(&[text]).map(|found| found.last);
    for (text, expected) in [
        ("==1== definitely lost: 41,472,000 bytes in 864,000 blocks", Some("39.55 MiB lost at the end")),
        ("==1== definitely lost: 72 bytes in 1 blocks", None),
        ("SUMMARY: AddressSanitizer: 393216 byte(s) leaked in 6144 allocation(s).", Some("384.00 KiB lost at the end")),
        ("SUMMARY: LeakSanitizer: 24 byte(s) leaked in 1 allocation(s).", None),
        ("total memory leaked: 221.34M", Some("221.34 MiB lost at the end")),
        ("Process 812: 5120 leaks for 41943040 total leaked bytes.", Some("40.00 MiB lost at the end")),
        ("      12 unique,  4096 total, 262144 byte(s) of leak(s)", Some("256.00 KiB lost at the end")),
    ] {
        assert_eq!(of(text).as_deref(), expected, "{text}");
    }
}
