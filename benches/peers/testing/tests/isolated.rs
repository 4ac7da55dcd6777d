//! An empty test, plain and in a process of its own: benches/peers/test_cost.py runs each alone.

#[test]
fn plain() {}

#[plimsoll::test(peak_rss = "1 GiB")]
fn isolated() {}
