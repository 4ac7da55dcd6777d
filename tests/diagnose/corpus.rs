//! Texts with their truth: `unseen/` to `unseen68/` were written before any pattern was adapted to them,
//! `made/` is the output of programs that really ran out of memory (`make_corpus.py`).
//!
//! A case begins with `=== NAME`; lines `what: truth | other truth` and a line `---` precede its text.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use plimsoll::diagnose::{Findings, Kind, Verdict};

use crate::support::findings;

/// A text and what must be found in it.
pub struct Case {
    pub name: String,
    truth: BTreeMap<String, Vec<String>>,
    pub text: String,
}

/// The cases of a folder.
pub fn cases(folder: &str) -> Vec<Case> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/diagnose").join(folder);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    let mut cases = Vec::new();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "txt")) {
        let file = fs::read_to_string(path).unwrap();
        for case in split(&file) {
            let (head, text) = case.split_once("\n---\n").unwrap();
            let (name, truth) = head.split_once('\n').unwrap();
            let truth = truth.lines().filter_map(|line| line.split_once(':')).map(|(what, truth)| {
                (what.trim().to_owned(), truth.split('|').map(|truth| truth.trim().to_owned()).collect())
            });
            let name = format!("{}/{}", path.file_stem().unwrap().to_string_lossy(), name.trim());
            cases.push(Case { name, truth: truth.collect(), text: text.to_owned() });
        }
    }
    cases
}

/// The cases of a file, without their `=== `. A text may contain such lines too, but only a case's is followed by its
/// truth.
fn split(file: &str) -> Vec<&str> {
    let begins = |at: &usize| {
        let (start, rest) = (*at == 0 || file[..*at].ends_with('\n'), &file[*at + 4..]);
        start
            && rest.split_once('\n').is_some_and(|(_, next)| next.starts_with("verdict:") || next.starts_with("side:"))
    };
    let starts: Vec<usize> = file.match_indices("=== ").map(|(at, _)| at).filter(begins).collect();
    let ends = starts.iter().skip(1).copied().chain([file.len()]);
    starts.iter().zip(ends).map(|(start, end)| &file[start + 4..end]).collect()
}

fn side(kind: Kind) -> &'static str {
    match kind {
        Kind::VramOom => "device",
        Kind::None | Kind::Report => "none",
        _ => "host",
    }
}

impl Case {
    /// The differences from the truth; `true` marks errors about the software that asked.
    pub fn wrong(&self, found: &Findings) -> Vec<(bool, String)> {
        let mut wrong = Vec::new();
        let event = serde_json::to_value(found.events.first()).unwrap();
        for (what, truth) in &self.truth {
            let own = match what.as_str() {
                "verdict" => found.verdict.to_string(),
                "side" => side(found.kind).to_owned(),
                "events" => found.events.len().to_string(),
                "job" => event["job"].as_str().unwrap_or_default().to_owned(),
                // Who asks; in `unseen3/` also who was killed.
                "who" => {
                    let names = ["software", "victim"].map(|name| event[name].as_str().unwrap_or_default());
                    names.into_iter().find(|own| truth.iter().any(|truth| truth == own)).unwrap_or(names[0]).to_owned()
                }
                "also" => {
                    let also = event["also"].as_array().into_iter().flatten().filter_map(|also| also.as_str());
                    also.into_iter().find(|also| truth.iter().any(|truth| truth == also)).unwrap_or_default().to_owned()
                }
                // What one of the three pieces that are shown must name.
                "advice" => {
                    let shown = found.events.iter().take(1).flat_map(|event| event.advice.iter().take(3));
                    let shown: Vec<&str> = shown.map(|advice| advice.what.as_str()).collect();
                    let named = truth.iter().find(|truth| shown.iter().any(|what| what.contains(truth.as_str())));
                    named.cloned().unwrap_or_else(|| shown.join("; "))
                }
                number => {
                    // Some cases use another name for the request, for the capacity of a device, or for what it had free.
                    let names: &[&str] = match number {
                        "requested" | "asked" => &["tried"],
                        "allowed" => &["allowed", "capacity", "free"],
                        number => &[number],
                    };
                    let expected = truth[0].parse::<f64>().unwrap();
                    let found: Vec<f64> = names.iter().filter_map(|name| event["numbers"][name].as_f64()).collect();
                    // An amount with one decimal is exact to a hundredth.
                    if found.iter().any(|found| (found - expected).abs() <= (expected * 0.01).max(11e6)) {
                        continue;
                    }
                    format!("{found:?}")
                }
            };
            if !truth.contains(&own) {
                wrong.push((what == "who", format!("{}: {what} is {own:?}, not {}", self.name, truth.join(" or "))));
            }
        }
        wrong
    }
}

