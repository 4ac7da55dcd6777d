//! Calls and literals of Python: a printed `TrainingArguments(..)`, on one line or on many, and a script that makes one.

use serde_json::{Map, Value};

use super::scalar::scalar;

/// The deepest nesting of literals.
const DEEPEST: usize = 16;
/// The most fields that are read.
const MOST_FIELDS: usize = 4096;

/// The most calls that are read.
const MOST_CALLS: usize = 16;

/// Ends of names of classes that hold settings, and where in the fields theirs belong.
const CLASSES: [(&str, &str); 8] = [
    ("LoraConfig", "peft_config"),
    ("BitsAndBytesConfig", "quantization_config"),
    // Unsloth.
    ("get_peft_model", "peft_config"),
    ("from_pretrained", ""),
    ("AccelerateConfig", ""),
    ("Arguments", ""),
    ("Namespace", ""),
    ("Config", ""),
];

/// Whether the text has such a call.
pub(super) fn is_call(text: &str) -> bool {
    next_call(text).is_some()
}

/// The keyword arguments of all calls that hold settings.
pub(super) fn fields(text: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut rest = text;
    for _ in 0..MOST_CALLS {
        let Some((place, after)) = next_call(rest) else { break };
        let mut reader = Reader { text: after, at: 0, is_cut: false };
        let own = reader.arguments(0);
        if place.is_empty() {
            fields.extend(own);
        } else {
            // A call without settings of its own, such as `get_peft_model(model, config)`, changes nothing.
            if !own.is_empty() {
                fields.insert(place.to_owned(), Value::Object(own));
            }
        }
        // Calls inside of this one are settings as well.
        rest = after;
    }
    fields
}

/// The fields of a dictionary as Python prints it; `None` if the text is something else.
pub(super) fn printed(text: &str) -> Option<Value> {
    let mut reader = Reader { text: text.trim(), at: 0, is_cut: false };
    let value = reader.mapping(0);
    let whole =
        reader.rest().is_empty() && !reader.is_cut && value.as_object().is_some_and(|fields| !fields.is_empty());
    whole.then_some(value)
}

/// The next call of such a class: where its fields belong, and the text after its parenthesis.
fn next_call(text: &str) -> Option<(&'static str, &str)> {
    text.match_indices('(').find_map(|(at, _)| {
        let (_, place) = CLASSES.iter().find(|(end, _)| text[..at].ends_with(end))?;
        Some((*place, &text[at + 1..]))
    })
}

/// Reads Python from its start.
struct Reader<'t> {
    text: &'t str,
    at: usize,
    /// Whether the text ends inside a dictionary, so that what it holds may be half a number.
    is_cut: bool,
}

