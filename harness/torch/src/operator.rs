//! [`TorchOperator`]: an operator of PyTorch as a kernel.

use plimsoll::kernel::{Call, Evaluation, Given, KernelError, Operator};

use crate::dispatch::{self, BoundCall};
use crate::functional::Function;

/// The version of the libtorch that this program is linked to.
pub fn version() -> String {
    dispatch::version()
}

/// An operator of PyTorch, by the name of a function of Python or of the dispatcher.
#[derive(Debug)]
pub struct TorchOperator {
    function: Function,
}

impl TorchOperator {
    /// The operator `name`: `embedding`, `torch.nn.functional.embedding`, `aten::embedding`, `aten::add.Tensor`.
    ///
    /// # Errors
    /// [`KernelError::NotReachable`] where neither libtorch nor a rule of [`functional`](crate::functional) has it.
    pub fn named(name: &str) -> Result<Self, KernelError> {
        let function = Function::named(name);
        if !function.has_rule() && !dispatch::exists(function.operator()) {
            let message = format!(
                "libtorch has no operator `{}`, and no rule says by which `{name}` is computed: use a `py:` kernel",
                function.operator()
            );
            return Err(KernelError::NotReachable { message });
        }
        Ok(Self { function })
    }
}

impl Operator for TorchOperator {
    fn bind<'a>(&'a self, call: &'a Call<'_>) -> Result<Box<dyn Evaluation + 'a>, KernelError> {
        let lowered = self.function.lower(call)?;
        Ok(Box::new(BoundCall::new(call, &lowered)?))
    }
}

impl Evaluation for BoundCall<'_> {
    fn launch(&mut self) -> Result<(), KernelError> {
        self.launch()
    }

    fn given(&mut self) -> Result<Vec<Given<'_>>, KernelError> {
        self.given()
    }
}
