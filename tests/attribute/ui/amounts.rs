#[plimsoll::test(swap_growth = true, allocations = "7")]
fn test() {}

#[plimsoll::test(peak_rss = 1.5)]
fn float() {}

fn main() {}
