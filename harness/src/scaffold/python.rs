//! Kernels in Python.

use super::names::variables;
use super::{KernelName, Scaffold, Signature, line, plain, tensor_words, words};

/// An embedding that is correct if no row has to be renormalised, as in every captured embedding without `max_norm`.
const EMBEDDING: &str = "\
def launch(input, weight, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse):
    if max_norm is not None:
        raise NotImplementedError(\"max_norm is not implemented\")
    rows = weight.index_select(0, input.flatten())
    return rows.view(*input.shape, weight.shape[1])
";

pub fn scaffold(name: &KernelName, signature: &Signature) -> Scaffold {
    let finished = signature.is_embedding();
    let body = if finished { EMBEDDING.to_owned() } else { skeleton(name, signature) };
    let unfinished = if finished { "" } else { " Not written yet." };
    let text = format!(
        "\"\"\"{}, forward.{unfinished}\n\nCheck it:\n\n    plimsoll check CAPTURE --kernel py:./{name}.py\n\"\"\"\n\n{}{body}",
        plain(&signature.operator),
        if body.contains("torch.") { "import torch\n\n\n" } else { "\n" },
    );
    Scaffold { files: vec![(format!("{name}.py"), text)], build: None, kernel: ("py:", format!("{name}.py")), finished }
}

fn skeleton(name: &KernelName, signature: &Signature) -> String {
    let names = variables(signature.arguments.iter().map(|(name, _)| name.as_str()));
    let mut text = format!("def launch({}):\n", names.join(", "));
    if let Some(entry) = &signature.entry {
        text += &format!("    # The values of {}; other entries may differ.\n", line(entry));
    }
    for (name, (_, argument)) in names.iter().zip(&signature.arguments) {
        text += &format!("    #   {name}: {}\n", line(&words(argument)));
    }
    for (at, output) in signature.outputs.iter().enumerate() {
        text += &format!("    # It returned tensor {at}: {}\n", tensor_words(output.dtype, &output.shape));
    }
    text + &format!("    raise NotImplementedError(\"{name} is not written yet\")\n")
}
