//! A matrix for tests: NVIDIA-NeMo/RL #2003, from logs in its format.

use std::fs::File;
use std::path::Path;

use super::{LogReadings, Matrix, Plan, Run};

/// The plan, and the figures in its logs.
pub(crate) fn nemo_rl_2003_runs() -> (Plan, Vec<Run>) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/matrix/nemo-rl-2003");
    let plan = Plan::read(&folder.join("matrix.toml")).unwrap();
    let runs = plan.turns().map(|turn| {
        let mut run = Run::new(&turn.configuration.name, plan.digest(turn.configuration), turn.repeat);
        let log = folder.join(plan.log(turn.configuration, turn.repeat).unwrap());
        run.log = LogReadings::read(File::open(log).unwrap(), plan.label.as_deref()).unwrap();
        run
    });
    let runs = runs.collect();
    (plan, runs)
}

/// Its table.
pub(crate) fn nemo_rl_2003() -> Matrix {
    let (plan, runs) = nemo_rl_2003_runs();
    Matrix::of(&plan, &runs)
}
