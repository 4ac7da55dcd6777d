#[plimsoll::test(timeout = "60 parsecs", sample_interval = "0 s", enforce = "yes")]
fn test() {}

#[plimsoll::test(timeout = 60)]
fn plain() {}

fn main() {}
