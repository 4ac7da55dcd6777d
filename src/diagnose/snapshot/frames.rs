//! Stacks in readable form.

use super::findings::Frame;
use super::intern::{FrameId, Interner, StackId};

/// Functions and files of the interpreter and the dispatcher, which say nothing about a program.
const PLUMBING_FUNCTIONS: [&str; 8] = [
    "unwind::unwind",
    "CapturedTraceback::gather",
    "gather_with_cpp",
    "_start",
    "__libc_start_main",
    "PyEval_",
    "PyObject_",
    "PyFunction_",
];
const PLUMBING_FILES: [&str; 10] = [
    "core/boxing",
    "/Register",
    "/Redispatch",
    "pythonrun.c",
    "Modules/main.c",
    "Objects/call.c",
    "Objects/methodobject.c",
    "pycore_ceval.h",
    "ceval.c",
    "cpython/abstract.h",
];

/// How many frames are kept of one stack, counted from the innermost.
const TOLD: usize = 128;

/// The frames of an interner in readable form.
pub(super) struct Frames<'a> {
    interner: &'a Interner,
}

impl<'a> Frames<'a> {
    pub(super) fn new(interner: &'a Interner) -> Self {
        Self { interner }
    }

    /// The stack without plumbing, innermost frame first.
    pub(super) fn of(&self, stack: StackId) -> Vec<Frame> {
        self.interner.frames(stack).filter_map(|id| self.frame(id)).take(TOLD).collect()
    }

    /// A frame, unless it is plumbing.
    pub(super) fn frame(&self, id: FrameId) -> Option<Frame> {
        let parts = self.interner.frame_of(id);
        let (file, function) = (self.interner.text_of(parts.file), self.interner.text_of(parts.function));
        let plumbing = PLUMBING_FUNCTIONS.iter().any(|part| match *part {
            // The full name of a C function, not the end of a Python name such as `wait_for_start`.
            "_start" => function == "_start",
            part => function.contains(part),
        }) || PLUMBING_FILES.iter().any(|part| file.contains(part));
        (!plumbing).then(|| Frame { file: file.to_owned(), line: parts.line, function: function.to_owned() })
    }
}

impl Frame {
    /// The last part of the file's path.
    pub fn file_name(&self) -> &str {
        self.file.rsplit(['/', '\\']).next().unwrap_or(&self.file)
    }
}

/// `model.py:12 forward`, or only the function if the file is unknown.
impl std::fmt::Display for Frame {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.file_name() {
            "" | "??" | "none" => f.write_str(&self.function),
            file if self.line == 0 => write!(f, "{file} {}", self.function),
            file => write!(f, "{file}:{} {}", self.line, self.function),
        }
    }
}
