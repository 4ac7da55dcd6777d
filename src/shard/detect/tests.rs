use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

fn found(variables: &[(&str, &str)]) -> Result<Found, LauncherError> {
    given(variables, None)
}

fn given(variables: &[(&str, &str)], count: Option<u32>) -> Result<Found, LauncherError> {
    let variables: BTreeMap<&str, &str> = variables.iter().copied().collect();
    detect(|name| variables.get(name).map(|&value| value.to_owned()), count.and_then(NonZeroU32::new))
}

/// Variables of one process, as `NAME=VALUE ..`.
fn pairs(text: &str) -> Vec<(&str, &str)> {
    text.split_whitespace().map(|pair| pair.split_once('=').unwrap()).collect()
}

#[test]
fn every_launcher_numbers_its_processes() {
    for (launcher, variables, rank, ranks) in [
        ("torchrun", "RANK=3 WORLD_SIZE=8 LOCAL_RANK=1", 3, 8),
        ("Open MPI", "OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=8 PMIX_RANK=3", 3, 8),
        ("MVAPICH", "MV2_COMM_WORLD_RANK=0 MV2_COMM_WORLD_SIZE=2", 0, 2),
        ("PMI", "PMI_RANK=1 PMI_SIZE=2", 1, 2),
        ("Slurm step", "SLURM_PROCID=7 SLURM_NTASKS=8 SLURM_JOB_ID=1 SLURM_STEP_ID=0 PMIX_RANK=7", 7, 8),
        ("Slurm step", "SLURM_PROCID=7 SLURM_NTASKS=8", 7, 8),
        // `srun --preserve-env -n 4` in a job of 8 tasks.
        (
            "Slurm step",
            "SLURM_PROCID=3 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=4 SLURM_JOB_ID=1 SLURM_STEP_ID=2 SLURM_NODEID=1 \
             SLURM_LOCALID=1 SLURM_GTIDS=2,3 SLURM_TASKS_PER_NODE=4(x2) SLURM_STEP_TASKS_PER_NODE=2(x2)",
            3,
            4,
        ),
        ("Slurm step", "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=1 SLURM_JOB_ID=1 SLURM_STEP_ID=2", 0, 1),
        ("Slurm step", "SLURM_PROCID=7 SLURM_NTASKS=4 SLURM_STEP_NUM_TASKS=8", 7, 8),
        ("Flux", "FLUX_TASK_RANK=2 FLUX_JOB_SIZE=4", 2, 4),
        (
            "Slurm array",
            "SLURM_ARRAY_TASK_ID=16 SLURM_ARRAY_TASK_MIN=10 SLURM_ARRAY_TASK_MAX=18 SLURM_ARRAY_TASK_STEP=2 \
             SLURM_ARRAY_TASK_COUNT=5",
            3,
            5,
        ),
        ("Grid Engine array", "SGE_TASK_ID=3 SGE_TASK_FIRST=1 SGE_TASK_LAST=4 SGE_TASK_STEPSIZE=1", 2, 4),
        // Slurm's step is 0 if an array has one id.
        (
            "Slurm array",
            "SLURM_ARRAY_TASK_ID=5 SLURM_ARRAY_TASK_MIN=5 SLURM_ARRAY_TASK_MAX=5 SLURM_ARRAY_TASK_STEP=0 \
             SLURM_ARRAY_TASK_COUNT=1",
            0,
            1,
        ),
        ("JSM (jsrun)", "JSM_NAMESPACE_RANK=3 JSM_NAMESPACE_SIZE=8", 3, 8),
        ("HTCondor parallel job", "_CONDOR_PROCNO=1 _CONDOR_NPROCS=4", 1, 4),
        ("Heroku CI", "CI_NODE_INDEX=0 CI_NODE_TOTAL=4 HEROKU_TEST_RUN_ID=1", 0, 4),
        ("LSF array", "LSB_JOBINDEX=2 LSB_JOBINDEX_END=6 LSB_JOBINDEX_STEP=1", 1, 6),
        ("AWS Batch array", "AWS_BATCH_JOB_ARRAY_INDEX=0 AWS_BATCH_JOB_ARRAY_SIZE=12", 0, 12),
        ("AWS Batch nodes", "AWS_BATCH_JOB_NODE_INDEX=2 AWS_BATCH_JOB_NUM_NODES=3", 2, 3),
        ("Google Batch", "BATCH_TASK_INDEX=2 BATCH_TASK_COUNT=3", 2, 3),
        ("Cloud Run job", "CLOUD_RUN_TASK_INDEX=4 CLOUD_RUN_TASK_COUNT=5", 4, 5),
        ("GitLab parallel", "CI_NODE_INDEX=1 CI_NODE_TOTAL=4", 0, 4),
        ("CircleCI", "CIRCLE_NODE_INDEX=3 CIRCLE_NODE_TOTAL=4", 3, 4),
        ("Buildkite", "BUILDKITE_PARALLEL_JOB=0 BUILDKITE_PARALLEL_JOB_COUNT=4", 0, 4),
        ("Semaphore", "SEMAPHORE_JOB_INDEX=4 SEMAPHORE_JOB_COUNT=4", 3, 4),
        ("Azure Pipelines", "SYSTEM_JOBPOSITIONINPHASE=2 SYSTEM_TOTALJOBSINPHASE=3", 1, 3),
        ("Bitbucket Pipelines", "BITBUCKET_PARALLEL_STEP=1 BITBUCKET_PARALLEL_STEP_COUNT=3", 1, 3),
    ] {
        let found = found(&pairs(variables)).unwrap_or_else(|error| panic!("{launcher}: {error}"));
        assert_eq!((found.launcher, found.rank, found.ranks), (launcher, rank, ranks));
    }
    let kubernetes = given(&[("JOB_COMPLETION_INDEX", "3")], Some(8)).unwrap();
    assert_eq!((kubernetes.launcher, kubernetes.rank, kubernetes.ranks), ("Kubernetes indexed Job", 3, 8));
    for (launcher, variable) in [("PBS array", "PBS_ARRAY_INDEX"), ("Torque array", "PBS_ARRAYID")] {
        let found = given(&[(variable, "1")], Some(2)).unwrap();
        assert_eq!((found.launcher, found.rank, found.ranks), (launcher, 1, 2));
    }
}

