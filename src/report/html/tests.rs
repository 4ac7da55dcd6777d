use super::*;
use crate::record::sample::{self, assert_snapshot};
use crate::report::page::body;

#[test]
fn a_test_that_held_its_ceilings() {
    assert_snapshot("html_test", body(&html(&[sample::test()])));
}

#[test]
fn a_page_of_the_gate_has_one_judgement() {
    let page = gate(&crate::gate::sample_gate(), &[sample::test(), sample::command()]);
    assert_eq!(page.matches("class=\"outcome").count(), 1);
    assert!(page.contains("By itself: every verdict passed"), "{page}");
}

#[test]
fn what_is_past_a_line_is_drawn_above_every_kind_of_memory() {
    let page = html(&[sample::failing()]);
    let plot = page.split_once("<svg viewBox").unwrap().1.split_once("</svg>").unwrap().0;
    if let Some(over) = plot.find("class=\"over\"") {
        assert!(plot.rfind("class=\"anon\"").is_none_or(|anon| anon < over), "{plot}");
    }
}

#[test]
fn a_check_with_every_failure() {
    let page = html(&[sample::failing()]);
    assert_snapshot("html_failing", body(&page));
}

#[test]
fn two_kernels_stand_on_one_scale() {
    let page = html(&[sample::versus()]);
    let section = page.split_once("<h2>Speedup").unwrap().1.split_once("<h2>").unwrap().0;
    assert_snapshot("html_versus", section);
}

#[test]
fn two_records_are_compared_and_more_stand_in_a_table() {
    let mut after = sample::record();
    after.phases[0].readings.get_mut(&plimsoll_memory::meter::Metric::PeakRss).unwrap().bytes =
        plimsoll_memory::ByteSize::mib(96);
    assert_snapshot(
        "html_comparison",
        body(&html(&[sample::record(), after.clone()])).split_once("<article").unwrap().0,
    );
    let other = html(&[sample::record(), sample::command()]);
    assert!(other.contains("Not compared."), "their semantics differ");
    let three = html(&[sample::record(), after, sample::command()]);
    assert!(three.contains("<h1>3 records</h1>") && !three.contains("From the first to the second"));
    assert_eq!(three.matches("<article").count(), 3);
    assert!(html(&[]).contains("No record"));
}

#[test]
fn water_above_a_ceiling_is_drawn_apart() {
    let page = html(&[sample::failing()]);
    assert!(page.contains("<path class=\"over\"") && page.contains("class=\"load-line bad "), "peak_rss is broken");
    let page = html(&[sample::command()]);
    assert!(!page.contains("<path class=\"over\"") && page.contains("<div class=\"far\">"), "the ceiling is far above");
}

#[test]
fn every_run_has_a_dot_on_a_strip_and_two_records_share_one() {
    let page = html(&[sample::repeated()]);
    let strips = page.split_once("<h2>3 runs").unwrap().1.split_once("</section>").unwrap().0;
    assert_snapshot("html_runs", strips);
    let two = html(&[sample::repeated_more(8), sample::repeated_more(9)]);
    let strips = two.split_once("<section class=\"panel strips two\">").unwrap().1.split_once("</section>").unwrap().0;
    assert_eq!(strips.matches("<circle class=\"before\"").count() % 8, 0);
    assert_eq!(strips.matches("<circle class=\"after\"").count() % 9, 0);
    assert!(strips.contains("<rect class=\"likely\"") && strips.contains("Hodges-Lehmann"), "{strips}");
    let few = html(&[sample::repeated(), sample::repeated()]);
    assert!(few.contains("too few runs for an interval"));
    assert!(!html(&[sample::command()]).contains("class=\"dots"), "one run is no spread");
}
