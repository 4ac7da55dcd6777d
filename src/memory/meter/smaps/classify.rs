//! Classifies a mapping by its name, its neighbours and the stack pointers of the tasks.

use super::growth::{MappingKind, MappingTable};
use super::parse::Mapping;
use crate::bytes::{KIB, MIB};

/// glibc reserves an arena of `malloc` with this size and alignment (`HEAP_MAX_SIZE` on 64 bits), and makes its
/// beginning writable as it grows.
const ARENA: u64 = 64 * MIB;
/// The maximum size of a guard below a stack; one page is usual.
const GUARD: u64 = 64 * KIB;

const ANONYMOUS: &str = "anonymous memory";
const THREAD_STACKS: &str = "stacks of threads";

/// Facts about a process besides its mappings.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Context<'a> {
    /// In ascending order.
    pub(crate) stack_pointers: &'a [u64],
    /// Devices of in-memory file systems.
    pub(crate) memory_devices: &'a [(u32, u32)],
}

/// Takes the mappings of a process in order of addresses, and adds each to a table once the next one is known.
#[derive(Debug)]
pub(crate) struct Classifier<'a> {
    context: Context<'a>,
    before: Option<Mapping>,
    current: Option<Mapping>,
}

impl<'a> Classifier<'a> {
    pub(crate) fn new(context: Context<'a>) -> Self {
        Self { context, before: None, current: None }
    }

    pub(crate) fn push(&mut self, next: Mapping, table: &mut MappingTable) {
        self.add_current(Some(&next), table);
        self.before = self.current.replace(next);
    }

    pub(crate) fn finish(self, table: &mut MappingTable) {
        self.add_current(None, table);
    }

    fn add_current(&self, next: Option<&Mapping>, table: &mut MappingTable) {
        let Some(mapping) = &self.current else { return };
        let (kind, name) = classify(mapping, self.before.as_ref(), next, self.context);
        if kind == MappingKind::File {
            // Written pages of a private mapping are copies, separate from the file's pages.
            let copies = mapping.anonymous.min(mapping.rss);
            table.add(MappingKind::File, &name, mapping.rss.saturating_sub(copies));
            table.add(MappingKind::Anonymous, &format!("{name}, private copies"), copies);
        } else {
            table.add(kind, &name, mapping.rss);
        }
    }
}

fn classify(
    mapping: &Mapping,
    before: Option<&Mapping>,
    next: Option<&Mapping>,
    context: Context<'_>,
) -> (MappingKind, String) {
    let name = String::from_utf8_lossy(&mapping.name);
    let kind = match &*name {
        "" => {
            let (kind, name) = unnamed(mapping, before, next, context.stack_pointers);
            return (kind, name.to_owned());
        }
        "[heap]" => MappingKind::Heap,
        "[stack]" => MappingKind::Stack,
        name if name.starts_with("[anon:") || name.starts_with("[anon_shmem:") => {
            // Names given by programs: by glibc if `glibc.mem.decorate_maps` is set, and by Android's libraries.
            match name {
                _ if name.starts_with("[anon_shmem:") => MappingKind::SharedMemory,
                _ if name.contains("stack") => MappingKind::Stack,
                _ if name.contains("malloc") => MappingKind::Heap,
                _ => MappingKind::Anonymous,
            }
        }
        name if name.starts_with('[') => MappingKind::Kernel,
        name if is_shared_memory(name) || context.memory_devices.contains(&mapping.device) => MappingKind::SharedMemory,
        _ => MappingKind::File,
    };
    (kind, name.into_owned())
}

/// Files that the kernel keeps for shared memory, on an internal file system.
fn is_shared_memory(name: &str) -> bool {
    name.starts_with("/memfd:") || name.starts_with("/SYSV") || name == "/dev/zero (deleted)"
}

