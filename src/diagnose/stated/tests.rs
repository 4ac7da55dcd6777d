//! What people say of memory.

use proptest::prelude::*;

use super::*;

fn verdicts(text: &str) -> Vec<(Verdict, bool)> {
    read(text.as_bytes(), &Lines::whole(text.as_bytes()))
        .iter()
        .map(|statement| (statement.verdict, statement.proven))
        .collect()
}

#[test]
fn rows_prove_a_claim_and_say_whose_memory_it_is() {
    let rows = "\n10:00 61 MB\n10:10 90 MB\n10:20 131 MB\n";
    assert_eq!(verdicts(&format!("Memory leak in the exporter{rows}")), [(Verdict::HostGrowth, true)]);
    assert_eq!(verdicts(&format!("GPU memory is not released{rows}")), [(Verdict::Leak, true)]);
    assert_eq!(verdicts(&format!("Memory of the exporter{rows}")), []);
    let list = "Mon 410 MB, Tue 655 MB, Wed 910 MB, Thu 1140 MB";
    assert_eq!(verdicts(&format!("Ticket 88\n\nMemory at 7:\n{list}")), [(Verdict::HostGrowth, true)]);
    assert_eq!(verdicts(&format!("Ticket 88\n\nSize of the table at 7:\n{list}")), []);
    assert_eq!(verdicts("Memory leak in the exporter\n10:00 61 MB\n10:10 61 MB\n"), [(Verdict::HostGrowth, false)]);
}

#[test]
fn few_readings_do_not_rise() {
    assert!(!rise(&[]) && !rise(&[0.0]) && !rise(&[0.0, 0.0]) && !rise(&[1.0]));
    assert!(rise(&[0.0, 1.0, 2.0, 3.0]) && !rise(&[1.0, 1.0, 1.0, 2.0]));
}

#[test]
fn readings_that_keep_their_level_are_more_than_words() {
    let steady = |rss: &str| {
        (0..10).map(|hour| format!("{hour:02}:00  {}{rss} MB  {} MB\n", hour % 3, 410 + hour % 4)).collect::<String>()
    };
    let columns = |text: &str| {
        let rows: Vec<&str> = text.lines().collect();
        Columns::of(&rows).are_steady()
    };
    assert!(columns(&format!("t   rss   heap\n{}", steady("700"))));
    assert!(!columns(&format!(
        "t   mails sent\n{}",
        (0..10).map(|hour| format!("{hour:02}:00  412\n")).collect::<String>()
    )));
    let rising: String = (0..10).map(|hour| format!("{hour:02}:00  712 MB  {} MB\n", 410 + 30 * hour)).collect();
    assert!(!columns(&format!("t   rss   heap\n{rising}")));
}

#[test]
fn what_went_up_from_one_version_to_another_is_a_regression() {
    let text = "Peak memory of the import went up\n2.1.2 3371.6 MB\n2.2.0 5163.1 MB\n";
    assert_eq!(verdicts(text), [(Verdict::Regression, true)]);
    let text = "The agent needs more memory since the upgrade\nold: 112Mi\nnew: 239Mi\n";
    assert_eq!(verdicts(text), [(Verdict::Regression, true)]);
}

proptest! {
    #[test]
    fn any_text_is_read(words in prop::collection::vec(prop_oneof![
        Just("memory"), Just("leaks"), Just("grows from"), Just("to"), Just("\n"), Just("12.5 GB"), Just("1,024"),
        Just("| RSS (KB) |"), Just("|"), Just("after 2 days"), Just("v1.2.3"), Just("\u{2502}\u{e4}7"), Just("-> "),
        Just("before"), Just("update:"), Just("% . "), Just("  "), Just("00h 812 MB, 02h 818 MB, 04h 911 MB, 06h 1020 MB"),
        Just("after: "), Just("rss="), Just("branch=pr-18 "), Just("{\"image\":\"api:5.2.7\","), Just("rss{pod=\"a-1\"} "),
        Just("1.5e+07"), Just("commit  RAM  peak\n"), Just("8f01a2c  "), Just("x20 "), Just(" PM"), Just("day 1  day 2"),
        Just("10:00 "), Just("t0 t20 t40 t60 t80"), Just("\nrss 1 2 3 4 5"), Just("Pause Full 9M->2M(3M)\n"),
        Just("Scavenge 9 -> 8 MB\n"), Just("gcc 13.2 "), Just("$ ./a # v1.2\n"), Just("PID "), Just(" - ")
    ], 0..60)) {
        let text = words.concat();
        for statement in read(text.as_bytes(), &Lines::whole(text.as_bytes())) {
            prop_assert!(!statement.evidence.is_empty());
            prop_assert!(statement.evidence.iter().all(|line| line.line as usize <= text.lines().count()));
        }
    }

    #[test]
    fn any_bytes_are_read(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        read(&bytes, &Lines::whole(&bytes));
    }

    #[test]
    fn evidence_begins_a_line_whatever_the_bytes_before_it_are(before in prop::collection::vec(any::<u8>(), 0..60)) {
        let rows = b"\nrss of the agent\n10:00 100 MB\n11:00 200 MB\n12:00 300 MB\n13:00 400 MB\n14:00 500 MB\n";
        let bytes = [&before[..], rows].concat();
        for evidence in read(&bytes, &Lines::whole(&bytes)).iter().flat_map(|statement| &statement.evidence) {
            let offset = evidence.offset as usize;
            prop_assert_eq!(bytes[..offset].iter().filter(|byte| **byte == b'\n').count() as u64 + 1, evidence.line);
            prop_assert!(offset == 0 || bytes[offset - 1] == b'\n');
        }
    }
}
