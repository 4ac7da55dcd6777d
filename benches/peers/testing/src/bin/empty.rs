//! The cost of an empty block: the seconds of each kind, one per line.

use plimsoll::assert_memory;

#[global_allocator]
static ALLOCATOR: plimsoll::alloc::Tracking = plimsoll::alloc::Tracking::new();

fn main() {
    let kinds: [fn(); 2] = [
        || assert_memory!(peak_rss_growth <= "1 GiB", retained_rss <= "1 GiB", {}),
        || assert_memory!(peak_heap <= "1 GiB", {}),
    ];
    for kind in kinds {
        let mut taken: Vec<f64> = (0..101)
            .map(|_| {
                let begun = std::time::Instant::now();
                kind();
                begun.elapsed().as_secs_f64()
            })
            .collect();
        taken.sort_by(f64::total_cmp);
        println!("{}", taken[50]);
    }
}
