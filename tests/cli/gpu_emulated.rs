//! Kernels on an emulated GPU: uploads, sharing, accounting, protocols, honesty, faults.

use std::path::Path;
use std::process::Command;

use plimsoll::ByteSize;
use plimsoll::gpu::PlaceKind;
use plimsoll::meter::Metric;
use plimsoll::record::{Failure, FailureKind, Record, VerdictStatus};

use crate::emulation::{device_kernels, log, on_emulation};
use crate::library::built;
use crate::support::{Scene, kernel, plimsoll, run, torch_python};

/// The bytes of an entry's table and of its indices.
const TABLE: u64 = 512 * 64 * 2;
const INDICES: u64 = 32 * 8;
const OUTPUT: u64 = 32 * 64 * 2;

fn command(scene: &Scene, part: &str, library: &Path, name: &str) -> Command {
    let mut command = scene.command(part);
    command.args(["--kernel", &format!("lib:{}:{name}", library.display()), "--device", "cuda"]);
    command.args(["--launches", "3", "--warmup", "1"]);
    on_emulation(scene, &mut command);
    command
}

fn failures(record: &Record) -> Vec<Option<FailureKind>> {
    record.results.entries.iter().map(|entry| entry.failure().map(|failure| failure.kind)).collect()
}

fn first_failure(record: &Record) -> Failure {
    record.results.entries.iter().find_map(|entry| entry.failure().cloned()).expect("an entry failed")
}

#[test]
fn the_devices_are_listed() {
    let scene = Scene::new(1);
    let (code, out, err) = run(on_emulation(&scene, &mut plimsoll()).args(["devices", "--json"]));
    assert_eq!(code, 0, "{err}");
    let found: serde_json::Value = serde_json::from_str(&out).unwrap();
    assert_eq!(found["devices"][0]["name"], "Emulated device 0 (host memory)");
    assert_eq!(
        (&found["devices"][0]["cuda"], &found["devices"][0]["compute_capability"]),
        (&"12.9".into(), &"9.0".into())
    );
    let mut command = plimsoll();
    let (code, _, err) = run(on_emulation(&scene, &mut command).args(["devices", "--device", "cuda:2"]));
    assert_eq!((code, err.as_str()), (3, "error: there is no device cuda:2: the driver reports 1, counted from 0\n"));
    let mut command = plimsoll();
    let (code, _, err) = run(on_emulation(&scene, &mut command).env("EMULATED_CUDA_DEVICES", "0").arg("devices"));
    assert_eq!(code, 3);
    assert!(err.starts_with("error: no NVIDIA GPU found"), "{err}");
    // A code that no driver uses yet.
    let mut command = plimsoll();
    let (code, _, err) = run(on_emulation(&scene, &mut command).env("EMULATED_CUDA_START", "12345").arg("devices"));
    assert_eq!(code, 3);
    assert_eq!(err, "error: the NVIDIA driver does not start: CUDA error 12345: the driver does not describe it\n");
}

#[test]
fn a_kernel_is_checked_on_the_device_and_its_memory_is_counted() {
    let scene = Scene::new(3);
    let library = device_kernels(&scene);
    let (code, record) = scene.run(&mut command(&scene, "check", &library, "embedding"));
    assert_eq!(code, 0, "{:#?}", record.results);
    assert_eq!(record.semantics.capture().unwrap().device, PlaceKind::Cuda);
    let gpu = &record.environment.gpus[0];
    assert_eq!((gpu.name.as_str(), gpu.memory), ("Emulated device 0 (host memory)", Some(ByteSize::gib(1))));
    for entry in &record.results.entries {
        let (validation, profile) = (entry.validation.as_ref().unwrap(), entry.profile.as_ref().unwrap());
        for device in [validation.device.unwrap(), profile.device.unwrap()] {
            assert_eq!((device.inputs.bytes(), device.outputs.bytes()), (TABLE + INDICES, OUTPUT));
            assert_eq!(device.growth, Some(ByteSize::ZERO));
        }
        assert!(profile.statistics.unwrap().mean_ns > 0.0);
    }
    let pinned = log(&scene, "pinned");
    assert!(pinned.chunks(4).all(|ring| ring.iter().sum::<u64>() == 64 << 20), "{pinned:?}");
}