#[test]
fn the_innermost_launcher_with_several_processes_decides() {
    let within = "RANK=5 WORLD_SIZE=8 LOCAL_RANK=1 LOCAL_WORLD_SIZE=4 GROUP_RANK=1 SLURM_PROCID=1 SLURM_NTASKS=2 \
                  SLURM_LOCALID=0 SLURM_NODEID=1 CI_NODE_INDEX=1 CI_NODE_TOTAL=3";
    let found_within = found(&pairs(within)).unwrap();
    assert_eq!((found_within.launcher, found_within.rank, found_within.ranks), ("torchrun", 5, 8));
    assert_eq!((found_within.local_rank, found_within.node_ranks, found_within.node), (Some(1), Some(4), Some(1)));
    let unused: Vec<_> = found_within.unused.iter().map(|other| (other.launcher, other.rank, other.ranks)).collect();
    assert_eq!(unused, [("Slurm step", 1, Some(2)), ("GitLab parallel", 0, Some(3))]);
    let one =
        "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_LOCAL_RANK=0 SLURM_PROCID=1 SLURM_NTASKS=2";
    assert_eq!(found(&pairs(one)).unwrap().launcher, "Slurm step");
    let all_one = found(&pairs("RANK=0 WORLD_SIZE=1")).unwrap();
    assert_eq!((all_one.rank, all_one.ranks), (0, 1));
    // GitLab sets the count of a job that is not parallel, and no index.
    assert!(matches!(found(&pairs("CI_NODE_TOTAL=1")), Err(LauncherError::NoLauncher { .. })));
    // An array's script runs once a task, however many tasks of a step it could start.
    let array = "SLURM_JOB_ID=9 SLURM_NTASKS=4 SLURM_PROCID=0 SLURM_ARRAY_TASK_ID=1 SLURM_ARRAY_TASK_MIN=0 \
                 SLURM_ARRAY_TASK_MAX=2 SLURM_ARRAY_TASK_STEP=1 SLURM_ARRAY_TASK_COUNT=3";
    assert_eq!(found(&pairs(array)).unwrap().launcher, "Slurm array");
}

