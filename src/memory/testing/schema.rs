//! JSON Schemas: tests that committed ones are up to date, and that a document conforms to one.

use std::path::Path;

use serde_json::Value;

/// Compares `schema` with the committed one. `PLIMSOLL_UPDATE_SCHEMA=1` writes it instead.
pub fn assert_committed(name: &str, schema: &Value) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema").join(name);
    let text = serde_json::to_string_pretty(schema).unwrap() + "\n";
    if std::env::var_os("PLIMSOLL_UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &text).unwrap();
    }
    let committed = std::fs::read_to_string(&path).unwrap();
    assert!(committed == text, "{} is out of date: run the tests with PLIMSOLL_UPDATE_SCHEMA=1", path.display());
}

/// Where `document` violates `schema`, as far as the keywords of our schemas go; another keyword panics.
pub fn faults(schema: &Value, document: &Value) -> Vec<String> {
    let mut found = Vec::new();
    follow(schema, schema, document, "", &mut found);
    found
}

fn follow(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    let Some(schema) = schema.as_object() else {
        assert_eq!(schema, &Value::Bool(true), "{at}");
        return;
    };
    let matching = |options: &Value| {
        let follows = |option: &&Value| {
            let mut found = Vec::new();
            follow(root, option, value, at, &mut found);
            found.is_empty()
        };
        options.as_array().unwrap().iter().filter(follows).count()
    };
    for (keyword, rule) in schema {
        let holds = match keyword.as_str() {
            "$schema" | "$defs" | "title" | "description" | "default" | "format" => true,
            "$ref" => {
                let target = root.pointer(rule.as_str().unwrap().strip_prefix('#').unwrap()).unwrap();
                follow(root, target, value, at, found);
                true
            }
            "type" => match rule {
                Value::Array(names) => names.iter().any(|name| is(value, name.as_str().unwrap())),
                name => is(value, name.as_str().unwrap()),
            },
            "const" => value == rule,
            "enum" => rule.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|n| n >= rule.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|n| n <= rule.as_f64().unwrap()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= rule.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= rule.as_u64().unwrap()),
            "anyOf" => matching(rule) >= 1,
            "oneOf" => matching(rule) == 1,
            "required" => {
                let names = rule.as_array().unwrap().iter().map(|name| name.as_str().unwrap());
                let missing = names.filter(|name| value.is_object() && value.get(name).is_none());
                found.extend(missing.map(|name| format!("{at}: no {name}")));
                true
            }
            "properties" => {
                for (name, rule) in rule.as_object().unwrap() {
                    if let Some(field) = value.get(name) {
                        follow(root, rule, field, &format!("{at}/{name}"), found);
                    }
                }
                true
            }
            "additionalProperties" => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, field) in value.as_object().into_iter().flatten() {
                    if !known.is_some_and(|known| known.contains_key(name)) {
                        match rule {
                            Value::Bool(false) => found.push(format!("{at}/{name}: not allowed")),
                            rule => follow(root, rule, field, &format!("{at}/{name}"), found),
                        }
                    }
                }
                true
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    follow(root, rule, item, &format!("{at}/{index}"), found);
                }
                true
            }
            other => panic!("no test for the keyword `{other}` of a schema"),
        };
        if !holds {
            found.push(format!("{at}: breaks {keyword} {rule}"));
        }
    }
}

fn is(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type `{other}`"),
    }
}
