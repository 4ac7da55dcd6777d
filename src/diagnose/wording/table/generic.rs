//! What any program may print. The words around decide between device and host, and a row counts only where a message
//! begins: the words are ordinary ones.

use super::Means::{Device, Host, Limit, Refused};
use super::{Wording, row};

pub(super) static ROWS: &[Wording] = &[
    row(Limit, "", "A limit on memory was reached.",
        r"(?i)\b(?:memory|mem|rss) (?:limit|quota|budget) (?:was |has been |is )?(?:exceeded|reached|hit)|\b(?:exceeded|exceeding|over|hit|reached|above) (?:the |its |their |your )?(?:\w+ )?(?:memory|rss) (?:limit|quota|budget)",
        "error: memory limit exceeded, job terminated", "").begins(),
    row(Limit, "", "Something was ended because of the memory that it used.",
        r"(?i)\b(?:container|pod|process|task|job|worker|instance|app(?:lication)?|session|kernel|build|query|runner|replica) (?:\S+ )?(?:was |has been |is )?(?:killed|terminated|stopped|evicted|ended|shut down|restarted) (?:because of|due to|owing to|for|because|as)\b[^\n.]{0,60}\b(?:memory|oom)\b",
        "worker killed due to memory usage", "").begins(),
    row(Device, "", "The program ran out of video memory.",
        r"(?i)\b(?:out of|ran out of|insufficient|not enough|exhausted) (?:the )?(?:vram|video (?:memory|ram)|gpu (?:memory|ram)|graphics memory|device memory)\b|\b(?:vram|gpu memory|video memory|device memory) (?:is )?(?:exhausted|full|ran out)\b",
        "fatal: ran out of video memory", "").begins(),
    row(Refused, "", "An allocation was refused.",
        r"(?i)\b(?:ran |run |running |is |are |was )?out[ -]of[ -]memory\b(?: (?:allocating|trying to allocate|while allocating|requesting)? ?\(?(?:(?:needed|requested|tried to allocate|size)[:= ]*)?(?P<tried>[\d,]{3,} ?(?:bytes|B\b)|[\d.]+ ?[KMGT]i?B))?",
        "renderer: out of memory while allocating 1048576 bytes", "").begins(),
    row(Refused, "", "An allocation was refused.",
        r"(?i)\b(?:can(?:not|'t| not)|could(?: not|n't)|unable to|fail(?:ed|ure)? to|not able to)\s+(?:re)?(?:alloc(?:ate)?|reserve|map|commit|acquire|obtain|get|create|malloc|mmap)\b[^\n]{0,60}?(?P<tried>[\d,]{4,} ?(?:bytes|B\b)|[\d.]+ ?(?:[KMGT]i?B|[KMG]bytes)\b)",
        "failed to allocate 4294967296 bytes for the frame buffer", "").begins(),
    row(Refused, "", "An allocation was refused.",
        r"(?i)\b(?:can(?:not|'t| not)|could(?: not|n't)|unable to|fail(?:ed|ure)? to|not able to)\s+(?:re)?(?:alloc(?:ate)?|reserve|map|commit|acquire|obtain|malloc)\b[^\n]{0,40}?\b(?:memory|buffers?|heap|ram|arena|tensors?)\b",
        "Unable to allocate memory for the index", "").begins(),
    row(Refused, "", "An allocation was refused.",
        r"(?i)\b(?:memory|heap|storage|buffer|pool|arena|malloc|realloc|calloc|mmap|new)[ _-]?(?:allocation|alloc|request)?(?:\(\))?:? (?:of (?:size )?(?P<tried>\d+)(?: bytes)? )?(?:failed|failure|exhausted|error)\b(?:[^\n]{0,40}?(?P<tried_b>\d{4,}) ?bytes)?",
        "memory allocation of 1073741824 bytes failed in the parser", "").begins(),
    row(Refused, "", "Memory was too small for what was asked.",
        r"(?i)\b(?:insufficient|not enough|no more|too little|lack of|(?:not|n't) have (?:sufficient|enough)) (?:\w+ )?(?:memory|ram|heap space)\b(?:[^\n]{0,60}?(?:need|requir|request)\w*:? (?:at least )?(?P<tried>[\d.]+ ?[KMGT]i?B|\d{4,}))?",
        "error: insufficient memory, 12.5 GiB required", "").begins(),
    row(Host, "", "The system refused memory (ENOMEM).",
        r"\bENOMEM\b|: (?:Cannot|Can't|can't|cannot) allocate memory\b|: Not enough (?:space|memory|core)$|\berrno[ =:]+12\b|\bE_OUTOFMEMORY\b|\bNSMallocException\b",
        "ioctl failed: ENOMEM", "POSIX: ENOMEM").begins(),
    row(Refused, "", "A program ended with the class of an out-of-memory error.",
        r"(?:^|[\s.:'\x22<(])(?:\w+\.)*(?:_?[A-Z]\w*)?(?:OutOfMemory|NoMemory|MemoryLimit\w*|AllocationFailed|MemoryAllocation|InsufficientMemory)(?:Error|Exception|Fault)\b|(?:^|[\s.>'])(?:_Array)?MemoryError(?::|$)",
        "acme.store.OutOfMemoryError: segment 12", "").begins(),
];
