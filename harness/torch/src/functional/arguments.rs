//! [`Arguments`]: those of a call of Python, on their way to an operator.

use plimsoll::capture::Argument;
use plimsoll::kernel::KernelError;

/// Whether the arguments fit what is done with them.
pub type Applied = Result<(), KernelError>;

/// The arguments of a call by the names of Python's parameters.
pub struct Arguments {
    function: String,
    named: Vec<(Option<String>, Argument)>,
}

impl Arguments {
    /// `args`, by their names `given`. One that has no name but its number gets that of the parameter of `params` at its
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
        // Where a result goes is the caller's: nobody has asked for another place.
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

    /// The argument `name`, which is none any more.
    pub fn take(&mut self, name: &str) -> Option<Argument> {
        let at = self.named.iter().position(|(known, _)| known.as_deref() == Some(name))?;
        Some(self.named.remove(at).1)
    }

    /// The argument `name` unless it is None or absent.
    pub fn take_given(&mut self, name: &str) -> Option<Argument> {
        self.take(name).filter(|value| *value != Argument::None)
    }

    /// The truth value `name`, which is none of the operator's; false where it is absent or None.
    ///
    /// # Errors
    /// It is something else.
    pub fn take_flag(&mut self, name: &str) -> Result<bool, KernelError> {
        match self.take_given(name) {
            None => Ok(false),
            Some(Argument::Bool(flag)) => Ok(flag),
            Some(other) => Err(self.wrong(name, "a bool", &other)),
        }
    }

    /// The text `name`, which is none of the operator's; `usual` where it is absent.
    ///
    /// # Errors
    /// It is something else.
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

    /// Sets the argument `name` where it is absent: a default of Python's that the operator does not have.
    pub fn set_default(&mut self, name: &str, value: Argument) {
        if self.get(name).is_none() {
            self.set(name, value);
        }
    }

    /// The shape of the tensor `name`.
    ///
    /// # Errors
    /// It is missing, or no tensor.
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
        self.refuse(&format!("argument `{name}` is to be {expected}, and is {found}"))
    }

    /// The arguments, for the operator.
    pub fn into_named(self) -> Vec<(Option<String>, Argument)> {
        self.named
    }
}
