//! What the tests share.

use plimsoll::diagnose::{Analysis, Event, Findings};

/// The findings of one text.
pub fn findings(text: &[u8]) -> Findings {
    let mut analysis = Analysis::default();
    analysis.begin("log");
    analysis.push(text);
    analysis.end();
    analysis.findings(None)
}

/// The only event of a text.
pub fn only(text: &str) -> Event {
    let mut found = findings(text.as_bytes());
    assert_eq!(found.events.len(), 1, "{text}\n{found:#?}");
    found.events.remove(0)
}

/// An OOM message in the wording of PyTorch 2.2 and later, with amounts as it prints them.
pub fn cuda(tried: &str, capacity: &str, free: &str, own: &str, allocated: &str, unallocated: &str) -> String {
    format!(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried}. GPU 0 has a total capacity of {capacity} \
         of which {free} is free. Including non-PyTorch memory, this process has {own} memory in use. Of the allocated \
         memory {allocated} is allocated by PyTorch, and {unallocated} is reserved by PyTorch but unallocated. If reserved \
         but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid \
         fragmentation.  See documentation for Memory Management  \
         (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)"
    )
}