/// How well a case is diagnosed: people rely on the side and the verdict, and on no false claims.
fn fares(case: &Case, found: &Findings) -> &'static str {
    let nothing = ["not-oom", "report-only", "cache-not-leak", "none"];
    let expected = |what: &str| case.truth.get(what).map(Vec::as_slice).unwrap_or_default();
    let happened = |truth: &[String]| truth.is_empty() || truth.iter().any(|truth| !nothing.contains(&truth.as_str()));
    let (verdict, side_of) = (found.verdict.to_string(), side(found.kind).to_owned());
    let none = |truth: &[String]| truth.iter().any(|truth| truth == "none");
    let is = |what: &str, own: &String| {
        let truth = expected(what);
        truth.is_empty() || truth.contains(own) || (!found.failed() && none(truth))
    };
    if !happened(expected("verdict")) || !happened(expected("side")) {
        return if found.failed() {
            "false claim"
        } else if is("verdict", &verdict) {
            "right"
        } else {
            "partly"
        };
    }
    if !found.failed() && none(expected("verdict")) {
        return "right";
    }
    match (is("verdict", &verdict), is("side", &side_of)) {
        _ if !found.failed() && !is("verdict", &verdict) => "missed",
        (true, true) if case.wrong(found).iter().all(|(who, _)| *who) => "right",
        (true, true) => "partly",
        _ => "wrong",
    }
}