#[test]
fn a_storage_that_entries_share_is_uploaded_once() {
    let scene = Scene::new(3);
    let library = device_kernels(&scene);
    let store = scene.path("store");
    let (code, _, err) = run(plimsoll().arg("pack").arg(scene.capture()).arg("--out").arg(&store));
    assert_eq!(code, 0, "{err}");
    let mut profile = plimsoll();
    profile.arg("profile").arg(&store).arg("--record").arg(scene.record());
    profile.args(["--kernel", &format!("lib:{}:embedding", library.display()), "--device", "cuda"]);
    profile.args(["--launches", "3", "--warmup", "1"]);
    let (code, record) = scene.run(on_emulation(&scene, &mut profile));
    // Alterations for one entry are undone for the next; otherwise it would be reported as mutated.
    assert_eq!(code, 0, "{:#?}", record.results);
    // Once each for the first entry, which is alone, and for the batch, and once more for each launch at other
    // addresses, of which an honest kernel has two per entry. Before one of them, and at the timed addresses, the table
    // is altered.
    let uploads = log(&scene, "upload");
    let count = |bytes| uploads.iter().filter(|&&upload| upload == bytes).count();
    assert_eq!((count(TABLE), count(INDICES)), (2 + 3 * 4, 3 + 3 * 2), "{uploads:?}");
    // The table once, the indices, one output, and room to move each.
    let most = log(&scene, "held").into_iter().max().unwrap();
    assert!(most < 2 * TABLE, "{most} bytes were held");
}

#[test]
fn what_a_kernel_takes_besides_counts_to_the_cap_once_a_launch_has_shown_it() {
    let scene = Scene::new(3);
    let library = device_kernels(&scene);
    let (entry, workspace) = (ByteSize::new(TABLE + INDICES + OUTPUT), ByteSize::new(256 << 10));
    let batches = |record: &Record| {
        let batching = record.policy.capture().unwrap().batching.clone().unwrap();
        batching.batches.iter().map(|b| (b.count, b.bytes, b.workspace, b.over_cap)).collect::<Vec<_>>()
    };
    let run = |part: &str, kernel: &str, more: &[&str]| {
        scene.run(command(&scene, part, &library, kernel).arg("--batch-bytes").args(more))
    };
    // Room for one entry besides the workspace, and for three without.
    let (code, record) = run("check", "workspace", &["350KiB"]);
    assert_eq!((code, batches(&record)), (0, vec![(1, entry + workspace, Some(workspace), false); 3]));
    let (_, record) = run("check", "embedding", &["350KiB"]);
    assert_eq!(batches(&record), [(3, entry + entry + entry, None, false)]);
    // If nothing was launched before, the first entry reveals it.
    let (code, record) = run("profile", "workspace", &["350KiB"]);
    let after = (1, entry + workspace, Some(workspace), false);
    assert_eq!((code, batches(&record)), (0, vec![(1, entry, None, false), after, after]));
    // An entry that exceeds the cap with it gets its own marked batch, or is refused.
    let (code, record) = run("check", "workspace", &["300KiB"]);
    assert_eq!((code, batches(&record)), (0, vec![(1, entry + workspace, Some(workspace), true); 3]));
    let (code, record) = run("check", "workspace", &["300KiB", "--over-cap", "refuse"]);
    let reason = record.results.entries[0].profile.as_ref().unwrap().not_run.clone().unwrap();
    assert_eq!(code, 3, "{:#?}", record.verdicts);
    assert!(
        reason.contains("with the 256.00 KiB that the kernel takes in addition, over the cap of 300.00 KiB"),
        "{reason}"
    );
}

#[test]
fn protocols_time_with_events_and_a_flush_is_outside_of_them() {
    let scene = Scene::new(1);
    let library = device_kernels(&scene);
    for (protocol, samples, fills) in [("kernelforge", 1, 0), ("samples", 3, 0), ("cold", 3, 3)] {
        let mut profile = command(&scene, "profile", &library, "embedding");
        let (code, record) = scene.run(profile.args(["--protocol", protocol]));
        assert_eq!(code, 0, "{:#?}", record.results);
        let timed = record.results.entries[0].profile.as_ref().unwrap();
        assert_eq!(timed.samples_ns.len(), samples, "{protocol}");
        assert!(timed.samples_ns.iter().all(|&ns| ns > 0.0), "{protocol}: {:?}", timed.samples_ns);
        // Twice the emulated L2 of 1 MiB is less than the minimum that is written.
        assert_eq!(log(&scene, "fill").into_iter().filter(|&bytes| bytes == 256 << 20).count(), fills, "{protocol}");
        assert_eq!(timed.flush.is_some(), protocol == "cold");
    }
}