#[test]
fn numbers_that_are_missing_contradict_or_make_no_sense_are_errors() {
    for (variables, count, says) in [
        (
            "RANK=3",
            None,
            "torchrun says that this is process 3 (RANK) but not of how many: give the number of shards, --shard auto/N",
        ),
        ("WORLD_SIZE=8", None, "torchrun sets WORLD_SIZE but not RANK"),
        ("RANK=8 WORLD_SIZE=8", None, "RANK=`8` is not an index of one of its 8 processes"),
        ("RANK=-1 WORLD_SIZE=8", None, "RANK=`-1` is not a number from 0"),
        ("RANK=one WORLD_SIZE=8", None, "RANK=`one` is not a number"),
        ("RANK=0 WORLD_SIZE=0", None, "WORLD_SIZE=`0` is not a count above 0"),
        ("RANK=0 WORLD_SIZE=99999999999", None, "WORLD_SIZE=`99999999999` is not a number"),
        ("CI_NODE_INDEX=0 CI_NODE_TOTAL=4", None, "CI_NODE_INDEX=`0` is not an index from 1"),
        ("CI_NODE_INDEX=5 CI_NODE_TOTAL=4", None, "CI_NODE_INDEX=`5` is not an index of one of its 4"),
        ("JOB_COMPLETION_INDEX=3", None, "Kubernetes indexed Job says that this is process 3 (JOB_COMPLETION_INDEX)"),
        ("JOB_COMPLETION_INDEX=3", Some(3), "JOB_COMPLETION_INDEX=`3` is not below the 3 requested shards"),
        ("RANK=1 WORLD_SIZE=8", Some(4), "the 8 processes of torchrun and the 4 requested shards contradict"),
        (
            "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 PMI_RANK=1 PMI_SIZE=8",
            None,
            "process 1 of 4 by Open MPI (OMPI_COMM_WORLD_RANK) and process 1 of 8 by PMI (PMI_RANK) contradict each other",
        ),
        ("OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4 PMIX_RANK=2", None, "process 2 by PMIx (PMIX_RANK)"),
        (
            "SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=1 SLURM_ARRAY_TASK_MAX=7 SLURM_ARRAY_TASK_STEP=2 \
             SLURM_ARRAY_TASK_COUNT=3",
            None,
            "SLURM_ARRAY_TASK_COUNT=`3` is not the number of ids from 1 to 7 by 2, which is 4: ids must be evenly spaced",
        ),
        ("SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_MIN=1", None, "sets SLURM_ARRAY_TASK_ID but not SLURM_ARRAY_TASK_MAX"),
        (
            "RANK=0 WORLD_SIZE=4 LOCAL_RANK=2 LOCAL_WORLD_SIZE=2",
            None,
            "LOCAL_RANK=`2` is not below the 2 processes of the node",
        ),
        ("", None, "no launcher says which shard this is: none of the variables"),
        ("GITHUB_ACTIONS=true", None, "write --shard ${{ matrix.shard }}/${{ strategy.job-total }}"),
        ("JENKINS_URL=x", None, "name the shard in each stage"),
        (
            "SLURM_JOB_ID=1 SLURM_NTASKS=8 SLURM_PROCID=0",
            None,
            "Slurm gave this job 8 tasks, and this process is in none of its steps",
        ),
        ("SLURM_NTASKS=8", None, "start it with srun"),
        (
            "SLURM_PROCID=4 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=4",
            None,
            "SLURM_PROCID=`4` is not an index of one of its 4 processes",
        ),
        (
            "SLURM_PROCID=0 SLURM_NTASKS=8 SLURM_STEP_NUM_TASKS=0",
            None,
            "SLURM_STEP_NUM_TASKS=`0` is not a count above 0",
        ),
        // The shell that `salloc -n 8` opens on a node.
        (
            "SLURM_JOB_ID=1 SLURM_NTASKS=8 SLURM_PROCID=0 SLURM_STEP_ID=4294967290 SLURM_STEP_NUM_TASKS=1",
            None,
            "Slurm gave this job 8 tasks, and this process is in none of its steps",
        ),
        // A script that a task of a step of 2 has submitted.
        (
            "SLURM_JOB_ID=2 SLURM_NTASKS=8 SLURM_PROCID=0 SLURM_GTIDS=0 SLURM_NODEID=0 SLURM_STEP_ID=0 \
             SLURM_STEP_NUM_TASKS=2 SLURM_STEP_TASKS_PER_NODE=2",
            None,
            "Slurm gave this job 8 tasks, and this process is in none of its steps",
        ),
    ] {
        let error = given(&pairs(variables), count).unwrap_err().to_string();
        assert!(error.contains(says), "{variables}: {error}");
    }
}

