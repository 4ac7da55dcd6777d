#[plimsoll::test]
async fn without_a_runtime() {}

#[plimsoll::test]
fn with_arguments(n: u32) {}

#[plimsoll::test]
fn generic<T>() {}

#[plimsoll::test]
struct NoFunction;

fn main() {}
