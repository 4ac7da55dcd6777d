//! The launchers and the variables by which each numbers its processes.

/// How a launcher numbers its processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Numbers {
    /// An index, counted from `first`, and a count.
    Counted { index: &'static str, first: u64, count: &'static str },
    /// An index without a count, which the user has to give.
    Uncounted { index: &'static str, first: u64 },
    /// An id of an array, whose ids run from `min` to `max` by `step`. Without a variable for the minimum or the step,
    /// that is 1.
    Span {
        id: &'static str,
        min: Option<&'static str>,
        max: &'static str,
        step: Option<&'static str>,
        count: Option<&'static str>,
    },
}

/// A launcher.
#[derive(Clone, Copy, Debug)]
pub(super) struct Launcher {
    pub name: &'static str,
    /// Launchers of one level number the same processes and have to agree; a launcher of a lower level runs within one
    /// of a higher level.
    pub level: u8,
    pub numbers: Numbers,
    /// The index among the processes of the node, from 0.
    pub local: Option<&'static str>,
    /// The processes of the node.
    pub on_node: Option<&'static str>,
    /// The index of the node, from 0.
    pub node: Option<&'static str>,
    /// A variable that is set under this launcher (`true`), or is not (`false`), if another sets the same variables.
    pub marker: Option<(&'static str, bool)>,
}

/// Set in the runs of Heroku CI, which has GitLab's variables but counts from 0.
const HEROKU: &str = "HEROKU_TEST_RUN_ID";

const fn counted(level: u8, name: &'static str, index: &'static str, first: u64, count: &'static str) -> Launcher {
    Launcher::numbered(level, name, Numbers::Counted { index, first, count })
}

impl Launcher {
    const fn with_local(self, local: &'static str, on_node: Option<&'static str>, node: Option<&'static str>) -> Self {
        Self { local: Some(local), on_node, node, ..self }
    }

    const fn numbered(level: u8, name: &'static str, numbers: Numbers) -> Self {
        Self { name, level, numbers, local: None, on_node: None, node: None, marker: None }
    }

    const fn only_if(self, marker: &'static str) -> Self {
        Self { marker: Some((marker, true)), ..self }
    }

    const fn unless(self, marker: &'static str) -> Self {
        Self { marker: Some((marker, false)), ..self }
    }

    /// The variable that an index is read from.
    pub fn index(&self) -> &'static str {
        match self.numbers {
            Numbers::Counted { index, .. } | Numbers::Uncounted { index, .. } => index,
            Numbers::Span { id, .. } => id,
        }
    }
}

/// The rows that are also checked for a script that `sbatch` runs outside any step.
pub(super) const SLURM_STEP: &str = "Slurm step";

/// The tasks of the step. `SLURM_NTASKS` is that of the job under `srun --preserve-env`.
const SLURM_STEP_COUNT: &str = "SLURM_STEP_NUM_TASKS";

/// The tasks of each node of the step, as `2(x3),1`.
pub(super) const SLURM_STEP_TASKS: &str = "SLURM_STEP_TASKS_PER_NODE";

const fn slurm_step(count: &'static str) -> Launcher {
    counted(2, SLURM_STEP, "SLURM_PROCID", 0, count).with_local(
        "SLURM_LOCALID",
        Some(SLURM_STEP_TASKS),
        Some("SLURM_NODEID"),
    )
}