/// Cases of the later sets that are not right, and why each is accepted.
const KNOWN: [(&str, &str); 218] = [
    ("some/f-people-slurm-es", "a report in Spanish, less likely than one since more authors were learnt"),
    ("some/f-toot-linker", "a report in one line, less likely than one since more authors were learnt"),
    ("none/none-memory-optimization-pr-gpu", "a comparison of two columns is telemetry, in which nothing is wrong"),
    ("some/theano-usage-creep", "memory rises by less than half a percent"),
    ("some/f-41-028", "an arena states the request alone, which does not say that the device is full"),
    ("some/f-43-002", "a report of iOS, whose limit is not told from that of a control group"),
    ("some/f-43-019", "a limit on locked memory, in words of advice"),
    ("some/f-43-051", "an arena states the request alone, which does not say that the device is full"),
    ("some/f-43-056", "the size of the device stands in what was pasted below"),
    ("some/f-43-073", "a share of a device that MPS gives stands in the environment"),
    ("some/f-43-077", "free blocks of a pool, in a line of its own"),
    ("some/t-43-010", "five readings of a device, with their times on the lines above"),
    ("some/t-43-025", "tuples of minutes and MiB, without a unit"),
    ("some/t-43-036", "amounts without a unit below the names of two versions"),
    ("some/f-40-050", "an ordinary report of memory in pieces, below the limit"),
    ("some/f-42-031", "a library states the request alone, which does not say that the device is full"),
    ("some/f-42-096", "a limit of the shell stands above a refused allocation"),
    ("some/t-criterion-peak-heap", "only a change in percent stands below the newer amount"),
    ("none/n-latency-regression-bench", "the one row of memory is telemetry, in which nothing is wrong"),
    ("some/gguf-compute-buffer-273g", "a device with more is on sale"),
    ("some/rl-asleep-between-commits", "amounts of two commits in sentences of a person"),
    ("some/tf-train-current-rises", "amounts without a unit"),
    ("some/loader-gpu-epochs", "four readings are too few to be more than a start"),
    ("some/wallet-agent-rss", "a tenth more in three minutes may be the start of a program"),
    ("some/nim-self-build-peak", "amounts of two versions in sentences, without a unit"),
    ("some/browser-memory-dashboard", "the amounts are in units that the words leave out"),
    ("some/ray-actors-release-diff", "a patch of a record whose amounts have no unit"),
    ("some/adamw-state-init", "the optimizer's state stands in `also`, beside the verdict of the numbers"),
    ("some/trend-inconclusive-ranks", "a sentence says which ranks did not answer"),
    ("some/trend-sleep-sglang-chat", "`before` and `after` of a call that a person named in a sentence"),
    ("none/redis-normal-bgsave", "two peaks are telemetry, in which nothing is wrong"),
    ("some/backward-first-step", "the numbers' verdict comes before the pass in which it failed"),
    ("some/adamw-exp-avg-sq", "the optimizer's state stands in `also`, beside the verdict of the numbers"),
    ("some/longest-batch-asr", "the numbers' verdict comes before the length of the batch"),
    ("some/eval-wrapped-mail", "the numbers' verdict comes before the pass in which it failed"),
    ("some/regression-host-chat", "amounts of two versions in sentences of a chat"),
    ("none/train-log-nan", "several figures are telemetry, in which nothing is wrong"),
    ("none/cache-falls-back-requests", "figures of a cache in a form of its own"),
    ("some/torch-adamw-state", "the optimizer's state stands in `also`, beside the verdict of the numbers"),
    ("some/gnu-time-two-compiler-versions", "two single figures are not compared"),
    (
        "some/tf-bfc-not-a-failure-warning",
        "a caller that does not need the memory has not failed, as three other sets have it",
    ),
    ("some/trend_esp32_free_heap", "free memory that fell by less than a quarter is no growth yet"),
    ("some/near_rabbitmq_watermark", "a server that stops its producers at a watermark works as it was set up"),
    ("some/near_fluentbit_pause", "an input that pauses at the limit of its buffer works as it was set up"),
    ("some/sgl_retract", "a full KV cache is a matter of scheduling, as four other sets have it"),
    ("a_containers/c_heroku_r14_only", "R14 counts as a limit that was reached: the dyno swaps"),
    ("a_frameworks/f_ort_gpu_mem_limit", "the setting of another line limits the arena"),
    ("a_frameworks/f_xgboost_thrust", "the numbers stand in other lines, in units of their own"),
    ("a_graphics/g_hip_hipmalloc_app", "the amount stands before the error, in words of the program"),
    ("a_sched/q_dask_nanny", "the nanny's budget counts as the limit of a job"),
    ("a_torch/t_v13_cached_full_p100", "the total stands in another line, of a table"),
    ("b_kernel/k_macos_jetsam_report", "a limit for one process counts as the limit of a job"),
    ("b_kernel/k_oom_reaper_only", "`logs/not_reaper_alone.log` claims nothing either"),
    ("b_mlhost/m_arrow", "the amount stands in a form of its own"),
    ("b_sched/q_sge_hvmem", "a limit of the queue counts as the limit of a job"),
    ("a_apps/d_trino", "a server's own limit on a query is an allocation that the host refused, in `unseen3` as well"),
    ("a_apps/d_ora_4036", "as above, for the limit of an instance of Oracle"),
    ("b_apps/d_es_breaker", "as above, for the breaker of Elasticsearch"),
    ("b_frameworks/f_julia_cuda", "half of the device in one request is a huge request"),
    ("b_torch/t_eb_corrupted_size", "`unseen` has this message as garbage of collectives that are out of step"),
    (
        "a_serving/tpu_hbm_compile_permanent_error",
        "what the compiler plans for the whole program stands under `allocated`: it is not one request",
    ),
    ("a_none/n_config_watermark", "a setting with an amount counts as a report of it"),
    ("a_host/backend_ai_detected", "the program's own words for what it noticed come before the process that it found"),
    ("a_torch/more_than_one_exabyte", "`unseen` has this message as garbage of collectives that are out of step"),
    ("some/hpux", "the message names two limits, of which memory is one"),
    ("some/uge_mail", "no line shows the limit, so that the sender of the signal is unknown"),
    ("some/openvino_gpu", "one request that is larger than an allocation may be is a huge request"),
    ("some/nifi", "one array that is larger than the machine's limit is a huge request"),
    ("some/cockroach", "a budget of the server counts as the limit of a job"),
    (
        "some/keras_info_per_iteration",
        "amounts without a unit are no telemetry, and the machine's free memory is not the program's",
    ),
    ("some/cupy-pool-used-bytes", "nobody says that the memory grows"),
    ("some/prose-pool-onnx-like", "a cache that a person describes in sentences"),
    ("some/nvidia-smi-rank0-extra-contexts", "a table of the machine does not say which process is a rank"),
    ("some/prose-expert-parallel-ranks", "ranks and their amounts in one sentence"),
    ("some/alloc-retries-rising-fsdp", "counts of retries in a form of their own"),
    ("some/chat-bot-maxrss", "amounts in the sentences of a chat"),
    ("some/ci-runner-agent-free-m", "rows of numbers without a unit, of a column of `free` that a sentence names"),
    ("some/ysql-like-connection-cost", "several numbers without a unit for each version"),
    ("some/etl-job-internal-ticket", "the amounts of several nights in a sentence"),
    (
        "none/flat-telemetry-week",
        "rows of numbers in a form of their own are telemetry only if somebody says that they rise",
    ),
    ("none/sawtooth-gc-log", "as above"),
    ("none/sawtooth-rss-cron", "as above"),
    ("none/training-log-constant", "as above"),
    ("some/hg-camera-recorder", "shares of a machine's memory"),
    ("some/leak-torch-allocated-step", "rows of numbers whose unit a sentence names"),
    ("some/leak-rocm-smi", "four readings, and nobody says that they grow"),
    ("some/leak-cupy-mempool", "the amounts rise by as much as is kept, in rows without a unit"),
    ("some/leak-blender-addon", "amounts of a total in a form of their own"),
    (
        "none/none-flat-telemetry",
        "rows of numbers in a form of their own are telemetry only if somebody says that they rise",
    ),
    ("none/none-sawtooth-gc", "as above"),
    ("none/none-warmup-plateau", "as above"),
    ("none/none-batch-job-sawtooth", "as above"),
    ("none/flat-rss-soak-loop", "rows of numbers without a unit are telemetry only if somebody says that they rise"),
    ("none/gc-sawtooth-same-floor", "as above"),
    ("none/rss-falls-after-job", "as above"),
    ("none/jstat-old-steady", "as above"),
    ("none/plateau-after-four-hours", "as above"),
    ("none/grafana-wiggle-csv", "as above"),
    ("some/f-llamacpp-ctx-huge", "what was free before it loaded is not what the device has"),
    ("some/t-smem-pss", "columns that a sentence names"),
    ("some/t-slabtop", "a table of caches of which each is printed again"),
    ("none/b15-none-loading-data", "what is loaded piece by piece, and then kept"),
    ("none/b15-none-rows-pandas", "a table of data frames by their rows is taken for telemetry"),
    ("some/t-esp32-heap-ko", "amounts and times in Korean"),
    ("some/f-adam-state-step-one", "the optimizer's state stands in `also`, beside the verdict of the numbers"),
    ("device/torch_optimizer_first_step", "the optimizer's state stands in `also`, beside the verdict of the numbers"),
    ("some/f-postmortem-checkout", "a root cause in the past tense, among headings of a document"),
    ("some/t-discord-bot-chat", "amounts whose unit is in another sentence of a chat"),
    ("some/t-memray-branch", "names of two branches head the columns"),
    ("some/t-notebook-caching", "a table without a time of what is reserved"),
    ("some/f-ios-jetsam-report", "a limit of a process in iOS is taken for that of a group"),
    ("some/f-jira-oomkilled", "the reason stands in another line of the ticket than the exit code"),
    ("some/f-colab-es", "a session of Colab that restarts"),
    ("some/f-gh-issue-137", "the body of an issue that asks about its exit code"),
    ("some/f-pt-photoshop", "a message of Photoshop in Portuguese"),
    ("some/t-reddit-upgrade-peak", "two peaks in a sentence about an update"),
    ("some/t-chat-reserved-stays", "reserved memory that stays, in the words of a person"),
    ("some/f-slack-longest-batch", "a sentence in a chat, worded like a remark"),
    ("some/f-chat-gpu2-neighbour", "who holds the device is named in the words of a person"),
    ("some/f-handover-linker-137", "one line of a hand-over"),
    ("some/t-bench-table-release", "names of two releases head columns of many benchmarks"),
    ("some/t-bisect-mail", "a mail that lists builds"),
    ("some/t-esp-free-heap-uptime", "free bytes beside the least of them"),
    ("some/f-solidworks-ticket", "a ticket that quotes the window of a program"),
    ("some/f-people-comfy-video", "a video that does not fit, in a sentence of a forum"),
    ("some/f-people-handover-137", "one line of a hand-over"),
    ("some/t-celery-ps-cron", "rows of `ps` behind a time that its columns do not have"),
    ("some/t-people-agent-ru", "Russian growth in the words of a person"),
    ("some/t-people-k8s-slack-operator", "two versions in several messages of a chat"),
    ("some/t-people-workers-fr", "French growth in the words of a person"),
    ("some/t-promql-working-set", "pairs of times and values in one line of JSON"),
    ("some/f-people-cryosparc-notebook", "a laboratory book in one sentence"),
    ("some/f-bug-ios-extension", "a limit of an extension of iOS, in a report of a bug"),
    ("some/f-chat-zh-gpu-busy", "who holds the device is named in a Chinese chat"),
    ("some/f-commit-pi-map", "a commit that says what failed before it"),
    ("some/f-forum-long-sample", "the longest sample is named in the words of a person"),
    ("some/f-handover-shm", "one line of a hand-over"),
    ("some/f-ko-short", "a short sentence in Korean"),
    ("some/f-mail-lambda-customer", "a function that ended, in the words of a customer"),
    ("some/f-standup-api", "one line of a stand-up"),
    ("some/f-ticket-es-sqlserver", "a ticket in Spanish"),
    ("some/t-csv-load-unload", "what stays after an unload, of a device that the rows do not name"),
    ("some/t-game-textures", "a report of a game in the words of a person"),
    ("some/t-leakcanary", "a summary of LeakCanary"),
    ("some/t-ticket-residual", "what stays, in the words of a ticket"),
    ("none/n-sizing-guide", "a guide to sizes with rows that rise with the work"),
    ("some/t-forum-cache-q", "a cache that a person describes in sentences"),
    ("some/t-print-reserved-high", "prints of a cache that nobody names"),
    ("some/f-ios-jetsam-38", "a limit of a process in iOS is taken for that of a group"),
    ("some/f-postmortem-pg-kernel", "the kernel is named in another sentence than the kill"),
    ("some/mailing-list-kernel-boot", "two kernels by name, and their memory in a sentence"),
    ("some/t-erlang-binary-pl", "Polish, with readings in a sentence"),
    ("some/t-chrome-tab-it", "Italian, with two readings in a sentence"),
    ("some/f-39-036", "a chat in Russian that quotes a state and its limit"),
    ("some/f-39-039", "a line of the kernel in a list of a ticket, which is read as an ordinary report"),
    ("some/f-39-040", "a message of Redis in quotation marks within a timeline"),
    ("some/f-39-042", "an ordinary report in Korean, below the limit"),
    ("some/f-39-047", "an ordinary report without a word of memory"),
    ("some/f-39-060", "an ordinary report in Ukrainian, below the limit"),
    ("some/t-39-007", "two versions side by side in the columns of a table"),
    ("some/t-39-023", "what stays on a card while an engine sleeps, in sentences"),
    ("some/t-39-025", "a question about the allocator's cache in sentences"),
    ("some/t-39-028", "Russian, with readings in a sentence"),
    ("some/t-39-029", "two readings in a sentence of a list about other things"),
    ("some/t-39-031", "Korean, with readings in a line"),
    ("some/t-perfmon-paged-pool", "a counter of Windows by its own name, in a table"),
    ("none/n-40-024", "memory used of a total behind a version's number"),
    ("none/n-40-035", "Italian, with readings that level off in a sentence"),
    ("some/f-40-033", "a ticket in German that quotes a state"),
    ("some/f-40-034", "an ordinary report of a long prompt, below the limit"),
    ("some/f-40-038", "an ordinary report of another's process, below the limit"),
    ("some/f-40-041", "a mail in Polish about an exit code"),
    ("some/f-40-043", "an ordinary report of an optimizer's step, below the limit"),
    ("some/f-40-044", "an ordinary report of an evaluation, below the limit"),
    ("some/f-40-056", "Spanish, with a limit that somebody set"),
    ("some/f-40-060", "an ordinary report of one large tensor, below the limit"),
    ("some/t-40-007", "a key of JSON that names no memory"),
    ("some/t-40-015", "commits that are good and bad below a heading with a batch size"),
    ("some/t-40-022", "what stays on a card while an engine sleeps, in sentences"),
    ("some/t-40-023", "a question about the allocator's cache in sentences"),
    ("some/t-40-024", "French, with readings in a sentence"),
    ("some/t-40-026", "Japanese, with readings in a sentence"),
    ("some/t-40-027", "two versions in a sentence about a game"),
    ("some/t-40-028", "readings of a person in sentences"),
    ("some/f-44-047", "a pool of MPS with the most that it may have"),
    ("some/f-44-049", "a pool of RMM with the most that it may have"),
    ("none/n-44-055", "a memory store of Spark that makes room on a disk"),
    ("some/f-46-020", "Blender, whose line has two figures that are not the device's"),
    ("some/t-47-005", "the second of three keys of one line grows"),
    ("some/t-47-051", "the exporter of OpenTelemetry, a figure to a block"),
    ("some/t-47-057", "a column of bytes that grows by a fifth in all"),
    ("some/t-48-015", "commits in rows, of which one and all later ones need more"),
    ("some/t-48-044", "a machine whose used memory grows by a tenth"),
    ("some/t-49-010", "what an engine holds asleep, in turns with what it holds awake"),
    ("some/t-49-035", "what stays on a device after a release, as the second of three amounts"),
    ("some/t-49-038", "what is left after young collections alone"),
    ("some/t-60-016", "tuples of Erlang, whose unit the expression above them divides by"),
    ("some/f-61-016", "the moments of AdamW, with numbers of a full device: the phase stands in `also`"),
    ("some/t-61-019", "builds of a night, with blanks between the digits of their megabytes"),
    ("some/t-62-027", "a counter of Windows, whose readings were pasted into a talk without its name"),
    (
        "some/t-64-002",
        "rows of top of one process between totals of the machine, of which words below say that the work stays",
    ),
    ("some/f-65-015", "a message of CUDA as a picture was read: its zero is no O"),
    ("some/f-65-024", "an error without numbers, and a list of the processes of others further below"),
    ("some/t-63-017", "a column whose memory is named in a comment below it"),
    ("some/t-61-027", "what MySQL has allocated, in a column that is named as if it only counted up"),
    ("some/t-54-034", "a log of Zeek, whose header has a column more than its rows"),
    ("some/t-54-036", "pages of a kernel in blocks by date"),
    ("some/t-54-041", "a bisection, whose commands check out the commits"),
    ("some/t-54-043", "regions of a firmware without a unit, as a bot compares them"),
    ("some/t-54-044", "three runs to a cell"),
    ("none/n-54-024", "a table of models by size"),
    ("none/n-54-029", "a curriculum whose title says that lengths double"),
    ("some/t-52-059", "a canary beside its stable version, whose header stands far above the memory"),
    ("some/f-57-005", "the optimizer's state stands in `also`, beside the verdict of the numbers"),
    ("none/n-57-003", "the gap of a summary is reported as the allocator's cache"),
    ("none/n-59-023", "telemetry is reported, with nothing wrong in it"),
    ("none/n-59-025", "telemetry is reported, with nothing wrong in it"),
    ("none/n-59-039", "the gap of a summary is reported as the allocator's cache"),
];

