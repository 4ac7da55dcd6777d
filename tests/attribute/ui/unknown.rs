#[plimsoll::test(peak_rs = "256 MiB")]
fn close() {}

#[plimsoll::test(weather = "256 MiB")]
fn far() {}

fn main() {}
