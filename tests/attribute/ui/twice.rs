#[plimsoll::test(peak_rss = "256 MiB", timeout = "60 s", peak_rss = "1 GiB")]
fn ceiling() {}

#[plimsoll::test]
#[plimsoll::test]
fn attribute() {}

fn main() {}
