//! [`Graph`]: the work that a launch put into a stream, ready to be put there again.

use std::rc::Rc;

use cudarc::driver::sys::{self, CUresult};

use super::context::Gpu;
use super::error::GpuError;
use super::stream::Stream;

/// The work that a launch put into a stream, which can be put there again with one call: for a small kernel, whose
/// launch takes longer than its work, the time is then that of the work.
#[derive(Debug)]
pub struct Graph {
    gpu: Rc<Gpu>,
    executable: sys::CUgraphExec,
}

impl Graph {
    /// Captures everything that is put into `stream` from now on, without running it. The stream must not be the
    /// default one, which cannot be captured.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn begin(stream: &Stream) -> Result<(), GpuError> {
        // A kernel that waits or allocates while this thread captures gets an error.
        let mode = sys::CUstreamCaptureMode_enum::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        let gpu = stream.gpu();
        // SAFETY: the stream is alive.
        gpu.check("cuStreamBeginCapture", unsafe { (gpu.functions().cuStreamBeginCapture_v2)(stream.raw(), mode) })
    }

    /// Ends the capture, and makes the captured work ready; `None` if nothing was put into the stream.
    ///
    /// # Errors
    /// [`GpuError::Unjoined`] if a part of the work continues on another stream; another error if some of the work
    /// cannot be captured.
    pub fn end(stream: &Stream) -> Result<Option<Self>, GpuError> {
        let gpu = stream.gpu();
        let mut graph = std::ptr::null_mut();
        // SAFETY: the stream captures, and the function writes one handle, or null.
        let code = unsafe { (gpu.functions().cuStreamEndCapture)(stream.raw(), &raw mut graph) };
        if code.is(CUresult::CUDA_ERROR_STREAM_CAPTURE_UNJOINED) {
            return Err(GpuError::Unjoined);
        }
        gpu.check("cuStreamEndCapture", code)?;
        let made = Self::of(gpu, graph);
        // SAFETY: the handle was returned by the call above and is destroyed once; the executable graph made from it is
        // independent.
        unsafe { (gpu.functions().cuGraphDestroy)(graph) };
        made
    }

    fn of(gpu: &Rc<Gpu>, graph: sys::CUgraph) -> Result<Option<Self>, GpuError> {
        let mut nodes = 0usize;
        // SAFETY: the graph is alive; without room for nodes the function writes their number.
        gpu.check("cuGraphGetNodes", unsafe {
            (gpu.functions().cuGraphGetNodes)(graph, std::ptr::null_mut(), &raw mut nodes)
        })?;
        if nodes == 0 {
            return Ok(None);
        }
        let mut executable = std::ptr::null_mut();
        // SAFETY: the graph is alive, and the function writes one handle.
        gpu.check("cuGraphInstantiate", unsafe {
            (gpu.functions().cuGraphInstantiateWithFlags)(&raw mut executable, graph, 0)
        })?;
        Ok(Some(Self { gpu: Rc::clone(gpu), executable }))
    }

    /// Puts the captured work into `stream`.
    ///
    /// # Errors
    /// [`GpuError`].
    pub fn launch(&self, stream: &Stream) -> Result<(), GpuError> {
        // SAFETY: both are alive.
        self.gpu.check("cuGraphLaunch", unsafe { (self.gpu.functions().cuGraphLaunch)(self.executable, stream.raw()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: the handle was made by this type and is destroyed once; the driver keeps work that still runs.
        let _ = unsafe { (self.gpu.functions().cuGraphExecDestroy)(self.executable) };
    }
}
