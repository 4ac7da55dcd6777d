//! The JSON Schema of `plimsoll.toml`, for editors, as `plimsoll schema config` prints it and `docs/schema/` keeps it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde_json::{Map, Value, json};

use super::setting::{Kind, LIMITED, Preset, SECTIONS, Setting, settings};
use crate::gate::Condition;
use plimsoll_memory::schema::Document;

/// The file `plimsoll.toml`.
#[derive(Debug)]
pub struct ConfigFile;

impl Document for ConfigFile {
    const NAME: &'static str = "plimsoll.config/1";
    const TITLE: &'static str = "plimsoll.toml";
}

impl JsonSchema for ConfigFile {
    fn schema_name() -> Cow<'static, str> {
        Self::TITLE.into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        // Of an object it is one.
        Schema::try_from(whole()).unwrap_or_default()
    }
}

/// The JSON Schema (draft 2020-12) of `plimsoll.toml`.
pub fn config() -> Value {
    ConfigFile::document_schema()
}

fn whole() -> Value {
    let mut scope = sections();
    let mut one_override = sections();
    one_override.insert(
        "label".to_owned(),
        json!({ "type": "string", "description": "A regular expression: the labels that this is for" }),
    );
    let overrides = json!({
        "type": "array",
        "description": "Settings of the labels that a pattern matches; the last that matches counts",
        "items": object(one_override, &["label"], None),
    });
    scope.insert("overrides".to_owned(), overrides);
    let mut top = scope.clone();
    let profile = object(scope, &[], Some("Settings that --profile chooses"));
    top.insert(
        "profile".to_owned(),
        json!({ "type": "object", "description": "Profiles by name, chosen by --profile", "additionalProperties": profile }),
    );
    object(top, &[], Some("The configuration of plimsoll for a project"))
}

fn object(properties: Map<String, Value>, required: &[&str], about: Option<&str>) -> Value {
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if !required.is_empty() {
        schema["required"] = required.into();
    }
    if let Some(about) = about {
        schema["description"] = about.into();
    }
    schema
}

fn sections() -> Map<String, Value> {
    let section = |(section, about): &(&'static str, &'static str)| {
        let of_section = settings().filter(|setting| setting.section == *section);
        let mut properties: Map<String, Value> =
            of_section.map(|setting| (setting.name.to_owned(), value(&setting))).collect();
        if LIMITED.contains(section) {
            let about = "How much worse figures may get, by their names; `*` is any text, `default` is for all others";
            let limits =
                json!({ "type": "object", "description": about, "additionalProperties": { "type": "string" } });
            properties.insert("limits".to_owned(), limits);
        }
        let mut schema = object(properties.clone(), &[], Some(about));
        if *section == "ceilings" {
            schema["additionalProperties"] = object(properties, &[], Some("The ceilings of this label"));
        }
        ((*section).to_owned(), schema)
    };
    SECTIONS.iter().map(section).collect()
}

fn value(setting: &Setting) -> Value {
    let mut schema = match setting.kind {
        Kind::Bytes => json!({ "type": ["string", "integer"], "minimum": 0 }),
        Kind::Count => json!({ "type": "integer", "minimum": 0 }),
        Kind::Confidence => json!({ "type": "number", "minimum": 0.5, "exclusiveMaximum": 1 }),
        Kind::Switch => json!({ "type": "boolean" }),
        Kind::Conditions => {
            let names: Vec<&str> = Condition::ALL.map(Condition::name).into_iter().chain(["machine"]).collect();
            json!({ "type": ["array", "string"], "items": { "enum": names } })
        }
        Kind::Verdicts => json!({ "type": ["array", "string"], "items": { "type": "string" } }),
        Kind::Time | Kind::Text | Kind::Baseline | Kind::Allowance => json!({ "type": "string" }),
    };
    schema["description"] = setting.about.into();
    if let Some(default) = setting.default {
        schema["default"] = match default {
            Preset::Count(count) => count.into(),
            Preset::Confidence(confidence) => confidence.into(),
            Preset::Switch(on) => on.into(),
            Preset::Bytes(_) | Preset::Time(_) | Preset::Text(_) => default.to_string().into(),
        };
    }
    schema
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_is_in_it() {
        let schema = config();
        for setting in settings() {
            for root in ["", "/properties/profile/additionalProperties", "/properties/overrides/items"] {
                let at = format!("{root}/properties/{}/properties/{}", setting.section, setting.name);
                assert_eq!(schema.pointer(&at).map(|found| &found["description"]), Some(&setting.about.into()), "{at}");
            }
        }
    }
}