fn unnamed(
    mapping: &Mapping,
    before: Option<&Mapping>,
    next: Option<&Mapping>,
    stack_pointers: &[u64],
) -> (MappingKind, &'static str) {
    let reserved = |neighbour: &Mapping| neighbour.name.is_empty() && neighbour.permissions.starts_with(b"---");
    let at = stack_pointers.partition_point(|&pointer| pointer < mapping.start);
    let has_pointer = stack_pointers.get(at).is_some_and(|&pointer| pointer < mapping.end);
    // A guard below plus the kernel's flag for stacks: a running thread, or an ended one whose stack may be reused.
    let has_guard = before.is_some_and(|below| reserved(below) && below.end == mapping.start && below.size() <= GUARD);
    if has_pointer || has_guard && mapping.no_huge_pages {
        return (MappingKind::Stack, THREAD_STACKS);
    }
    let arena_end = mapping.start.saturating_add(ARENA);
    let rest = |above: &Mapping| reserved(above) && above.start == mapping.end && above.end == arena_end;
    if mapping.start.is_multiple_of(ARENA) && (mapping.end == arena_end || next.is_some_and(rest)) {
        return (MappingKind::Heap, "arenas of malloc");
    }
    (MappingKind::Anonymous, ANONYMOUS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::ByteSize;

    const BASE: u64 = 0x7f00_0000_0000;

    fn mapping(start: u64, size: u64, permissions: &[u8; 4], name: &str) -> Mapping {
        Mapping {
            start: BASE + start,
            end: BASE + start + size,
            permissions: *permissions,
            name: name.as_bytes().to_vec(),
            rss: ByteSize::new(size),
            ..Mapping::default()
        }
    }

    fn kinds(mappings: &[Mapping], context: Context<'_>) -> Vec<(MappingKind, String)> {
        let neighbour = |at: Option<usize>| at.and_then(|at| mappings.get(at));
        let one = |at| classify(&mappings[at], neighbour(usize::checked_sub(at, 1)), neighbour(Some(at + 1)), context);
        (0..mappings.len()).map(one).collect()
    }

    #[test]
    fn names_show_what_a_mapping_is() {
        use MappingKind::{Anonymous, File, Heap, Kernel, SharedMemory, Stack};
        for (name, kind) in [
            ("[heap]", Heap),
            ("[stack]", Stack),
            ("[vdso]", Kernel),
            ("[vvar_vclock]", Kernel),
            ("[anon: glibc: malloc arena]", Heap),
            ("[anon:stack_and_tls:77]", Stack),
            ("[anon:v8]", Anonymous),
            ("/memfd:plimsoll (deleted)", SharedMemory),
            ("/SYSV00000000 (deleted)", SharedMemory),
            ("/dev/zero (deleted)", SharedMemory),
            ("/usr/lib/libc.so.6", File),
        ] {
            let found = kinds(&[mapping(0, 4096, b"rw-p", name)], Context::default());
            assert_eq!(found, [(kind, name.to_owned())]);
        }
        let on_tmpfs = Mapping { device: (0, 28), ..mapping(0, 4096, b"rw-s", "/tmp/a") };
        let context = Context { memory_devices: &[(0, 28)], ..Context::default() };
        assert_eq!(kinds(&[on_tmpfs], context)[0].0, SharedMemory);
    }

    #[test]
    fn a_stack_is_known_by_a_pointer_or_by_its_guard_and_flag() {
        let guard = mapping(0, 4096, b"---p", "");
        let stack = mapping(4096, 2 * MIB, b"rw-p", "");
        let marked = Mapping { no_huge_pages: true, ..stack.clone() };
        let kind = |mappings: &[Mapping], stack_pointers: &[u64]| {
            kinds(mappings, Context { stack_pointers, ..Context::default() }).pop().unwrap().0
        };
        let inside = BASE + 4096 + MIB;
        assert_eq!(kind(std::slice::from_ref(&stack), &[1, inside, u64::MAX]), MappingKind::Stack);
        assert_eq!(kind(&[guard.clone(), marked.clone()], &[]), MappingKind::Stack);
        assert_eq!(kind(&[guard, stack.clone()], &[BASE, BASE + 3 * MIB]), MappingKind::Anonymous);
        assert_eq!(kind(&[marked], &[]), MappingKind::Anonymous);
    }

    #[test]
    fn an_arena_is_known_by_its_place_and_the_reservation_behind_it() {
        let arena = mapping(0, MIB, b"rw-p", "");
        let rest = mapping(MIB, ARENA - MIB, b"---p", "");
        let kind = |mappings: &[Mapping]| kinds(mappings, Context::default())[0].0;
        assert_eq!(kind(&[arena.clone(), rest.clone()]), MappingKind::Heap);
        assert_eq!(kind(&[mapping(0, ARENA, b"rw-p", "")]), MappingKind::Heap);
        assert_eq!(kind(&[arena]), MappingKind::Anonymous);
        assert_eq!(kind(&[mapping(4096, MIB - 4096, b"rw-p", ""), rest]), MappingKind::Anonymous);
    }

    #[test]
    fn copies_of_a_file_are_not_its_pages() {
        let mut table = MappingTable::default();
        let mut classifier = Classifier::new(Context::default());
        let private = Mapping { anonymous: ByteSize::new(KIB), ..mapping(0, 3 * KIB, b"rw-p", "/a") };
        classifier.push(private, &mut table);
        classifier.push(mapping(8192, 4096, b"rw-p", "[heap]"), &mut table);
        classifier.finish(&mut table);
        let mut expected = MappingTable::default();
        expected.add(MappingKind::File, "/a", ByteSize::new(2 * KIB));
        expected.add(MappingKind::Anonymous, "/a, private copies", ByteSize::new(KIB));
        expected.add(MappingKind::Heap, "[heap]", ByteSize::new(4096));
        assert_eq!(table, expected);
    }
}
