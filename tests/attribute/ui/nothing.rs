#[plimsoll::test(peak_rss)]
fn nothing() {}

#[plimsoll::test(allocations)]
fn calls() {}

fn main() {}