/// Every launcher, the innermost first: torchrun runs in processes that `mpirun` or `srun` started, a step in a job of
/// an array, a job in a run of a CI service.
pub(super) const LAUNCHERS: [Launcher; 27] = [
    counted(0, "torchrun", "RANK", 0, "WORLD_SIZE").with_local(
        "LOCAL_RANK",
        Some("LOCAL_WORLD_SIZE"),
        Some("GROUP_RANK"),
    ),
    counted(1, "Open MPI", "OMPI_COMM_WORLD_RANK", 0, "OMPI_COMM_WORLD_SIZE").with_local(
        "OMPI_COMM_WORLD_LOCAL_RANK",
        Some("OMPI_COMM_WORLD_LOCAL_SIZE"),
        None,
    ),
    counted(1, "MVAPICH", "MV2_COMM_WORLD_RANK", 0, "MV2_COMM_WORLD_SIZE").with_local(
        "MV2_COMM_WORLD_LOCAL_RANK",
        Some("MV2_COMM_WORLD_LOCAL_SIZE"),
        None,
    ),
    counted(1, "PMI", "PMI_RANK", 0, "PMI_SIZE").with_local("MPI_LOCALRANKID", Some("MPI_LOCALNRANKS"), None),
    counted(1, "JSM (jsrun)", "JSM_NAMESPACE_RANK", 0, "JSM_NAMESPACE_SIZE").with_local(
        "JSM_NAMESPACE_LOCAL_RANK",
        Some("JSM_NAMESPACE_LOCAL_SIZE"),
        None,
    ),
    Launcher::numbered(1, "PMIx", Numbers::Uncounted { index: "PMIX_RANK", first: 0 }),
    counted(2, "Flux", "FLUX_TASK_RANK", 0, "FLUX_JOB_SIZE").with_local("FLUX_TASK_LOCAL_ID", None, None),
    slurm_step(SLURM_STEP_COUNT).only_if(SLURM_STEP_COUNT),
    slurm_step("SLURM_NTASKS").unless(SLURM_STEP_COUNT),
    counted(2, "HTCondor parallel job", "_CONDOR_PROCNO", 0, "_CONDOR_NPROCS"),
    Launcher::numbered(
        3,
        "Slurm array",
        Numbers::Span {
            id: "SLURM_ARRAY_TASK_ID",
            min: Some("SLURM_ARRAY_TASK_MIN"),
            max: "SLURM_ARRAY_TASK_MAX",
            step: Some("SLURM_ARRAY_TASK_STEP"),
            count: Some("SLURM_ARRAY_TASK_COUNT"),
        },
    ),
    Launcher::numbered(
        3,
        "Grid Engine array",
        Numbers::Span {
            id: "SGE_TASK_ID",
            min: Some("SGE_TASK_FIRST"),
            max: "SGE_TASK_LAST",
            step: Some("SGE_TASK_STEPSIZE"),
            count: None,
        },
    ),
    Launcher::numbered(
        3,
        "LSF array",
        Numbers::Span {
            id: "LSB_JOBINDEX",
            min: None,
            max: "LSB_JOBINDEX_END",
            step: Some("LSB_JOBINDEX_STEP"),
            count: None,
        },
    ),
    Launcher::numbered(3, "PBS array", Numbers::Uncounted { index: "PBS_ARRAY_INDEX", first: 0 }),
    Launcher::numbered(3, "Torque array", Numbers::Uncounted { index: "PBS_ARRAYID", first: 0 }),
    counted(3, "AWS Batch array", "AWS_BATCH_JOB_ARRAY_INDEX", 0, "AWS_BATCH_JOB_ARRAY_SIZE"),
    counted(3, "AWS Batch nodes", "AWS_BATCH_JOB_NODE_INDEX", 0, "AWS_BATCH_JOB_NUM_NODES"),
    counted(3, "Google Batch", "BATCH_TASK_INDEX", 0, "BATCH_TASK_COUNT"),
    counted(3, "Cloud Run job", "CLOUD_RUN_TASK_INDEX", 0, "CLOUD_RUN_TASK_COUNT"),
    Launcher::numbered(3, "Kubernetes indexed Job", Numbers::Uncounted { index: "JOB_COMPLETION_INDEX", first: 0 }),
    counted(4, "GitLab parallel", "CI_NODE_INDEX", 1, "CI_NODE_TOTAL").unless(HEROKU),
    counted(4, "Heroku CI", "CI_NODE_INDEX", 0, "CI_NODE_TOTAL").only_if(HEROKU),
    counted(4, "CircleCI", "CIRCLE_NODE_INDEX", 0, "CIRCLE_NODE_TOTAL"),
    counted(4, "Buildkite", "BUILDKITE_PARALLEL_JOB", 0, "BUILDKITE_PARALLEL_JOB_COUNT"),
    counted(4, "Semaphore", "SEMAPHORE_JOB_INDEX", 1, "SEMAPHORE_JOB_COUNT"),
    counted(4, "Azure Pipelines", "SYSTEM_JOBPOSITIONINPHASE", 1, "SYSTEM_TOTALJOBSINPHASE"),
    counted(4, "Bitbucket Pipelines", "BITBUCKET_PARALLEL_STEP", 0, "BITBUCKET_PARALLEL_STEP_COUNT"),
];
