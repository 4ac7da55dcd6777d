//! [`Error`] combines the errors of the modules; each is defined where it occurs.

#[cfg(feature = "capture")]
use std::convert::Infallible;

/// Any error of Plimsoll. A test that returns [`Result`] can use `?` on all of them, and on the errors of the system.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each variant is the error that it names")]
pub enum Error {
    #[error(transparent)]
    ByteSize(#[from] plimsoll_memory::bytes::ParseByteSizeError),
    #[error(transparent)]
    Meter(#[from] plimsoll_memory::meter::MeterError),
    #[error(transparent)]
    Ceiling(#[from] plimsoll_memory::ceiling::CeilingError),
    #[error(transparent)]
    Allowance(#[from] plimsoll_memory::ceiling::AllowanceError),
    #[error(transparent)]
    Command(#[from] plimsoll_memory::command::CommandError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Capture(#[from] plimsoll_capture::CaptureError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    OutsideStorage(#[from] plimsoll_capture::OutsideStorage),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Dtype(#[from] plimsoll_capture::ParseDtypeError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Write(#[from] plimsoll_capture::write::WriteError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Synthesize(#[from] plimsoll_capture::synthesize::SynthesizeError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Batch(#[from] plimsoll_capture::batch::BatchError<Infallible>),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Store(#[from] plimsoll_capture::store::StoreError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Extract(#[from] plimsoll_capture::inspect::ExtractError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Preset(#[from] plimsoll_capture::compare::ParsePresetError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Tolerance(#[from] plimsoll_capture::compare::ToleranceError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    KernelSpec(#[from] plimsoll_capture::kernel::ParseKernelSpecError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Kernel(#[from] plimsoll_capture::kernel::KernelError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Gpu(#[from] plimsoll_capture::gpu::GpuError),
    #[cfg(feature = "capture")]
    #[error(transparent)]
    Place(#[from] plimsoll_capture::gpu::ParsePlaceError),
    #[cfg(feature = "diagnose")]
    #[error(transparent)]
    Diagnose(#[from] plimsoll_diagnose::DiagnoseError),
    #[cfg(feature = "diagnose")]
    #[error(transparent)]
    Ledger(#[from] plimsoll_diagnose::ledger::LedgerError),
    #[cfg(feature = "diagnose")]
    #[error(transparent)]
    Reading(#[from] plimsoll_diagnose::ledger::ParseReadingError),
    #[cfg(feature = "diagnose")]
    #[error(transparent)]
    Estimate(#[from] plimsoll_diagnose::estimate::EstimateError),
    #[cfg(feature = "diagnose")]
    #[error(transparent)]
    Count(#[from] plimsoll_diagnose::estimate::ParseCountError),
    #[cfg(feature = "diagnose")]
    #[error(transparent)]
    Name(#[from] plimsoll_diagnose::estimate::ParseNameError),
    #[cfg(feature = "record")]
    #[error(transparent)]
    Limit(#[from] crate::gate::LimitError),
    #[cfg(feature = "record")]
    #[error(transparent)]
    Baseline(#[from] crate::gate::BaselineError),
    #[cfg(feature = "record")]
    #[error(transparent)]
    Condition(#[from] crate::gate::ParseConditionError),
    #[cfg(feature = "record")]
    #[error(transparent)]
    Config(#[from] crate::config::ConfigError),
    #[cfg(feature = "record")]
    #[error(transparent)]
    Record(#[from] crate::record::RecordError),
    #[cfg(feature = "record")]
    #[error(transparent)]
    Merge(#[from] crate::merge::MergeError),
    #[cfg(feature = "record")]
    #[error(transparent)]
    Resume(#[from] crate::merge::ResumeError),
    #[cfg(feature = "record")]
    #[error(transparent)]
    Run(#[from] crate::run::RunError),
    #[cfg(feature = "report")]
    #[error(transparent)]
    Matrix(#[from] crate::matrix::MatrixError),
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// What may be refused.
pub type Result<T, E = Error> = std::result::Result<T, E>;
