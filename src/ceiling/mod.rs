//! (ceiling)
