//! Texts with a meaning in a snapshot, at fixed numbers of the interner.

use super::intern::TextId;

macro_rules! keys {
    ($($name:ident = $text:literal),* $(,)?) => {
        #[allow(non_camel_case_types, clippy::upper_case_acronyms)]
        enum Number { $($name),* }
        $(pub(super) const $name: TextId = TextId(Number::$name as u32);)*
        /// All of them, in the order of their numbers.
        pub(super) const ALL: &[&str] = &[$($text),*];
    };
}

keys! {
    SEGMENTS = "segments",
    DEVICE_TRACES = "device_traces",
    ALLOCATOR_SETTINGS = "allocator_settings",
    EXTERNAL_ANNOTATIONS = "external_annotations",
    DEVICE = "device",
    ADDRESS = "address",
    TOTAL_SIZE = "total_size",
    ALLOCATED_SIZE = "allocated_size",
    ACTIVE_SIZE = "active_size",
    REQUESTED_SIZE = "requested_size",
    STREAM = "stream",
    SEGMENT_TYPE = "segment_type",
    SEGMENT_POOL_ID = "segment_pool_id",
    IS_EXPANDABLE = "is_expandable",
    FRAMES = "frames",
    BLOCKS = "blocks",
    SIZE = "size",
    STATE = "state",
    HISTORY = "history",
    ADDR = "addr",
    REAL_SIZE = "real_size",
    ACTION = "action",
    TIME_US = "time_us",
    DEVICE_FREE = "device_free",
    CATEGORY = "category",
    COMPILE_CONTEXT = "compile_context",
    USER_METADATA = "user_metadata",
    FORWARD_FRAMES = "forward_frames",
    FILENAME = "filename",
    NAME = "name",
    LINE = "line",
    FX_NODE_OP = "fx_node_op",
    FX_NODE_NAME = "fx_node_name",
    FX_NODE_INFO = "fx_node_info",
    FX_ORIGINAL_TRACE = "fx_original_trace",
    ROUNDUP_POWER2_DIVISIONS = "roundup_power2_divisions",
    LARGE = "large",
    ACTIVE_ALLOCATED = "active_allocated",
    ACTIVE_PENDING_FREE = "active_pending_free",
    ACTIVE_AWAITING_FREE = "active_awaiting_free",
    INACTIVE = "inactive",
    EMPTY = "",
}

/// Whether the text under `key` is not needed; such texts may all be different.
pub(super) fn is_unused(key: TextId) -> bool {
    matches!(key, COMPILE_CONTEXT | USER_METADATA | FX_NODE_OP | FX_NODE_NAME | FX_NODE_INFO | FX_ORIGINAL_TRACE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_text_has_its_number() {
        assert_eq!(ALL[FRAMES.0 as usize], "frames");
        assert_eq!(ALL[EMPTY.0 as usize], "");
        assert_eq!(ALL.len(), EMPTY.0 as usize + 1);
    }
}
