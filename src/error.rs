//! [`Error`] gathers what the modules refuse; each error is defined where it happens.

use std::convert::Infallible;

use crate::bytes::ParseByteSizeError;
use crate::capture::batch::BatchError;
use crate::capture::store::StoreError;
use crate::capture::synthesize::SynthesizeError;
use crate::capture::write::WriteError;
use crate::capture::{CaptureError, OutsideStorage, ParseDtypeError};
use crate::ceiling::CeilingError;
use crate::command::CommandError;
use crate::compare::{ParsePresetError, ToleranceError};
use crate::config::ConfigError;
use crate::diagnose::DiagnoseError;
use crate::diagnose::ledger::{LedgerError, ParseReadingError};
use crate::estimate::{EstimateError, ParseCountError, ParseNameError};
use crate::gate::{AllowanceError, BaselineError, LimitError, ParseConditionError};
use crate::gpu::{GpuError, ParsePlaceError};
use crate::inspect::ExtractError;
use crate::kernel::{KernelError, ParseKernelSpecError};
use crate::matrix::MatrixError;
use crate::meter::MeterError;
use crate::record::RecordError;
use crate::run::RunError;

/// Anything that Plimsoll refuses. A test that returns [`Result`] can use `?` on all of it, and on the errors of the system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant is the error that it names")]
pub enum Error {
    #[error(transparent)]
    ByteSize(#[from] ParseByteSizeError),
    #[error(transparent)]
    Capture(#[from] CaptureError),
    #[error(transparent)]
    OutsideStorage(#[from] OutsideStorage),
    #[error(transparent)]
    Dtype(#[from] ParseDtypeError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Synthesize(#[from] SynthesizeError),
    #[error(transparent)]
    Batch(#[from] BatchError<Infallible>),
    #[error(transparent)]
    Store(#[from] StoreError),
    #[error(transparent)]
    Diagnose(#[from] DiagnoseError),
    #[error(transparent)]
    Extract(#[from] ExtractError),
    #[error(transparent)]
    Preset(#[from] ParsePresetError),
    #[error(transparent)]
    Tolerance(#[from] ToleranceError),
    #[error(transparent)]
    KernelSpec(#[from] ParseKernelSpecError),
    #[error(transparent)]
    Kernel(#[from] KernelError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Place(#[from] ParsePlaceError),
    #[error(transparent)]
    Matrix(#[from] MatrixError),
    #[error(transparent)]
    Meter(#[from] MeterError),
    #[error(transparent)]
    Ceiling(#[from] CeilingError),
    #[error(transparent)]
    Command(#[from] CommandError),
    #[error(transparent)]
    Allowance(#[from] AllowanceError),
    #[error(transparent)]
    Limit(#[from] LimitError),
    #[error(transparent)]
    Baseline(#[from] BaselineError),
    #[error(transparent)]
    Condition(#[from] ParseConditionError),
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
    #[error(transparent)]
    Reading(#[from] ParseReadingError),
    #[error(transparent)]
    Estimate(#[from] EstimateError),
    #[error(transparent)]
    Count(#[from] ParseCountError),
    #[error(transparent)]
    Name(#[from] ParseNameError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What may be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;
