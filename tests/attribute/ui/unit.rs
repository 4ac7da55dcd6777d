#[plimsoll::test(peak_rss = "256 XiB")]
fn unit() {}

fn main() {}
