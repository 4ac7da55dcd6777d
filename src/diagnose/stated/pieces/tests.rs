//! Memory in pieces.

use super::*;

#[test]
fn what_is_held_rises_while_what_is_in_use_stays() {
    let found = |used: f64, held: f64, names: [&str; 2]| {
        let row = |at: usize| {
            let [used, held] = [used, held].map(|step| 4.0e9 + step * at as f64);
            format!("{}000,{used:.0},{held:.0}\n", at + 1)
        };
        let text = format!("step,{},{}\n{}", names[0], names[1], (0..6).map(row).collect::<String>());
        let lines: Vec<&str> = text.lines().collect();
        Columns::of(&lines).in_pieces().map(|found| found.last)
    };
    let torch = ["allocated_bytes.all.current", "reserved_bytes.all.current"];
    assert_eq!(found(1e6, 2e9, torch).as_deref(), Some("14000000000"));
    assert_eq!(found(1e9, 2e9, torch), None, "more is in use");
    assert_eq!(found(1e6, 1e8, torch), None, "hardly more is held");
    assert_eq!(found(1e6, 2e9, ["heap_used", "rss"]), None, "what is not on the heap may leak");
}

#[test]
fn large_blocks_of_free_memory_become_small_ones() {
    let found = |last: &str| {
        let text = format!("Node 0, zone Normal 1204 2210 3188 4012 5120 4988 3811 2904 1877 1240 9811\n\n{last}\n");
        small_blocks(&text.lines().collect::<Vec<_>>()).map(|found| found.last)
    };
    let pieces = "Node 0, zone Normal 2210877 1390114 622014 101877 9120 311 8 0 0 0 0";
    assert_eq!(found(pieces).as_deref(), Some("0 pages in large blocks"));
    assert_eq!(found("Node 0, zone Normal 1204 2210 3188 4012 5120 4988 3811 2904 1877 1240 8000"), None);
    assert_eq!(found("Node 0, zone Normal 1204 0 0 0 0 0 0 0 0 0 0"), None, "the memory is in use");
}
