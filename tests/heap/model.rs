//! Sequences of allocator calls, and their expected results.

use std::alloc::{Layout, alloc, alloc_zeroed, dealloc, realloc};
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use proptest::prelude::*;

/// Maximum number of live blocks.
pub const BLOCKS: usize = 8;

/// One call of the allocator, about one of the blocks.
#[derive(Clone, Copy, Debug)]
pub enum Call {
    Allocate { block: usize, size: usize, zeroed: bool },
    Reallocate { block: usize, size: usize },
    Free { block: usize },
}

pub fn call() -> impl Strategy<Value = Call> {
    let (block, size) = (0..BLOCKS, 1usize..5000);
    prop_oneof![
        (block.clone(), size.clone(), any::<bool>()).prop_map(|(block, size, zeroed)| Call::Allocate {
            block,
            size,
            zeroed
        }),
        (block.clone(), size).prop_map(|(block, size)| Call::Reallocate { block, size }),
        block.prop_map(|block| Call::Free { block }),
    ]
}

/// The result of calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    pub allocations: u64,
    pub reallocations: u64,
    pub deallocations: u64,
    pub allocated: u64,
    pub freed: u64,
}

/// The sizes of the blocks after the calls; 0 for one that is not live.
#[derive(Clone, Copy, Debug, Default)]
pub struct Model {
    sizes: [usize; BLOCKS],
}

impl Model {
    /// The changes made by a call; none if it makes no sense, because then it is not made.
    pub fn step(&mut self, call: Call) -> Figures {
        let mut figures = Figures::default();
        match call {
            Call::Allocate { block, size, .. } if self.sizes[block] == 0 => {
                (figures.allocations, figures.allocated) = (1, size as u64);
                self.sizes[block] = size;
            }
            Call::Reallocate { block, size } if self.sizes[block] != 0 => {
                let before = std::mem::replace(&mut self.sizes[block], size);
                figures.reallocations = 1;
                figures.allocated = size.saturating_sub(before) as u64;
                figures.freed = before.saturating_sub(size) as u64;
            }
            Call::Free { block } if self.sizes[block] != 0 => {
                (figures.deallocations, figures.freed) = (1, std::mem::take(&mut self.sizes[block]) as u64);
            }
            _ => {}
        }
        figures
    }

    /// Frees what is left.
    pub fn rest(&self) -> impl Iterator<Item = Call> + use<> {
        (0..BLOCKS).map(|block| Call::Free { block })
    }
}

impl Figures {
    pub fn add(&mut self, other: Self) {
        self.allocations += other.allocations;
        self.reallocations += other.reallocations;
        self.deallocations += other.deallocations;
        self.allocated += other.allocated;
        self.freed += other.freed;
    }

    pub fn live(&self) -> i64 {
        self.allocated as i64 - self.freed as i64
    }
}

/// The blocks themselves, usable from any thread, one at a time.
#[derive(Default)]
pub struct Blocks([(AtomicPtr<u8>, AtomicUsize); BLOCKS]);

impl Blocks {
    /// Makes the call that the model describes.
    pub fn step(&self, call: Call) {
        let layout = |size| Layout::from_size_align(size, 16).unwrap();
        let (Call::Allocate { block, .. } | Call::Reallocate { block, .. } | Call::Free { block }) = call;
        let (pointer, size) = &self.0[block];
        let (at, before) = (pointer.load(Ordering::Acquire), size.load(Ordering::Acquire));
        // SAFETY: a live block came from these very calls with this layout; no size is 0.
        let now = unsafe {
            match call {
                Call::Allocate { size: bytes, zeroed, .. } if at.is_null() => {
                    size.store(bytes, Ordering::Release);
                    if zeroed { alloc_zeroed(layout(bytes)) } else { alloc(layout(bytes)) }
                }
                Call::Reallocate { size: bytes, .. } if !at.is_null() => {
                    size.store(bytes, Ordering::Release);
                    realloc(at, layout(before), bytes)
                }
                Call::Free { .. } if !at.is_null() => {
                    dealloc(at, layout(before));
                    ptr::null_mut()
                }
                _ => at,
            }
        };
        assert!(!now.is_null() || matches!(call, Call::Free { .. }) || at.is_null());
        pointer.store(now, Ordering::Release);
    }
}
