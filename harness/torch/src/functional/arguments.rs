//! [`Arguments`]: the arguments of a Python call, being converted to those of an operator.

use plimsoll::capture::Argument;
use plimsoll::kernel::KernelError;

/// The result of a conversion: an error if the arguments do not fit.
pub type Applied = Result<(), KernelError>;

/// The arguments of a call by the names of Python's parameters.
pub struct Arguments {
    function: String,
    named: Vec<(Option<String>, Argument)>,
}

impl Arguments {
    /// Names `args` by `given`. An argument that only has a number gets the name of the parameter of `params` in its
    /// place.
    pub fn of(function: &str, given: &[String], args: &[Argument], params: &str) -> Self {
        let params: Vec<&str> = params.split_whitespace().collect();
        let name = |(position, name): (usize, &String)| {
            let number = name.strip_prefix("arg").and_then(|rest| rest.parse::<usize>().ok());
            match number {
                Some(number) if number == position => params.get(position).map(|&name| name.to_owned()),
                _ => Some(name.clone()),
            }
        };
        let named = given.iter().enumerate().map(name).zip(args.iter().cloned()).collect();
        let mut arguments = Self { function: function.to_owned(), named };
        // A None for `out` is dropped: the caller decides where a result goes.
        if arguments.get("out") == Some(&Argument::None) {
            arguments.take("out");
        }
        arguments
    }

    /// The name of the function.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// The argument `name`.
    pub fn get(&self, name: &str) -> Option<&Argument> {
        self.named.iter().find(|(known, _)| known.as_deref() == Some(name)).map(|(_, value)| value)
    }

    /// Removes and returns the argument `name`.
    pub fn take(&mut self, name: &str) -> Option<Argument> {
        let at = self.named.iter().position(|(known, _)| known.as_deref() == Some(name))?;
        Some(self.named.remove(at).1)
    }

    /// Removes the argument `name`, and returns it unless it is None or absent.
    pub fn take_given(&mut self, name: &str) -> Option<Argument> {
        self.take(name).filter(|value| *value != Argument::None)
    }

    /// Removes the bool `name`, which the operator does not take; false if it is absent or None.
    ///
    /// # Errors
    /// [`KernelError`] if it is something else.
    pub fn take_flag(&mut self, name: &str) -> Result<bool, KernelError> {
        match self.take_given(name) {
            None => Ok(false),
            Some(Argument::Bool(flag)) => Ok(flag),
            Some(other) => Err(self.wrong(name, "a bool", &other)),
        }
    }

    /// Removes the text `name`, which the operator does not take; `usual` if it is absent.
    ///
    /// # Errors
    /// [`KernelError`] if it is something else.
    pub fn take_text(&mut self, name: &str, usual: &str) -> Result<String, KernelError> {
        match self.take_given(name) {
            None => Ok(usual.to_owned()),
            Some(Argument::Str(text)) => Ok(text),
            Some(other) => Err(self.wrong(name, "a text", &other)),
        }
    }

    /// Gives the argument `from` the name `to`.
    pub fn rename(&mut self, from: &str, to: &str) {
        if let Some((name, _)) = self.named.iter_mut().find(|(known, _)| known.as_deref() == Some(from)) {
            *name = Some(to.to_owned());
        }
    }

    /// Sets the argument `name`.
    pub fn set(&mut self, name: &str, value: Argument) {
        self.take(name);
        self.named.push((Some(name.to_owned()), value));
    }

    /// Sets the argument `name` if it is absent: a default of Python that the operator does not have.
    pub fn set_default(&mut self, name: &str, value: Argument) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    /// The shape of the tensor `name`.
    ///
    /// # Errors
    /// [`KernelError`] if it is missing, or not a tensor.
    pub fn shape(&self, name: &str) -> Result<Vec<i64>, KernelError> {
        match self.get(name) {
            Some(Argument::Tensor(tensor)) => Ok(tensor.layout.shape.iter().map(|&n| n as i64).collect()),
            Some(other) => Err(self.wrong(name, "a tensor", other)),
            None => Err(self.refuse(&format!("argument `{name}` is missing"))),
        }
    }

    /// A refusal of the call.
    pub fn refuse(&self, what: &str) -> KernelError {
        KernelError::NotReachable { message: format!("{}: {what}", self.function) }
    }

    fn wrong(&self, name: &str, expected: &str, found: &Argument) -> KernelError {
        self.refuse(&format!("argument `{name}` must be {expected}, but is {found}"))
    }

    /// The arguments, for the operator.
    pub fn into_named(self) -> Vec<(Option<String>, Argument)> {
        self.named
    }
}