#[test]
fn work_on_another_stream_is_found_where_nothing_waits_for_it() {
    let scene = Scene::new(1);
    let library = device_kernels(&scene);
    // Through the driver's event of all streams, and if the driver refuses it.
    for (part, refused) in [("validate", "0"), ("profile", "0"), ("validate", "1"), ("profile", "1")] {
        let mut launched = command(&scene, part, &library, "side_stream");
        let (code, record) = scene.run(launched.env("EMULATED_CUDA_NO_EVENT", refused));
        let failure = first_failure(&record);
        assert_eq!((code, failure.kind), (1, FailureKind::LateWrite), "{part}");
        assert!(failure.message.contains("the kernel works on a stream of its own"), "{}", failure.message);
        assert_eq!(log(&scene, "whole").is_empty(), refused == "1");
    }
}

#[test]
fn a_device_whose_turns_others_take_accuses_no_kernel() {
    let scene = Scene::new(4);
    let library = device_kernels(&scene);
    // Each time, or so rarely that it is not seen again if nothing is launched.
    for turns in ["1", "20"] {
        let mut check = command(&scene, "check", &library, "embedding");
        let (code, record) = scene.run(check.env("EMULATED_CUDA_SHARED", turns));
        assert_eq!((code, failures(&record)), (0, vec![None; 4]), "{turns}: {:#?}", record.results);
    }
}

#[test]
fn a_device_that_another_process_has_to_itself_is_not_measured() {
    let scene = Scene::new(1);
    let library = device_kernels(&scene);
    let mut check = command(&scene, "check", &library, "embedding");
    let (code, out, err) = run(check.env("EMULATED_CUDA_EXCLUSIVE", "1"));
    assert_eq!((code, out.as_str()), (3, ""), "{err}");
    assert!(err.starts_with("error: the GPU cannot be used: CUDA_ERROR_DEVICE_UNAVAILABLE"), "{err}");
    assert!(err.contains("nvidia-smi -q -d COMPUTE"), "{err}");
}

#[test]
fn work_that_does_not_wait_for_the_stream_is_found_however_short_it_is() {
    let scene = Scene::new(2);
    let library = device_kernels(&scene);
    let (code, record) = scene.run(&mut command(&scene, "profile", &library, "unordered"));
    let failure = first_failure(&record);
    assert_eq!((code, failure.kind), (1, FailureKind::LateWrite), "{:#?}", record.results);
    assert!(failure.message.contains("while the stream that it is given was held"), "{}", failure.message);

    let (code, record) = scene.run(&mut command(&scene, "profile", &library, "embedding"));
    assert_eq!(code, 0, "{:#?}", record.results);
    let (gates, launches) = (log(&scene, "host").len(), log(&scene, "held_launch").len());
    assert!(gates == 2 && (2..=64).contains(&launches), "{launches} launches in {gates} streams that were held");

    // A kernel that waits in its launch cannot be held, but every entry is still timed.
    let (code, record) = scene.run(&mut command(&scene, "profile", &library, "waits"));
    assert_eq!((code, log(&scene, "host").len()), (0, 1), "{:#?}", record.results);
}

#[test]
fn a_fault_ends_the_worker_and_fails_only_its_entry() {
    let scene = Scene::new(3);
    let library = device_kernels(&scene);
    let (code, record) = scene.run(&mut command(&scene, "validate", &library, "faults"));
    assert_eq!(code, 1);
    assert_eq!(failures(&record), [None, Some(FailureKind::DeviceFault), None]);
    let failure = first_failure(&record);
    assert!(failure.message.contains("CUDA_ERROR_ILLEGAL_ADDRESS: an illegal memory access"), "{}", failure.message);
    let mut profile = command(&scene, "profile", &library, "faults");
    let (code, record) = scene.run(&mut profile);
    assert_eq!((code, failures(&record)), (1, vec![Some(FailureKind::DeviceFault); 3]), "each worker launches twice");
    assert_eq!(record.releases.len(), 3);
}

