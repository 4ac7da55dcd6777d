//! Conversion from a function of Python to an operator of libtorch.
//!
//! A name stands for the operator with that name, and argument names for parameter names: libtorch's schemas of its
//! operators decide what fits. The functions of torch.nn.functional that do something in Python before they call an
//! operator, or call it under another name, have a rule each (`rules`).

mod arguments;
mod composed;
mod interpolate;
mod pools;
mod rules;

use plimsoll::capture::Argument;
use plimsoll::kernel::KernelError;

use arguments::Arguments;
use rules::{RULES, Rule};

/// A call of an operator of libtorch.
#[derive(Clone, Debug, PartialEq)]
pub struct Lowered {
    /// The operator, such as `aten::embedding`.
    pub operator: String,
    /// The operator's overload; `None` for the first that takes the arguments.
    pub overload: Option<String>,
    /// The arguments: by the parameter's name, or by position.
    pub arguments: Vec<(Option<String>, Argument)>,
    /// Whether Python returns only the first of several results.
    pub first: bool,
}

/// A function by its name.
#[derive(Debug)]
pub struct Function {
    operator: String,
    overload: Option<String>,
    rule: Option<&'static Rule>,
}

/// The Python modules before a function's name.
const MODULES: [&str; 7] =
    ["torch.nn.functional.", "torch._C._nn.", "torch._C._special.", "torch.special.", "torch.Tensor.", "torch.", "F."];

impl Function {
    /// The function or operator `name`: `embedding`, `torch.nn.functional.embedding`, `aten::embedding`, `aten::add.Tensor`.
    pub fn named(name: &str) -> Self {
        if let Some((space, operator)) = name.split_once("::") {
            let (operator, overload) = match operator.split_once('.') {
                Some((operator, overload)) => (operator, Some(overload.to_owned())),
                None => (operator, None),
            };
            return Self { operator: format!("{space}::{operator}"), overload, rule: None };
        }
        let plain = MODULES.iter().find_map(|module| name.strip_prefix(module)).unwrap_or(name);
        let rule = RULES.iter().find(|rule| rule.functions.split(' ').any(|function| function == plain));
        Self { operator: format!("aten::{plain}"), overload: None, rule }
    }

    /// Whether Python does more than call the operator with the same name.
    pub fn has_rule(&self) -> bool {
        self.rule.is_some()
    }

    /// The operators that the function is made of, if it is not an operator and Python composes it.
    pub fn composed_of(&self) -> Option<&'static str> {
        self.operator.strip_prefix("aten::").and_then(composed::parts)
    }

    /// The operator with the same name.
    pub fn operator(&self) -> &str {
        &self.operator
    }

    /// Finds the operator that computes the call with `args`, which are parallel to `params`, and its arguments.
    ///
    /// # Errors
    /// [`KernelError`] if a rule does not take the arguments.
    pub fn lower(&self, params: &[String], args: &[Argument]) -> Result<Lowered, KernelError> {
        let plain = self.operator.strip_prefix("aten::").unwrap_or(&self.operator);
        let mut arguments = Arguments::of(plain, params, args, self.rule.map_or("", |rule| rule.params));
        let mut lowered = Lowered {
            operator: self.operator.clone(),
            overload: self.overload.clone(),
            arguments: Vec::new(),
            first: false,
        };
        if let Some(rule) = self.rule {
            (rule.apply)(&mut arguments, &mut lowered)?;
        }
        lowered.arguments = arguments.into_named();
        Ok(lowered)
    }
}

#[cfg(test)]
mod tests;
