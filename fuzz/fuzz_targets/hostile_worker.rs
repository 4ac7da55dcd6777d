//! What a worker sends, in pieces of any size: it is read or refused, and what is believed of it can be.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll_harness::protocol::{Inbox, Reply, check_names, check_samples};

/// The shared memory that outputs are to lie in.
const MEMORY: [u8; 4096] = [7; 4096];

fn believe(reply: Reply, params: &[String]) {
    match reply {
        Reply::Launched { outcome, .. } | Reply::Timed { again: outcome, .. } => {
            if outcome.check(MEMORY.len() as u64, params).is_ok() {
                let tensors = outcome.outputs.iter().filter_map(|output| output.tensor());
                tensors.for_each(|tensor| {
                    let bytes = tensor.bytes_in(&MEMORY).expect("what was checked lies in the memory");
                    assert_eq!(Some(bytes.len() as u64), tensor.spec.bytes());
                });
                assert!(outcome.mutated.iter().all(|name| params.contains(name)));
            }
        }
        Reply::Settled { mutated, .. } => drop(check_names(&mutated, params)),
        _ => {}
    }
}

fuzz_target!(|input: &[u8]| {
    let params = ["input".to_owned(), "weight".to_owned()];
    let Some((&size, bytes)) = input.split_first() else { return };
    let mut inbox = Inbox::default();
    for piece in bytes.chunks(usize::from(size).max(1)) {
        inbox.add(piece);
        loop {
            match inbox.take() {
                Ok(Some(reply)) => {
                    if let Reply::Timed { samples, .. } = &reply
                        && check_samples(samples).is_ok()
                    {
                        assert!(samples.statistics().is_some_and(|found| found.median_ns >= 0.0));
                    }
                    believe(reply, &params);
                }
                Ok(None) => break,
                Err(_) => return,
            }
        }
    }
});
