//! Globals, and the objects that are made by calling them: only recorded; nothing is looked up or called.

use super::{BOX, Machine, Outcome, span};
use crate::error::PickleErrorKind;
use crate::pickle::document::{Extra, How, NAME_BYTES, Node, NodeId, Object, Span};
use crate::pickle::{global, text};

impl Machine<'_> {
    pub(super) fn object(&mut self, opcode: u8) -> Outcome<()> {
        match opcode {
            b'c' => {
                let (module, name) = self.global_lines()?;
                self.global(module, name)
            }
            0x93 => {
                let [module, name] = self.stack.pop_array()?;
                match (&self.nodes[module.0 as usize], &self.nodes[name.0 as usize]) {
                    (&Node::Str(module), &Node::Str(name)) => self.global(module, name),
                    _ => Err(PickleErrorKind::WrongKind { opcode: "STACK_GLOBAL", needed: "two texts" }),
                }
            }
            b'R' => {
                let [callable, args] = self.stack.pop_array()?;
                self.call(callable, args, None, How::Call)
            }
            0x81 => {
                let [class, args] = self.stack.pop_array()?;
                self.call(class, args, None, How::New)
            }
            0x92 => {
                let [class, args, kwargs] = self.stack.pop_array()?;
                self.call(class, args, Some(kwargs), How::New)
            }
            b'i' => {
                let (module, name) = self.global_lines()?;
                let args = self.stack.pop_to_mark()?;
                self.global(module, name)?;
                let class = self.stack.pop()?;
                self.new_object(class, args)
            }
            b'o' => {
                let mut args = self.stack.pop_to_mark()?;
                if args.is_empty() {
                    return Err(PickleErrorKind::StackUnderflow);
                }
                let class = args.remove(0);
                self.new_object(class, args)
            }
            b'b' => self.build(),
            b'P' => {
                let start = self.operands.position();
                let line = self.operands.line()?;
                if !text::is_text(line) {
                    return Err(PickleErrorKind::Operand("UTF-8 text"));
                }
                self.node(Node::Str(span(start, line.len())))?;
                self.persistent()
            }
            _ => self.persistent(),
        }
    }

    fn persistent(&mut self) -> Outcome<()> {
        let id = self.stack.pop()?;
        let offset = self.opcode as u32;
        self.node(Node::Persistent { id, offset })
    }

    /// The module and the name on the two lines after the opcode.
    fn global_lines(&mut self) -> Outcome<(Span, Span)> {
        let mut line = || {
            let start = self.operands.position();
            let line = self.operands.line()?;
            if text::is_text(line) { Ok(span(start, line.len())) } else { Err(PickleErrorKind::Operand("UTF-8 text")) }
        };
        Ok((line()?, line()?))
    }

    fn global(&mut self, module: Span, name: Span) -> Outcome<()> {
        if module.length > NAME_BYTES || name.length > NAME_BYTES {
            return Err(PickleErrorKind::Operand("name"));
        }
        let (module_text, name_text) = (self.span_text(module), self.span_text(name));
        if global::is_forbidden(&module_text, &name_text) {
            return Err(PickleErrorKind::Forbidden(format!("{module_text}.{name_text}")));
        }
        self.node(Node::Global { module, name })
    }

    fn span_text(&self, span: Span) -> std::borrow::Cow<'_, str> {
        let (start, length) = (span.start as usize, span.length as usize);
        text::without_surrogates(match start.checked_sub(self.whole) {
            Some(start) => &self.decoded[start..start + length],
            None => self.operands.slice(start, length),
        })
    }

    fn call(&mut self, callable: NodeId, args: NodeId, kwargs: Option<NodeId>, how: How) -> Outcome<()> {
        let is_callable =
            matches!(self.nodes[callable.0 as usize], Node::Global { .. } | Node::Object(_) | Node::Persistent { .. });
        if !is_callable || !matches!(self.nodes[args.0 as usize], Node::Tuple(_)) {
            return Err(PickleErrorKind::WrongKind { opcode: "REDUCE", needed: "a callable and a tuple" });
        }
        let extra = match kwargs {
            Some(kwargs) => {
                self.stack.charge(BOX + size_of::<Extra>() as u64)?;
                Some(Box::new(Extra { kwargs: Some(kwargs), ..Extra::default() }))
            }
            None => None,
        };
        let offset = self.opcode as u32;
        self.node(Node::Object(Object { callable, args, offset, how, extra }))
    }

    /// Makes the object of INST and OBJ, of protocol 0.
    fn new_object(&mut self, class: NodeId, args: Vec<NodeId>) -> Outcome<()> {
        self.node(Node::Tuple(args.into()))?;
        let args = self.stack.pop()?;
        self.call(class, args, None, How::New)
    }

    fn build(&mut self) -> Outcome<()> {
        let state = self.stack.pop()?;
        let target = self.stack.top()?;
        self.stack.charge(BOX + size_of::<Extra>() as u64)?;
        match &mut self.nodes[target.0 as usize] {
            Node::Object(object) => {
                object.extra.get_or_insert_default().state = Some(state);
                Ok(())
            }
            _ => Err(PickleErrorKind::WrongKind { opcode: "BUILD", needed: "an object" }),
        }
    }
}
