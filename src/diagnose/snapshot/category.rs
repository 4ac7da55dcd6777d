//! What an allocation is for: according to the profiler if the file has its annotation, otherwise by the functions on
//! its stack.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::intern::{FrameId, Interner, StackId, TextId};

/// What memory is used for, in the bands parameters, gradients, optimizer state, activations, temporaries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[repr(u8)]
pub enum Category {
    /// Weights and buffers of modules.
    Parameters,
    /// Memory allocated by backward: gradients of parameters and of activations.
    Gradients,
    /// Memory that an optimizer keeps from step to step.
    OptimizerState,
    /// Memory that forward passes allocate and keep for backward.
    Activations,
    /// Batches on their way to the device.
    Inputs,
    /// Memory that lives for a single operation, such as intermediate results of an optimizer step.
    Temporaries,
    /// No rule matches, or no stack was recorded.
    Unknown,
}

/// The source of a category.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CategorySource {
    /// PyTorch's memory profiler annotated the allocation.
    Profiler,
    /// The innermost function on the stack that is known to allocate a category.
    Stack,
}

impl Category {
    /// All categories, in the order of reports.
    pub const ALL: [Self; 7] = [
        Self::Parameters,
        Self::Gradients,
        Self::OptimizerState,
        Self::Activations,
        Self::Inputs,
        Self::Temporaries,
        Self::Unknown,
    ];

    /// The name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Parameters => "parameters",
            Self::Gradients => "gradients",
            Self::OptimizerState => "optimizer state",
            Self::Activations => "activations",
            Self::Inputs => "inputs",
            Self::Temporaries => "temporaries",
            Self::Unknown => "unknown",
        }
    }

    /// The category of a name in `torch.profiler._memory_profiler.Category`; `None` if the profiler does not know it.
    pub(super) fn of_profiler(word: &str) -> Option<Self> {
        Some(match word.to_ascii_lowercase().as_str() {
            "parameter" => Self::Parameters,
            "gradient" => Self::Gradients,
            "optimizer_state" => Self::OptimizerState,
            "activation" => Self::Activations,
            "input" => Self::Inputs,
            "temporary" | "autograd_detail" => Self::Temporaries,
            _ => return None,
        })
    }

    /// The category of allocations made directly by this frame, if its function is known.
    fn of_frame(file: &str, function: &str) -> Option<Self> {
        let ends = |suffixes: &[&str]| suffixes.iter().any(|suffix| file.ends_with(suffix));
        let within = |parts: &[&str]| parts.iter().any(|part| file.contains(part));
        if within(&["torch/optim/", "deepspeed/ops/", "apex/optimizers/", "bitsandbytes/optim/", "optimizers/fused_"]) {
            let passing = ["_multi_tensor_", "_single_tensor_", "_fused_", "_foreach_", "zero_grad"];
            let temporary = passing.iter().any(|start| function.starts_with(start));
            return Some(if temporary { Self::Temporaries } else { Self::OptimizerState });
        }
        if matches!(function, "initialize_optimizer_states" | "_init_group" | "init_optimizer_state") {
            return Some(Self::OptimizerState);
        }
        if function == "backward"
            || ends(&["torch/autograd/__init__.py", "torch/autograd/graph.py"])
            || ["torch::autograd::Engine", "AccumulateGrad"].iter().any(|name| function.contains(name))
            || (function.contains("Backward") && function.contains("apply"))
        {
            return Some(Self::Gradients);
        }
        let module = ends(&["torch/nn/modules/module.py"]);
        let moves = ["to", "cuda", "_apply", "convert", "half", "float", "bfloat16", "to_empty", "load_state_dict"];
        if (module && moves.contains(&function))
            || ends(&["torch/nn/parameter.py"])
            || (within(&["torch/nn/modules/"]) && function == "__init__")
            || matches!(function, "reset_parameters" | "load_state_dict" | "from_pretrained" | "from_config")
            || function.starts_with("_load_state_dict_into")
            || within(&["safetensors/"])
        {
            return Some(Self::Parameters);
        }
        if within(&["torch/utils/data/"])
            || matches!(function, "send_to_device" | "_prepare_inputs" | "_prepare_input" | "move_data_to_device")
        {
            return Some(Self::Inputs);
        }
        let calls = function == "forward" || function == "_call_impl" || function == "_wrapped_call_impl";
        (calls || ends(&["torch/nn/functional.py"])).then_some(Self::Activations)
    }
}

/// The categories of stacks.
pub(super) struct Categories {
    of_stack: Vec<Category>,
}

impl Categories {
    /// The innermost known function decides. A stack comes after its outer stack, so one pass is enough.
    pub(super) fn of(interner: &Interner) -> Self {
        let text = |id: TextId| interner.text_of(id);
        let of_frame: Vec<Option<Category>> = (0..interner.frame_count() as u32)
            .map(|id| {
                let frame = interner.frame_of(FrameId(id));
                Category::of_frame(text(frame.file), text(frame.function))
            })
            .collect();
        let mut of_stack = vec![Category::Unknown];
        for id in 1..interner.stacks() as u32 {
            let (outer, frame) = interner.split(StackId(id)).expect("all but the first have a frame");
            of_stack.push(of_frame[frame.0 as usize].unwrap_or(of_stack[outer.0 as usize]));
        }
        Self { of_stack }
    }

    pub(super) fn get(&self, stack: StackId) -> Category {
        self.of_stack[stack.0 as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::intern::FrameParts;

    fn category(frames: &[(&str, &str)]) -> Category {
        let mut interner = Interner::new([]);
        let frames: Vec<FrameId> = frames
            .iter()
            .map(|(file, function)| {
                let (file, function) = (interner.text(file), interner.text(function));
                interner.frame(FrameParts { file, function, line: 1 })
            })
            .collect();
        let stack = interner.stack(&frames);
        Categories::of(&interner).get(stack)
    }

    #[test]
    fn the_innermost_known_function_decides() {
        let module = "/usr/lib/torch/nn/modules/module.py";
        let cases: [(&[(&str, &str)], Category); 8] = [
            (&[], Category::Unknown),
            (&[("train.py", "main")], Category::Unknown),
            (&[(module, "convert"), (module, "_apply"), ("train.py", "main")], Category::Parameters),
            (&[("/x/torch/nn/functional.py", "linear"), (module, "_call_impl")], Category::Activations),
            (&[("/x/torch/autograd/__init__.py", "backward"), ("train.py", "main")], Category::Gradients),
            // Recomputed activations: the forward pass is inside backward.
            (&[("model.py", "forward"), ("/x/torch/utils/checkpoint.py", "backward")], Category::Activations),
            (
                &[("/x/torch/optim/adamw.py", "_init_group"), ("/x/torch/optim/adamw.py", "step")],
                Category::OptimizerState,
            ),
            (
                &[("/x/torch/optim/adam.py", "_multi_tensor_adam"), ("/x/torch/optim/adam.py", "step")],
                Category::Temporaries,
            ),
        ];
        for (frames, expected) in cases {
            assert_eq!(category(frames), expected, "{frames:?}");
        }
    }
}
