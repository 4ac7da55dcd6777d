const LIMIT: i32 = 7;

#[plimsoll::test(peak_rss = LIMIT)]
fn test() {}

#[plimsoll::test(timeout = LIMIT)]
fn time() {}

fn main() {}