#[test]
fn memory_that_the_device_lacks_is_typed() {
    let scene = Scene::new(2);
    let library = device_kernels(&scene);
    let mut validate = command(&scene, "validate", &library, "embedding");
    let (code, record) = scene.run(validate.env("EMULATED_CUDA_MEMORY", "50000"));
    assert_eq!((code, failures(&record)), (1, vec![Some(FailureKind::DeviceOom); 2]));
    let message = first_failure(&record).message;
    assert!(message.ends_with("of device memory: 48.83 KiB of 48.83 KiB are free"), "{message}");
    let mut validate = command(&scene, "validate", &library, "leaks");
    let (code, record) = scene.run(&mut validate);
    assert_eq!(code, 0);
    let growth = record.results.entries[0].validation.as_ref().unwrap().device.unwrap().growth;
    assert_eq!(growth, Some(ByteSize::mib(1)));
}

#[test]
fn adversaries_fail_on_the_device_as_they_do_on_the_cpu() {
    let scene = Scene::new(3);
    // Their memory is the host's in the emulation, so they need no changes.
    let library = built(&scene, "tests/kernels/library/adversaries.c");
    for (name, part, kind) in [
        ("zeros", "validate", None),
        ("returns_its_input", "validate", None),
        ("caches_by_address", "validate", Some(FailureKind::StaleOutput)),
        ("idles", "check", Some(FailureKind::StaleOutput)),
        ("looks_for_poison", "check", Some(FailureKind::StaleOutput)),
    ] {
        let (code, record) = scene.run(&mut command(&scene, part, &library, name));
        assert_eq!(code, 1, "{name}: {:#?}", record.verdicts);
        match kind {
            Some(kind) => assert_eq!(first_failure(&record).kind, kind, "{name}"),
            None => assert!(record.results.entries.iter().all(|entry| !entry.validation.as_ref().unwrap().passed())),
        }
    }
}

#[test]
fn what_is_kept_by_address_is_stale_on_a_capture_of_one_entry() {
    let scene = Scene::new(1);
    let library = device_kernels(&scene);
    for more in [&[][..], &["--graph"], &["--protocol", "cold"], &["--protocol", "until", "--max-time", "10ms"]] {
        let (code, record) = scene.run(command(&scene, "check", &library, "keeps_its_table").args(more));
        let failure = first_failure(&record);
        assert_eq!((code, failure.kind), (1, FailureKind::StaleOutput), "{more:?}: {}", failure.message);
        assert!(failure.message.contains("other values in its floating-point arguments"), "{}", failure.message);
        let (code, record) = scene.run(command(&scene, "check", &library, "embedding").args(more));
        assert_eq!(code, 0, "{more:?}: {:#?}", record.results);
    }
}

#[test]
fn the_peak_on_the_device_is_held_to_its_ceiling() {
    let scene = Scene::new(2);
    let library = device_kernels(&scene);
    for (limit, code, status) in [("1GiB", 0, VerdictStatus::Pass), ("16KiB", 1, VerdictStatus::Fail)] {
        let mut check = command(&scene, "check", &library, "embedding");
        let (found, record) = scene.run(check.args(["--gpu-peak", limit]));
        assert_eq!(found, code, "{:#?}", record.verdicts);
        let verdict = record.verdicts.iter().find(|verdict| verdict.subject.contains("gpu_peak")).unwrap();
        assert_eq!(verdict.status, status, "{verdict:?}");
        assert!(log(&scene, "stack").iter().all(|&bytes| bytes == 256), "the context takes little of it");
        assert!(!log(&scene, "stack").is_empty());
    }
    // A driver that hides processes: the growth of everyone's memory since before the first worker.
    for (limit, code) in [("1GiB", 0), ("8MiB", 1)] {
        let mut check = command(&scene, "check", &library, "embedding");
        check.env("EMULATED_NVML_PROCESSES", "4").env("EMULATED_CUDA_CONTEXT", "8388608");
        let (found, record) = scene.run(check.args(["--gpu-peak", limit]));
        assert_eq!(found, code, "{:#?}", record.verdicts);
        let reading = record.phases.iter().find_map(|phase| phase.readings.get(&Metric::GpuPeak)).unwrap();
        assert!(reading.counter.starts_with("NVML: memory in use on all devices, less"), "{}", reading.counter);
    }
    // Without a requested ceiling, a kernel has the same stack as elsewhere.
    assert_eq!(scene.run(&mut command(&scene, "check", &library, "embedding")).0, 0);
    assert_eq!(log(&scene, "stack"), [0; 0]);
}