/// `unseen2` to `unseen7` were scored while half of each was held back, the later ones before any mend: `unseen8` 194 of
/// 207 right with 5 false claims, `unseen9` 207 of 217 with 7, `unseen10` 114 of 123 with 8, `unseen11` 103 of 112 with
/// 4, `unseen12` 65 of 74 with 4, `unseen13` 75 of 85 with 4, `unseen14` 124 of 130 with 1, `unseen15` 116 of 130 with 3,
/// `unseen16` 115 of 130 with 4, `unseen17`, a third of it trends, 125 of 150 with 1, `unseen18` 110 of 120 with 3,
/// `unseen19` 132 of 160 with 4: of its 100 texts without an event 90, of its 35 failures 33, of its 25 trends, in tables
/// and prose, 9; `unseen20`, as hard, 68 of 90 with 6; `unseen21`, modelled on public reports one by one, 104 of 120 with 1;
/// `unseen22`, trends in the forms of public reports alone, 17 of 70, and of 30 texts that look like such 24 with none;
/// `unseen23`, of the same kind, 13 of 45 when statements were first read (4 before), and 55 of 62 with 2; `unseen24`, after
/// the mends for that, 16 of 40 (7 before), and 35 of 40 with 1; `unseen25`, mixed, 59 of 80 (failures 50 of 52, trends 9
/// of 28), and 59 of 60 with 1; `unseen26`, the same after its mends, 63 of 90 (failures 47 of 47, trends 16 of 43), and 57 of
/// 60 with 3; `unseen27`, texts that look like growth alone, 34 of 40 with 5, and 22 of 40 trends that were written beside it;
/// `unseen28`, mixed, 88 of 110 (failures 58 of 60, trends 30 of 50), and 35 of 40 with 4 after those mends;
/// `unseen29`, most of it output of monitors, 33 of 50 (failures 14 of 15, trends 19 of 35), and 39 of 40 with 1;
/// `unseen30`, mixed, 88 of 100 (failures 64 of 65, trends 24 of 35), and 45 of 50 with 5; `unseen31`, of what is less common
/// after the mends for that, 76 of 90 (failures 58 of 60, trends 18 of 30), and 50 of 60 with 10;
/// `unseen32`, documents that look like failures and failures that look like documents, 32 of 40, and 55 of 80 with 25;
/// `unseen33`, mixed, after those mends, 57 of 60 (failures 44 of 45, trends 13 of 15), and 54 of 60 with 6.
/// `unseen34`, ordinary, 129 of 150 (failures 60 of 65, trends 15 of 30) and 54 of 55 with one; 139 with the weights that
/// were learnt without it.
/// `unseen35`, a third of its failures in the words of people, 126 of 150 (failures 50 of 60, trends 23 of 35) and 54 of
/// 55 with none, with weights that were learnt without it; 121 and one without weights.
/// `unseen36`, ordinary, 109 of 130 (failures 43 of 50, trends 17 of 30) and 49 of 50 with one, with weights that were
/// learnt without it; 103 and one without weights.
/// `unseen37`, ordinary, 63 of 90 (failures 44 of 55, trends 19 of 35) and 59 of 60 with none; 70 and 59 with concepts and
/// texts of six more authors, and 74 after mends for leak detectors.
/// `unseen38`, half of its failures in the words of people, 42 of 80 (failures 29 of 50, trends 13 of 30) and 59 of 60 with
/// none before that; 58 (36 and 22) and 56 with 3 after it, 58 with one if denials count.
/// `unseen39`, ordinary, 60 of 95 (failures 41 of 60, trends 19 of 35) and 64 of 65 with none before what ran out was learnt
/// in more columns and from six more authors; 69 (50 and 19) and 63 with none after it. `unseen40`, ordinary, after that
/// and with amounts of other languages, 66 of 95 (failures 46 of 60, trends 20 of 35) and 62 of 65 with none, 62 and 61
/// before all of it.
/// `unseen41`, logs alone, 128 of 135 (failures 97 of 100, trends 31 of 35) and 64 of 65 with one; `unseen42`, rarer logs,
/// 124 of 135 (94 of 100, 30 of 35) and 64 of 65 with one. `unseen43`, what those left out, after mends for them, 123 of 140
/// (88 of 100, 35 of 40) and 65 of 70 with two, and three trends that were none; 117 and the same before.
/// `unseen44`, logs after all of that, 82 of 90 (failures 58 of 60, trends 24 of 30) and 57 of 60 with one. `unseen45`, most of
/// it readings that grow and readings that do not, 71 of 90 (failures 19 of 20, trends 52 of 70) and 65 of 70 with no event
/// claimed but growth five times. `unseen46`, texts that look like events, 74 of 75 and 85 of 85. `unseen47`, readings again,
/// 51 of 60 and 46 of 60 with growth claimed 14 times, after and before the mends for `unseen45`. `unseen48`, the same after
/// mends for both, 41 of 50 and 53 of 60 with growth claimed 7 times. `unseen49`, mixed, after mends for all of them, 76 of 80
/// (failures 40 of 40, trends 36 of 40) and 54 of 60 with growth claimed 5 times and a panic.
/// `unseen50`, logs, 96 of 100 (failures 60 of 60, trends 36 of 40) and 48 of 50 with growth claimed twice. `unseen51`, posts
/// around parts of logs, 71 of 75 (49 of 50, 22 of 25) and 41 of 45 with 4 claims. `unseen52`, readings, 50 of 60 and 51 of 60
/// with growth claimed 9 times. `unseen53`, rare programs and forms, 67 of 70 and 48 of 50 with 2 claims. None of the four was
/// mended for another one. `unseen54`, mixed, after mends for all four, 78 of 85 (failures 40 of 40, trends 38 of 45) and 54 of
/// 60 with 6 claims, most of them of growth. `unseen55`, what tools print, 42 of 50 and 38 of 40 with growth claimed twice;
/// `unseen56`, what is ordinary, 97 of 100 (failures 70 of 70, trends 27 of 30) and 39 of 40 with growth claimed once.
/// `unseen57`, what is ordinary again, 78 of 80 (failures 49 of 50, trends 29 of 30) and 46 of 50 with 3 claims; `unseen58`,
/// readings, 52 of 60 and 55 of 60 with growth claimed 5 times; `unseen59`, what machine learning prints, 76 of 80 (failures
/// 60 of 60, trends 16 of 20) and 37 of 40 with no claim. None of the three was mended for another one. `unseen60`, what is
/// ordinary, 84 of 90 (failures 56 of 60, trends 28 of 30) and 60 of 60; `unseen61`, what is pasted into tickets, 85 of 90
/// (failures 48 of 50, trends 37 of 40) and 57 of 60 with growth claimed 3 times: neither was mended for the other.
/// `unseen62`, what a judge would collect, 86 of 90 (failures 60 of 60, trends 26 of 30) and 60 of 60; `unseen63`, what is hard
/// to judge from outside, 77 of 80 (failures 40 of 40, trends 37 of 40) and 67 of 70 with 3 claims: neither was mended for the
/// other. `unseen64`, trends alone, 46 of 50 and 38 of 40 with 2 claims; `unseen65`, posts around an excerpt of a log, 57 of 60
/// and 48 of 50 with 2 claims: neither was mended for the other. `unseen66`, trends alone, 22 of 30 and 20 of 22 with 2 claims;
/// `unseen67`, failures, 36 of 36 and 12 of 12; `unseen68`, what people write, 28 of 30 (failures 19 of 20, trends 9 of 10) and
/// 19 of 20 with 1 claim: the last two were scored after the first was mended. Since then they guard what was learnt.
#[test]
fn the_later_sets_of_texts_stay_right() {
    let mut wrong = Vec::new();
    let mut known: Vec<&str> = KNOWN.iter().map(|(name, _)| *name).collect();
    let sets = [
        ("unseen2", 290),
        ("unseen3", 360),
        ("unseen4", 499),
        ("unseen5", 434),
        ("unseen6", 287),
        ("unseen7", 311),
        ("unseen8", 207),
        ("unseen9", 217),
        ("unseen10", 123),
        ("unseen11", 112),
        ("unseen12", 74),
        ("unseen13", 85),
        ("unseen14", 130),
        ("unseen15", 130),
        ("unseen16", 130),
        ("unseen17", 150),
        ("unseen18", 120),
        ("unseen19", 160),
        ("unseen20", 90),
        ("unseen21", 120),
        ("unseen22", 100),
        ("unseen23", 107),
        ("unseen24", 80),
        ("unseen25", 140),
        ("unseen26", 150),
        ("unseen27", 40),
        ("unseen28", 150),
        ("unseen29", 90),
        ("unseen30", 150),
        ("unseen31", 150),
        ("unseen32", 120),
        ("unseen33", 120),
        ("unseen34", 150),
        ("unseen35", 150),
        ("unseen36", 130),
        ("unseen37", 150),
        ("unseen38", 140),
        ("unseen39", 160),
        ("unseen40", 160),
        ("unseen41", 200),
        ("unseen42", 200),
        ("unseen43", 210),
        ("unseen44", 150),
        ("unseen45", 160),
        ("unseen46", 160),
        ("unseen47", 120),
        ("unseen48", 110),
        ("unseen49", 140),
        ("unseen50", 150),
        ("unseen51", 120),
        ("unseen52", 120),
        ("unseen53", 120),
        ("unseen54", 145),
        ("unseen55", 90),
        ("unseen56", 140),
        ("unseen57", 130),
        ("unseen58", 120),
        ("unseen59", 120),
        ("unseen60", 150),
        ("unseen61", 150),
        ("unseen62", 150),
        ("unseen63", 150),
        ("unseen64", 90),
        ("unseen65", 110),
        ("unseen66", 52),
        ("unseen67", 48),
        ("unseen68", 50),
    ];
    for (set, least) in sets {
        let cases = cases(set);
        assert!(cases.len() >= least, "only {} cases in {set}", cases.len());
        for case in cases {
            let found = findings(case.text.as_bytes());
            let fares = fares(&case, &found);
            match known.iter().position(|name| *name == case.name) {
                // An accepted failure never claims what did not happen, and leaves the list once it is right.
                Some(at) if !["right", "false claim"].contains(&fares) => {
                    known.swap_remove(at);
                }
                None if fares == "right" => {}
                _ => wrong.push(format!("{fares}: {set}: {}: {:?}", case.name, case.wrong(&found))),
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(known.is_empty(), "not in the sets: {known:?}");
}

fn judged(folder: &str, least: usize) -> Vec<String> {
    let cases = cases(folder);
    assert!(cases.len() >= least, "only {} cases in {folder}", cases.len());
    let wrong = cases.iter().map(|case| case.wrong(&findings(case.text.as_bytes())));
    let (who, wrong): (Vec<_>, Vec<_>) = wrong.flatten().partition(|(who, _)| *who);
    let asked = cases.iter().filter(|case| case.truth.contains_key("who")).count();
    // The software that asked is known for nearly all cases; a bare line does not reveal it.
    assert!(who.len() * 20 <= asked, "{who:#?}");
    wrong.into_iter().map(|(_, wrong)| wrong).collect()
}

#[test]
fn texts_that_were_written_without_sight_of_the_patterns_are_right() {
    let wrong = judged("unseen", 350);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `watched` is what tools print that watch a program which keeps memory, and one which does not (`make_watched.py`).
#[test]
fn what_tools_print_that_watch_a_program_is_right() {
    const MISSED: [&str; 5] = [
        "tools/t-lua_count",
        "tools/t-mono_gc",
        "tools/t-node_trace_gc",
        "tools/t-php_usage",
        "tools/t-tracemalloc_traced",
    ];
    let mut missed = Vec::new();
    for case in cases("watched") {
        match fares(&case, &findings(case.text.as_bytes())) {
            "right" => {}
            fares => {
                assert!(fares != "false claim", "{}", case.name);
                missed.push(case.name);
            }
        }
    }
    missed.sort_unstable();
    assert_eq!(missed, MISSED);
}

#[test]
fn what_programs_printed_that_ran_out_of_memory_is_right() {
    let wrong = judged("made", 20);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `siblings` has what programs print beside the wordings of the other sets: other versions, languages and hosts.
#[test]
fn wordings_beside_those_of_the_sets_are_right() {
    let wrong = judged("siblings", 80);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `people` is what people write, reports and mentions with the same words, growth and steady work with the same figures:
/// what `learn.py` learns most from. Ordinary words alone are seldom certain: reports may be missed, but few mentions
/// claimed.
#[test]
fn what_people_report_is_found_and_what_they_mention_is_not() {
    /// The authors who wrote last, long posts most of them.
    const LATER: [&str; 13] = [
        "reports14",
        "reports15",
        "reports16",
        "reports17",
        "reports18",
        "mentions14",
        "mentions15",
        "mentions16",
        "mentions17",
        "mentions18",
        "growth6",
        "growth7",
        "steady6",
    ];
    let (later, cases): (Vec<Case>, Vec<Case>) =
        cases("people").into_iter().partition(|case| LATER.iter().any(|files| case.name.starts_with(files)));
    let counted = |cases: &[Case]| {
        let fare = |files: &str| -> Vec<bool> {
            let of = cases.iter().filter(|case| case.name.starts_with(files));
            of.map(|case| fares(case, &findings(case.text.as_bytes())) == "right").collect()
        };
        let [right, growth] = ["reports", "growth"].map(|files| fare(files).into_iter().filter(|right| *right).count());
        let [claimed, steady] =
            ["mentions", "steady"].map(|files| fare(files).into_iter().filter(|right| !right).count());
        (cases.len(), right, growth, claimed, steady)
    };
    let found @ (all, reports, growth, mentions, steady) = counted(&cases);
    assert!(all == 6460 && reports >= 1500 && growth >= 610 && mentions <= 38 && steady <= 24, "{found:?}");
    let found @ (all, reports, growth, mentions, steady) = counted(&later);
    assert!(all == 695 && reports >= 200 && growth >= 42 && mentions <= 16 && steady <= 5, "{found:?}");
}

#[test]
fn what_people_and_programs_say_about_memory_is_no_event() {
    let wrong = judged("talk", 230);
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// Advice about devices never answers a host failure, nor the reverse, and nobody gets the settings of other software.
#[test]
fn advice_fits_the_side_and_who_asks() {
    let device =
        ["per_device_train_batch_size", "LoRA", "nvidia-smi", "-ngl", "gpu_memory_utilization", "expandable_segments"];
    let host = ["num_workers", "-Xmx", "--max-old-space-size", "/dev/shm", "ulimit"];
    for case in ["unseen", "made"].into_iter().flat_map(cases) {
        for event in findings(case.text.as_bytes()).events {
            let forbidden: &[&str] = if event.kind == Kind::VramOom { &host } else { &device };
            let first: Vec<&str> = event.advice.iter().take(3).map(|advice| advice.what.as_str()).collect();
            for words in forbidden {
                // llama.cpp may move layers in either direction.
                let either_way = matches!(event.software.as_deref(), Some("llama.cpp" | "ollama"));
                assert!(
                    either_way || !first.iter().any(|what| what.contains(words)),
                    "{}: {words}: {first:?}",
                    case.name
                );
            }
            // A report of figures without a problem needs no action.
            let calls = event.verdict != Verdict::ReportOnly;
            assert!(!calls || !event.advice.is_empty(), "{}: no advice", case.name);
            let torch =
                ["pytorch", "hf", "deepspeed", "megatron", "lightning", "mmengine", "ultralytics", "bitsandbytes"];
            if !event.software.as_deref().is_none_or(|name| torch.contains(&name)) {
                assert!(event.advice.iter().all(|advice| advice.rung.is_none()), "{}: {first:?}", case.name);
            }
        }
    }
}
