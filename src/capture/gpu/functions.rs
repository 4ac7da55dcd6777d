//! [`Functions`]: the functions of the driver's library that are called, each looked up once, when the library is
//! loaded.
//!
//! The handles and constants are `cudarc`'s; its functions are not called, because they return a Rust enum, and a
//! driver that is newer than the enum would make an invalid value of it. Here a result is a number ([`Code`]).

use std::ffi::{c_char, c_int, c_uint, c_void};

use cudarc::driver::sys::{
    CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent, CUgraph, CUgraphExec, CUgraphNode, CUlimit,
    CUresult, CUstream, CUstreamCaptureMode,
};
use libloading::os::unix::Library;

/// The result of a function of the driver: any number, of which [`CUresult`] names the known ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub(super) struct Code(pub c_int);

impl Code {
    /// Whether the result is `known`.
    pub fn is(self, known: CUresult) -> bool {
        self.0 == known as c_int
    }

    pub fn is_success(self) -> bool {
        self.is(CUresult::CUDA_SUCCESS)
    }
}

/// Host work in a stream: a function, which is called with one argument.
pub(super) type HostFunction = unsafe extern "C" fn(*mut c_void);

macro_rules! functions {
    ($($name:ident($($argument:ty),*);)*) => {
        /// The functions that every supported driver has, and one that is optional.
        #[expect(non_snake_case, reason = "the driver's own names")]
        #[derive(Debug)]
        pub(super) struct Functions {
            $(pub $name: unsafe extern "C" fn($($argument),*) -> Code,)*
            /// An event of all work of a context; drivers have this function from CUDA 12.5 on.
            pub cuCtxRecordEvent: Option<unsafe extern "C" fn(CUcontext, CUevent) -> Code>,
        }

        impl Functions {
            /// Looks up the functions of `library`; the error names the first one that it lacks.
            ///
            /// # Safety
            /// The library is the driver's, and is never unloaded.
            pub unsafe fn of(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $(
                        // SAFETY: the type is that of the driver's manual, with a number for the enum of results.
                        $name: *unsafe { library.get(stringify!($name).as_bytes()) }.map_err(|_| stringify!($name))?,
                    )*
                    // SAFETY: as above.
                    cuCtxRecordEvent: unsafe { library.get(b"cuCtxRecordEvent") }.ok().map(|found| *found),
                })
            }
        }
    };
}

functions! {
    cuInit(c_uint);
    cuDriverGetVersion(*mut c_int);
    cuDeviceGetCount(*mut c_int);
    cuDeviceGet(*mut CUdevice, c_int);
    cuDeviceGetName(*mut c_char, c_int, CUdevice);
    cuDeviceTotalMem_v2(*mut usize, CUdevice);
    cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
    cuDeviceGetPCIBusId(*mut c_char, c_int, CUdevice);
    cuGetErrorName(Code, *mut *const c_char);
    cuGetErrorString(Code, *mut *const c_char);
    cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
    cuCtxSetCurrent(CUcontext);
    cuCtxSynchronize();
    cuCtxSetLimit(CUlimit, usize);
    cuMemGetInfo_v2(*mut usize, *mut usize);
    cuMemAlloc_v2(*mut CUdeviceptr, usize);
    cuMemFree_v2(CUdeviceptr);
    cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
    cuMemFreeHost(*mut c_void);
    cuMemcpyHtoDAsync_v2(CUdeviceptr, *const c_void, usize, CUstream);
    cuMemcpyDtoHAsync_v2(*mut c_void, CUdeviceptr, usize, CUstream);
    cuMemsetD8Async(CUdeviceptr, u8, usize, CUstream);
    cuStreamCreate(*mut CUstream, c_uint);
    cuStreamDestroy_v2(CUstream);
    cuStreamSynchronize(CUstream);
    cuStreamWaitEvent(CUstream, CUevent, c_uint);
    cuLaunchHostFunc(CUstream, HostFunction, *mut c_void);
    cuEventCreate(*mut CUevent, c_uint);
    cuEventRecord(CUevent, CUstream);
    cuEventSynchronize(CUevent);
    cuEventElapsedTime(*mut f32, CUevent, CUevent);
    cuEventDestroy_v2(CUevent);
    cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
    cuStreamEndCapture(CUstream, *mut CUgraph);
    cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, u64);
    cuGraphLaunch(CUgraphExec, CUstream);
    cuGraphExecDestroy(CUgraphExec);
    cuGraphDestroy(CUgraph);
    cuGraphGetNodes(CUgraph, *mut CUgraphNode, *mut usize);
}