#[test]
fn tasks_of_a_node_are_read_as_slurm_writes_them() {
    let of = |text: &str| (0..5).map(|node| tasks_of(text, node)).collect::<Vec<_>>();
    assert_eq!(of("2(x3),1"), [Some(2), Some(2), Some(2), Some(1), None]);
    assert_eq!(of("4"), [Some(4), None, None, None, None]);
    assert_eq!(of("x(xy),("), [None; 5]);
}

/// A value of a variable: mostly a small number, sometimes something else.
fn value() -> impl Strategy<Value = String> {
    prop_oneof![8 => (0u32..6).prop_map(|n| n.to_string()), 1 => "[-a-z0-9 ]{0,4}", 1 => Just("4294967295".to_owned())]
}

proptest! {
    #[test]
    fn whatever_is_set_the_process_is_one_of_those_that_there_are(
        chosen in prop::collection::vec((0usize..LAUNCHERS.len(), value(), value(), value(), value()), 0..4),
        count in prop::option::of(1u32..6),
    ) {
        let mut variables = BTreeMap::new();
        for (row, one, two, three, four) in chosen {
            let names = match LAUNCHERS[row].numbers {
                Numbers::Counted { index, count, .. } => vec![Some(index), Some(count)],
                Numbers::Uncounted { index, .. } => vec![Some(index)],
                Numbers::Span { id, min, max, count, .. } => vec![Some(id), min, Some(max), count],
            };
            variables.extend(names.into_iter().flatten().zip([one, two, three, four]));
        }
        let of = |given| detect(|name| variables.get(name).cloned(), given);
        let found = of(count.and_then(NonZeroU32::new));
        if let Ok(found) = &found {
            prop_assert!(found.rank < found.ranks);
            prop_assert!(count.is_none_or(|count| count == found.ranks));
            prop_assert!(found.variables.iter().all(|(name, value)| variables[name] == *value));
        }
        prop_assert_eq!(of(count.and_then(NonZeroU32::new)), found);
    }

    #[test]
    fn the_processes_of_a_launcher_have_each_number_once(row in 0usize..LAUNCHERS.len(), count in 1u32..9, step in 1u64..4, least in 1u64..5) {
        let mut ranks = Vec::new();
        for process in 0..u64::from(count) {
            let mut variables = BTreeMap::new();
            match LAUNCHERS[row].numbers {
                Numbers::Counted { index, first, count: name } => {
                    variables.extend([(index, process + first), (name, count.into())]);
                }
                Numbers::Uncounted { index, first } => drop(variables.insert(index, process + first)),
                Numbers::Span { id, min, max, step: by, count: name } => {
                    let (step, least) = (by.map_or(1, |_| step), min.map_or(1, |_| least));
                    let last = least + (u64::from(count) - 1) * step;
                    let named = [(Some(id), least + process * step), (min, least), (Some(max), last), (by, step), (name, count.into())];
                    variables.extend(named.into_iter().filter_map(|(name, value)| Some((name?, value))));
                }
            }
            if let Some((marker, true)) = LAUNCHERS[row].marker {
                variables.entry(marker).or_insert(1);
            }
            let given = matches!(LAUNCHERS[row].numbers, Numbers::Uncounted { .. }).then_some(count).and_then(NonZeroU32::new);
            let found = detect(|name| variables.get(name).map(u64::to_string), given).unwrap();
            prop_assert_eq!((found.launcher, found.ranks), (LAUNCHERS[row].name, count));
            ranks.push(found.rank);
        }
        prop_assert_eq!(ranks, (0..count).collect::<Vec<_>>());
    }
}
