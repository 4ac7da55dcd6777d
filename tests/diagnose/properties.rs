//! Every wording in every disguise gives the same events: versions, back ends, prefixes, noise, interleaving, wrapping,
//! terminal codes; and no bytes cause harm.

use plimsoll::ByteSize;
use plimsoll::diagnose::Kind;
use proptest::prelude::*;

use crate::support::findings;

const GIB: f64 = (1u64 << 30) as f64;

/// The figures in a message, in hundredths of a GiB.
#[derive(Clone, Copy, Debug)]
struct Said {
    tried: u32,
    capacity: u32,
    free: u32,
    allocated: u32,
    unallocated: u32,
    device: u32,
}

fn amount(hundredths: u32) -> String {
    format!("{}.{:02} GiB", hundredths / 100, hundredths % 100)
}

fn bytes(hundredths: u32) -> ByteSize {
    ByteSize::new((f64::from(hundredths) / 100.0 * GIB).round() as u64)
}

/// The wordings: back end, text.
fn wording(index: usize, said: Said) -> (&'static str, String) {
    let Said { tried, capacity, free, allocated, unallocated, device } = said;
    let [t, c, f, a, u, r] = [tried, capacity, free, allocated, unallocated, allocated + unallocated].map(amount);
    let old = |name: &str, tail: String| {
        format!(
            "RuntimeError: {name} out of memory. Tried to allocate {t} (GPU {device}; {c} total capacity; {a} already allocated; {f} free; {tail})"
        )
    };
    let new = |class: &str, name: &str, spelling: &str, hint: &str| {
        format!(
            "{class}: {name} out of memory. Tried to allocate {t}. GPU {device} has a total {spelling} of {c} of which {f} \
             is free. Of the allocated memory {a} is allocated by PyTorch, and {u} is reserved by PyTorch but unallocated. \
             {hint}"
        )
    };
    let expandable = "If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.";
    match index {
        0 => ("cuda", old("CUDA", format!("{u} cached"))),
        1 => ("cuda", old("CUDA", format!("{r} reserved in total by PyTorch"))),
        2 => (
            "cuda",
            old(
                "CUDA",
                format!(
                    "{r} reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation.  See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF"
                ),
            ),
        ),
        3 => (
            "cuda",
            new(
                "torch.cuda.OutOfMemoryError",
                "CUDA",
                "capacty",
                "If reserved but unallocated memory is large try setting max_split_size_mb to avoid fragmentation.",
            ),
        ),
        4 => ("cuda", new("torch.OutOfMemoryError", "CUDA", "capacity", expandable)),
        5 => ("hip", new("torch.OutOfMemoryError", "HIP", "capacity", expandable)),
        6 => (
            "xpu",
            new(
                "torch.OutOfMemoryError",
                "XPU",
                "capacity",
                "Please use `empty_cache` to release all unoccupied cached memory.",
            ),
        ),
        7 => ("musa", new("RuntimeError", "MUSA", "capacity", "")),
        8 => (
            "npu",
            format!(
                "RuntimeError: NPU out of memory. Tried to allocate {t} (NPU {device}; {c} total capacity; {a} already allocated; {a} current active; {f} free; {r} reserved in total by PyTorch) If reserved memory is >> allocated memory try setting max_split_size_mb to avoid fragmentation."
            ),
        ),
        _ => ("mlu", new("RuntimeError", "MLU", "capacity", "")),
    }
}

const WORDINGS: usize = 10;

/// How a launcher marks the lines of a rank.
fn prefix(style: usize, rank: usize) -> String {
    match style {
        0 => format!("[rank{rank}]: "),
        1 => format!("{rank}: "),
        2 => format!("[default{rank}]:"),
        3 => format!("(Worker_TP{rank} pid={}) ERROR 11-18 18:07:28 [engine.py:366] ", 4000 + rank),
        4 => format!("[1,{rank}]<stderr>:"),
        5 => format!("2024-05-01 10:00:0{},123 [rank{rank}]: ", rank % 10),
        _ => format!("node-{rank}: [rank{rank}]:[ERROR] "),
    }
}

const PREFIXES: usize = 7;

const NOISE: [&str; 8] = [
    "step 12/100 loss 0.25 lr 1e-4 mem 12.5 GB",
    "Epoch 1:  35%|███▌      | 350/1000 [01:02<01:55,  5.61it/s]\rEpoch 1:  36%|███▌      | 360/1000 [01:03<01:54,  5.61it/s]",
    "W0325 20:57:26.100000 2606 torch/distributed/elastic/multiprocessing/api.py:897] Sending process 2632 closing signal SIGTERM",
    "warning: the tokenizer class you load is not the one it was saved with",
    "",
    "{\"step\": 12, \"loss\": 0.25}",
    "Hint: to avoid CUDA out of memory, lower the batch size",
    "[2024-03-01 10:00:00,000] [INFO] [launch.py:316:sigkill_handler] Killing subprocess 4001",
];

/// `text` in lines of at most `columns` columns, broken between words.
fn wrapped(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let line = lines.last_mut().unwrap();
        if !line.is_empty() && line.len() + 1 + word.len() > columns {
            lines.push(word.to_owned());
        } else {
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(word);
        }
    }
    lines
}

fn said() -> impl Strategy<Value = Said> {
    (1..4000u32, 800..15_000u32, 0..4000u32, 0..10_000u32, 0..4000u32, 0..8u32).prop_map(
        |(tried, capacity, free, allocated, unallocated, device)| Said {
            tried,
            capacity,
            free,
            allocated,
            unallocated,
            device,
        },
    )
}