impl Reader<'_> {
    fn rest(&self) -> &str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn skip(&mut self, chars: usize) {
        self.at += self.rest().chars().take(chars).map(char::len_utf8).sum::<usize>();
    }

    /// Skips spaces, line ends and comments.
    fn blank(&mut self) {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            let comment = if trimmed.starts_with('#') { trimmed.find('\n').unwrap_or(trimmed.len()) } else { 0 };
            let skipped = rest.len() - trimmed.len() + comment;
            if skipped == 0 {
                return;
            }
            self.at += skipped;
        }
    }

    /// `name=value` up to the closing parenthesis; other arguments are skipped.
    fn arguments(&mut self, depth: usize) -> Map<String, Value> {
        let mut fields = Map::new();
        while fields.len() < MOST_FIELDS {
            self.blank();
            match self.peek() {
                None | Some(')') => break,
                Some(',') => self.skip(1),
                Some(_) => {
                    let name: String =
                        self.rest().chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
                    let after = self.rest()[name.len()..].trim_start();
                    if name.is_empty() || !after.starts_with('=') || after.starts_with("==") {
                        let before = self.at;
                        self.value(depth);
                        // A bracket that closes nothing.
                        self.skip(usize::from(self.at == before));
                        continue;
                    }
                    self.at = self.text.len() - after.len() + 1;
                    fields.insert(name, self.value(depth));
                }
            }
        }
        self.skip(1);
        fields
    }

    /// The value that begins here, up to a comma or a closing bracket outside of it.
    fn value(&mut self, depth: usize) -> Value {
        self.blank();
        let start = self.at;
        let value = match self.peek() {
            Some('{') if depth < DEEPEST => self.mapping(depth),
            Some(open @ ('[' | '(')) if depth < DEEPEST => self.items(if open == '[' { ']' } else { ')' }, depth),
            Some(quote @ ('"' | '\'')) => self.quoted(quote).map_or(Value::Null, Value::String),
            _ => Value::Null,
        };
        let whole = self.at;
        self.finish_value();
        // Something follows a literal, such as an operator: the text is an expression.
        let text = self.text[start..self.at].trim();
        if whole > start && self.text[whole..self.at].trim().is_empty() {
            return value;
        }
        scalar(text)
    }

    /// Skips up to the comma, the closing bracket or the line end that ends a value.
    fn finish_value(&mut self) {
        let mut open = 0usize;
        let mut angle = false;
        let start = self.at;
        while let Some(c) = self.peek() {
            match c {
                '"' | '\'' => {
                    self.quoted(c);
                    continue;
                }
                // An enum: `<OptimizerNames.ADAMW_TORCH: 'adamw_torch'>`.
                '<' if self.at == start => angle = true,
                '>' if angle => angle = false,
                '(' | '[' | '{' => open += 1,
                ')' | ']' | '}' if open == 0 => return,
                ')' | ']' | '}' => open -= 1,
                ',' | '\n' if open == 0 && !angle => return,
                _ => {}
            }
            self.skip(1);
        }
    }

    fn quoted(&mut self, quote: char) -> Option<String> {
        self.skip(1);
        let mut text = String::new();
        while let Some(c) = self.peek() {
            self.skip(1);
            match c {
                '\\' => {
                    text.extend(self.peek());
                    self.skip(1);
                }
                c if c == quote => return Some(text),
                c => text.push(c),
            }
        }
        None
    }

    fn items(&mut self, close: char, depth: usize) -> Value {
        self.skip(1);
        let mut items = Vec::new();
        while items.len() < MOST_FIELDS {
            self.blank();
            match self.peek() {
                None => break,
                Some(c) if c == close => {
                    self.skip(1);
                    break;
                }
                Some(',') => self.skip(1),
                // A bracket that closes nothing.
                Some(')' | ']' | '}') => break,
                Some(_) => items.push(self.value(depth + 1)),
            }
        }
        Value::Array(items)
    }

    fn mapping(&mut self, depth: usize) -> Value {
        self.skip(1);
        let mut fields = Map::new();
        while fields.len() < MOST_FIELDS {
            self.blank();
            match self.peek() {
                Some(',') => self.skip(1),
                Some(quote @ ('"' | '\'')) => {
                    let Some(name) = self.quoted(quote) else { break };
                    self.blank();
                    if self.peek() != Some(':') {
                        break;
                    }
                    self.skip(1);
                    fields.insert(name, self.value(depth + 1));
                }
                Some('}') => {
                    self.skip(1);
                    return Value::Object(fields);
                }
                _ => break,
            }
        }
        self.is_cut = true;
        Value::Object(fields)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_on_one_line_and_on_many_has_the_same_fields() {
        let one = "TrainingArguments(_n_gpu=1, optim=<OptimizerNames.ADAMW_8BIT: 'adamw_8bit'>, lr_scheduler_type=SchedulerType.COSINE, \
            fsdp=[], fsdp_config={'min_num_params': 0, 'xla': False}, report_to=['a', \"b, c\"], max_steps=-1, bf16=True, run_name='x, y=2',)";
        let many = one.replace(", ", ",\n");
        let found = fields(one);
        assert_eq!(
            (&found["optim"], &found["lr_scheduler_type"]),
            (&json!("adamw_8bit"), &json!("SchedulerType.COSINE"))
        );
        assert_eq!(found["fsdp_config"], json!({"min_num_params": 0, "xla": false}));
        assert_eq!((&found["report_to"], &found["max_steps"]), (&json!(["a", "b, c"]), &json!(-1)));
        assert_eq!((&found["run_name"], &found["bf16"], found.len()), (&json!("x, y=2"), &json!(true), 9));
        assert_eq!(fields(&many.replace("b,\nc", "b, c").replace("x,\ny", "x, y")), found);
    }

    #[test]
    fn a_script_is_read_with_its_comments_and_its_other_classes() {
        let script = "import os\n# TrainingArguments\npeft = LoraConfig(r=8, target_modules=['q_proj', 'v_proj'])\n\
            args = SFTConfig(\n    output_dir=os.path.join('a', 'b'),  # where, to\n    per_device_train_batch_size=2,\n\
            gradient_checkpointing_kwargs=dict(use_reentrant=False),\n    optim = 'adamw_torch',\n    learning_rate=2e-4 * 2,\n)\nprint(args)\n";
        let found = fields(script);
        assert_eq!(found["peft_config"], json!({"r": 8, "target_modules": ["q_proj", "v_proj"]}));
        assert_eq!((&found["per_device_train_batch_size"], &found["optim"]), (&json!(2), &json!("adamw_torch")));
        assert_eq!(found["learning_rate"], json!("2e-4 * 2"));
    }

    #[test]
    fn a_printed_dictionary_that_is_cut_off_is_none() {
        let text = "{'model_type': 'llama', 'hidden_size': 4096, 'rope': {'factor': [8, 1e-5]}, 'tied': False}";
        assert_eq!(printed(text).unwrap()["rope"], json!({"factor": [8, 1e-5]}));
        assert_eq!((1..text.len()).find_map(|end| printed(&text[..end])), None);
    }

    proptest! {
        #[test]
        fn any_text_is_read(text in "(Config\\(|[a-z=,'\"(){}\\[\\]<>: \\\\\n1é]){0,60}") {
            fields(&text);
        }
    }
}
