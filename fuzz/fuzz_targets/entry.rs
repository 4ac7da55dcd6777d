//! Any bytes as the pickle of a capture entry.

#![no_main]

use libfuzzer_sys::fuzz_target;
use plimsoll::capture::{Argument, Digest, Entry, ParameterOrder};
use plimsoll_fuzz::{archive, with_file};

fuzz_target!(|pickle: &[u8]| {
    with_file(&archive(pickle), |path| {
        let Ok(entry) = Entry::open(path) else { return };
        let _ = entry.bind(&ParameterOrder::of([&entry]));
        let _ = entry.residency();
        entry.identity(Digest::Skeleton).expect("a file that opened has an identity");
        let mapped = entry.map().expect("a file that opened can be mapped");
        let mut out = [0; 4096];
        let arguments = entry.args().iter().chain(entry.kwargs().iter().map(|(_, value)| value));
        for argument in arguments.chain([entry.output()]) {
            argument.for_each_leaf(&mut String::new(), &mut |_, leaf| {
                if let Argument::Tensor(tensor) = leaf {
                    mapped.view(tensor).expect("layouts are checked when a file is opened").read_into(0, &mut out);
                }
            });
        }
    });
});