#[derive(Clone, Debug)]
struct Disguise {
    prefix: usize,
    columns: Option<usize>,
    ansi: bool,
    noise: Vec<usize>,
    order: Vec<usize>,
    piece: usize,
}

fn disguise() -> impl Strategy<Value = Disguise> {
    (
        0..PREFIXES,
        prop::option::of(50..140usize),
        any::<bool>(),
        prop::collection::vec(0..NOISE.len(), 0..40),
        prop::collection::vec(0..8usize, 64),
        1..4000usize,
    )
        .prop_map(|(prefix, columns, ansi, noise, order, piece)| Disguise {
            prefix,
            columns,
            ansi,
            noise,
            order,
            piece,
        })
}

/// The lines of every rank, interleaved with each other and with noise.
fn log(messages: &[(usize, Said)], disguise: &Disguise) -> String {
    let mut streams: Vec<Vec<String>> = vec![disguise.noise.iter().map(|noise| NOISE[*noise].to_owned()).collect()];
    for (rank, (index, said)) in messages.iter().enumerate() {
        let prefix = prefix(disguise.prefix, rank);
        let (_, text) = wording(*index, *said);
        let mut own =
            vec!["Traceback (most recent call last):".to_owned(), "  File \"a.py\", line 3, in forward".to_owned()];
        own.extend(disguise.columns.map_or_else(|| vec![text.clone()], |columns| wrapped(&text, columns)));
        let dress = |line: String| {
            if disguise.ansi {
                format!("\x1b[36m{prefix}\x1b[0m\x1b[1;31m{line}\x1b[0m")
            } else {
                format!("{prefix}{line}")
            }
        };
        streams.push(own.into_iter().map(dress).collect());
    }
    let mut text = String::new();
    let mut turn = 0;
    while streams.iter().any(|stream| !stream.is_empty()) {
        let choice = disguise.order[turn % disguise.order.len()] % streams.len();
        turn += 1;
        let at =
            (0..streams.len()).map(|step| (choice + step) % streams.len()).find(|at| !streams[*at].is_empty()).unwrap();
        text.push_str(&streams[at].remove(0));
        text.push('\n');
    }
    text
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn every_wording_in_every_disguise_gives_the_same_events(
        messages in prop::collection::vec((0..WORDINGS, said()), 1..5),
        disguise in disguise(),
    ) {
        let text = log(&messages, &disguise);
        let mut analysis = plimsoll::diagnose::Analysis::default();
        analysis.begin("log");
        text.as_bytes().chunks(disguise.piece).for_each(|piece| analysis.push(piece));
        analysis.end();
        let mut events = analysis.findings(None).events;
        events.sort_by_key(|event| event.rank);
        prop_assert_eq!(events.len(), messages.len(), "{}", text);
        for (rank, (event, (index, said))) in events.iter().zip(&messages).enumerate() {
            let (backend, _) = wording(*index, *said);
            prop_assert_eq!(event.kind, Kind::VramOom);
            prop_assert_eq!(event.rank, Some(rank as u64), "{}", text);
            prop_assert_eq!(event.backend.as_deref(), Some(backend), "{}", text);
            prop_assert_eq!(event.device, Some(u64::from(said.device)), "{}", text);
            let numbers = &event.numbers;
            for (name, found, expected) in [
                ("tried", numbers.tried, said.tried),
                ("capacity", numbers.capacity, said.capacity),
                ("free", numbers.free, said.free),
                ("allocated", numbers.allocated, said.allocated),
            ] {
                prop_assert_eq!(found, Some(bytes(expected)), "{} of {}", name, text);
            }
            let unallocated = numbers.unallocated.unwrap().bytes().abs_diff(bytes(said.unallocated).bytes());
            prop_assert!(unallocated <= 2, "unallocated of {}", text);
        }
    }

    #[test]
    fn ordinary_text_around_an_event_adds_none(before in "[a-z0-9 .:=\\n]{0,400}", after in "[a-z0-9 .:=\\n]{0,400}", said in said()) {
        let (_, message) = wording(4, said);
        let found = findings(format!("{before}\n{message}\n{after}").as_bytes());
        prop_assert_eq!(found.events.len(), 1);
        prop_assert_eq!(found.events[0].numbers.tried, Some(bytes(said.tried)));
    }

    #[test]
    fn a_truncated_message_gives_numbers_that_are_right_or_absent(said in said(), index in 0..WORDINGS, keep in 0.0..1.0f64) {
        let (_, message) = wording(index, said);
        let cut: String = message.chars().take((message.len() as f64 * keep) as usize).collect();
        for event in findings(cut.as_bytes()).events {
            let numbers = event.numbers;
            for (found, expected) in [
                (numbers.tried, said.tried),
                (numbers.capacity, said.capacity),
                (numbers.free, said.free),
                (numbers.allocated, said.allocated),
            ] {
                prop_assert!(found.is_none_or(|found| found == bytes(expected)), "{cut}");
            }
        }
    }

    #[test]
    fn no_bytes_do_harm(bytes: Vec<u8>, words in prop::collection::vec(0..12usize, 0..40)) {
        const WORDS: [&str; 12] = [
            "CUDA out of memory. Tried to allocate ", "99999999999999999999.99 GiB", "(GPU 0; ", "\x1b[", "Killed", "\n", "\r",
            "oom-kill:constraint=", "Process 1 has 1.00 GiB memory in use. ", "exitcode: -9 (pid: 99999999999999999999999)",
            "memory: usage 1kB, limit 9007199254740988kB, failcnt 1", "[rank99999999999999999999]: ",
        ];
        let text: String = words.iter().map(|word| WORDS[*word]).collect();
        findings(&[bytes.as_slice(), text.as_bytes(), bytes.as_slice()].concat());
    }
}
