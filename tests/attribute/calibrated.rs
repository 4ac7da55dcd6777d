//! `PLIMSOLL_CALIBRATE`: ceilings for a test from several runs of its body.

use super::fixture::{command, ran};

fn calibrated(name: &str, runs: &str) -> super::fixture::Ran {
    ran(command(name, &[]).env("PLIMSOLL_CALIBRATE", runs).output().unwrap())
}

#[test]
fn each_body_is_run_again_and_told_what_it_may_be_held_to() {
    let ran = calibrated("holds", "3")
        .passes()
        .says("attribute::fixtures::holds\n")
        .says("3 runs; the ceiling is 10% | 4 MiB");
    let attribute = ran.text.lines().find(|line| line.starts_with("#[plimsoll::test(")).unwrap();
    assert!(
        attribute.starts_with("#[plimsoll::test(peak_rss = \"") && attribute.ends_with("swap_growth = \"0 B\")]"),
        "{attribute}"
    );
}

#[test]
fn a_ceiling_that_is_too_low_does_not_stand_in_the_way() {
    calibrated("breaks_ceilings", "2").passes().says("peak_rss");
}

#[test]
fn a_test_that_fails_or_is_to_panic_stays_what_it_is() {
    calibrated("panics", "2").fails().says("sums are wrong").does_not_say("headroom");
    calibrated("panics_as_expected", "2").passes().says("2 runs; the ceiling is");
    calibrated("holds", "none").fails().says("PLIMSOLL_CALIBRATE is a number of runs from 1 to 10000");
}