#[test]
fn a_graph_of_one_launch_is_replayed() {
    let scene = Scene::new(1);
    let library = device_kernels(&scene);
    let mut profile = command(&scene, "profile", &library, "embedding");
    let (code, record) = scene.run(profile.arg("--graph"));
    assert_eq!(code, 0, "{:#?}", record.results);
    assert!(record.semantics.capture().unwrap().graph);
    // One before, three timed, one to check that it writes its output, and up to 31 more with it in the held stream;
    // and one on altered values.
    assert_eq!(log(&scene, "captured"), [1]);
    let replays = log(&scene, "graph_launch").len();
    assert!((6..=37).contains(&replays), "{replays} replays");
    // One kernel allocates what it keeps at its first launch, which is not the captured one; another at every launch.
    let (code, record) = scene.run(command(&scene, "profile", &library, "workspace").arg("--graph"));
    assert_eq!(code, 0, "{:#?}", record.results);
    let growth = record.results.entries[0].profile.as_ref().unwrap().device.unwrap().growth;
    assert_eq!(growth, Some(ByteSize::new(256 << 10)));
    let (code, record) = scene.run(command(&scene, "profile", &library, "leaks").arg("--graph"));
    assert_eq!((code, first_failure(&record).kind), (1, FailureKind::DeviceOom));
    // A kernel that launches on a stream other than its own.
    let (code, record) = scene.run(command(&scene, "profile", &library, "default_stream").arg("--graph"));
    assert_eq!((code, first_failure(&record).kind), (1, FailureKind::Exception));
    // A kernel whose work continues elsewhere: the driver detects it, however short it is.
    let (code, record) = scene.run(command(&scene, "profile", &library, "forks").arg("--graph"));
    let failure = first_failure(&record);
    assert_eq!((code, failure.kind), (1, FailureKind::LateWrite));
    assert!(failure.message.starts_with("the kernel forks from the stream that it is given"), "{}", failure.message);
    let adversaries = built(&scene, "tests/kernels/library/adversaries.c");
    let (code, record) = scene.run(command(&scene, "profile", &adversaries, "zeros").arg("--graph"));
    let failure = first_failure(&record);
    assert_eq!((code, failure.kind), (1, FailureKind::Unsupported));
    assert!(
        failure.message.ends_with("it put nothing into the stream that TVMFFIEnvGetStream returns"),
        "{}",
        failure.message
    );
    let (code, _, err) = run(scene.command("check").args(["--kernel", "builtin:embedding", "--graph"]));
    assert_eq!((code, err.as_str()), (2, "error: --graph is for kernels on a GPU: add --device cuda\n"));
}

#[test]
fn a_run_on_clocks_that_were_held_back_says_so() {
    let scene = Scene::new(1);
    let library = device_kernels(&scene);
    for (reasons, throttled) in [("0x1", &[][..]), ("0x4", &["software power cap"][..])] {
        let mut profile = command(&scene, "profile", &library, "embedding");
        let (code, record) = scene.run(profile.env("EMULATED_NVML_THROTTLE", reasons));
        assert_eq!(code, 0);
        let state = record.results.entries[0].profile.as_ref().unwrap().state.clone().unwrap();
        assert_eq!(state.throttled, throttled);
        assert_eq!((state.sm_clock_mhz.unwrap().most, state.memory_clock_mhz.unwrap().most), (1755, 3201));
        assert_eq!((state.temperature_c.unwrap().most, state.power_mw.unwrap().most), (61, 412_345));
        let said = record.verdicts.iter().any(|verdict| verdict.message.contains("clocks were held back"));
        assert_eq!(said, !throttled.is_empty(), "{:#?}", record.verdicts);
    }
}

#[test]
fn a_torch_that_sees_no_gpu_is_told_so() {
    let Some(python) = torch_python() else { return };
    let scene = Scene::new(1);
    let mut validate = scene.command("validate");
    validate.args(["--kernel", &kernel("torch_embedding"), "--device", "cuda", "--python"]).arg(&python);
    // KernelForge's kernels are audited without a flag, so that `--constant` is taken.
    let mut check = scene.command("check");
    let folder = concat!("kernelforge:", env!("CARGO_MANIFEST_DIR"), "/../tests/kernels/kernelforge/gelu");
    check.args(["--kernel", folder, "--device", "cuda", "--constant", "weight", "--python"]).arg(&python);
    for mut command in [validate, check] {
        let (code, out, err) = run(on_emulation(&scene, &mut command));
        assert_eq!((code, out.as_str()), (3, ""), "nothing was measured: {err}");
        assert!(err.contains("sees no GPU, and cuda:0 was asked for"), "{err}");
        assert!(!scene.record().exists());
    }
}
