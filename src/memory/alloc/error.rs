//! Why the heap cannot be measured.

/// Why the heap cannot be measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HeapError {
    /// The program uses a different allocator.
    #[error(
        "the allocator of this program does not count: declare `#[global_allocator] static ALLOCATOR: plimsoll::alloc::Tracking = \
         plimsoll::alloc::Tracking::new();` in it, or `Tracking::wrap(..)` around the allocator that it has"
    )]
    NotTracking,
    /// Too many scopes are open.
    #[error("{open} scopes are open over the same {of}: finish one before another is opened")]
    TooManyScopes {
        /// How many are open.
        open: usize,
        /// `thread` or `process`.
        of: &'static str,
    },
}
