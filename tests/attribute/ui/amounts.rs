#[plimsoll::test(peak_rss = "256 XiB", peak_anon = 256, swap_growth = true, allocations = "7")]
fn test() {}

#[plimsoll::test(peak_rss = 1.5)]
fn float() {}

#[plimsoll::test(peak_rss)]
fn nothing() {}

fn main() {}
