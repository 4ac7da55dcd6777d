//! What an adapter trains: which layers it is on, and what is trained beside it, as peft counts.
//!
//! A family names its layers ([`Module`]); a training configuration names those with an adapter ([`Attached`]). Names
//! match as in peft: `q_proj` is every layer whose path ends with `.q_proj`. `tests/python/parameter_counts.py` puts
//! peft's adapters on the classes of transformers on the meta device; the tests require equal counts.

use std::sync::LazyLock;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::estimate::matrices::{Matrices, Sums};

/// What a layer is to an adapter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A linear layer.
    Linear,
    /// The matrices of experts as a single weight, with the inputs and outputs of all experts.
    Experts,
    /// The router of experts, as a weight of its own.
    Router,
    /// The classifier that is trained from the start.
    Classifier,
    /// The output layer.
    Output,
    /// An embedding.
    Embedding,
    /// A convolution, which is not among the linear layers.
    Convolution,
}

/// All layers of one name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Module {
    /// The end of their path, such as `self_attn.q_proj`; empty if it is not known.
    pub name: &'static str,
    /// What they are.
    pub kind: Kind,
    /// Whether they belong to a vision or audio tower.
    pub tower: bool,
    /// How many matrices they are.
    pub count: u128,
    /// Their inputs, summed.
    pub inputs: u128,
    /// Their outputs, summed.
    pub outputs: u128,
    /// Their parameters, summed.
    pub parameters: u128,
}

impl Module {
    /// Adds layers of the same name.
    pub(super) fn join(&mut self, other: &Self) {
        self.count = self.count.saturating_add(other.count);
        self.inputs = self.inputs.saturating_add(other.inputs);
        self.widen(other);
    }

    /// Adds outputs of the same inputs.
    pub(super) fn widen(&mut self, other: &Self) {
        self.outputs = self.outputs.saturating_add(other.outputs);
        self.parameters = self.parameters.saturating_add(other.parameters);
    }

    /// Whether both are layers of one name.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        (self.name, self.kind, self.tower) == (other.name, other.kind, other.tower)
    }

    /// Inputs and outputs.
    pub(super) fn sides(&self) -> u128 {
        self.inputs.saturating_add(self.outputs)
    }

    /// Whether `target` names these layers.
    fn is(&self, target: &str) -> bool {
        let before = self.name.strip_suffix(target);
        !target.is_empty() && before.is_some_and(|before| before.is_empty() || before.ends_with('.'))
    }
}

/// The layers of a model that an adapter may be on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Modules {
    /// The family.
    family: String,
    /// All layers, by name.
    all: Vec<Module>,
}

impl Modules {
    /// The layers of a model of `family`.
    pub(super) fn new(family: &str, all: Vec<Module>) -> Self {
        Self { family: family.to_owned(), all }
    }

    /// The sizes of the matrices of a model with `parameters` parameters.
    pub(super) fn matrices(&self, parameters: u64, untied: bool) -> Matrices {
        let mut sums = Sums::default();
        for own in self.all.iter().filter(|own| own.count > 0) {
            let (inputs, outputs) = (own.inputs / own.count, own.outputs / own.count);
            match own.kind {
                Kind::Output if !untied => {}
                Kind::Output | Kind::Embedding => sums.add_table(inputs, outputs),
                _ => sums.add(own.count, inputs, outputs),
            }
        }
        sums.of(parameters)
    }

    /// Whether `target` is a name of some of these layers.
    fn have(&self, target: &str) -> bool {
        self.all.iter().any(|module| module.is(target))
    }
}

/// The layers with an adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Targets {
    /// The layers that peft chooses for the family.
    #[default]
    Usual,
    /// Every linear layer but the output layer.
    AllLinear,
    /// Layers with these names.
    Named(Vec<String>),
    /// Layers whose whole path matches this regular expression.
    Pattern(String),
}

/// What a training configuration says of its adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attached {
    /// The file, and the field that names the layers.
    pub source: String,
    /// The layers with an adapter.
    pub targets: Targets,
    /// Names of layers without one.
    pub excluded: Vec<String>,
    /// Names of layers that are trained as a whole.
    pub saved: Vec<String>,
    /// Whether a magnitude for each output is trained, too.
    pub magnitudes: bool,
    /// Whether the second matrix has a bias.
    pub biased: bool,
    /// Whether a classifier is trained as a whole.
    pub classifier: bool,
    /// Whether towers are left out.
    pub words_only: bool,
}

/// The size of an adapter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Trained {
    /// Parameters for each unit of the rank.
    pub(super) sides: u128,
    /// Parameters that do not depend on the rank.
    pub(super) whole: u128,
    /// What could not be counted.
    pub(super) unread: Vec<String>,
}

/// What peft does by the family of a model.
#[derive(Deserialize)]
struct Rules {
    /// The layers with an adapter if the configuration names none.
    usual: Map<String, Value>,
    /// Families whose experts became one weight in transformers 5, and how their layers were named before.
    experts: Map<String, Value>,
    /// Families that have no adapter on some layers, and those layers.
    refused: Map<String, Value>,
}

static RULES: LazyLock<Option<Rules>> =
    LazyLock::new(|| serde_json::from_str(include_str!("families/adapters.json")).ok());

/// A list of texts in `map`.
fn texts(map: &Map<String, Value>, name: &str) -> Option<Vec<String>> {
    let list = map.get(name)?.as_array()?;
    Some(list.iter().filter_map(|text| text.as_str().map(str::to_owned)).collect())
}

/// The old names of the experts' matrices: gate, up, down, router.
fn old_names(family: &str) -> Option<Vec<String>> {
    texts(&RULES.as_ref()?.experts, family)
}

/// Families in whose parts peft makes no difference: some output layers count as linear, or it fails.
const UNKNOWN: [&str; 3] = ["qwen2_5_omni", "qwen3_omni_moe", "qwen3_omni_moe_thinker"];

/// Paths before the names of a decoder's layers, and of a tower's.
const BEFORE: [(bool, &str); 8] = [
    (false, "model.layers.0."),
    (false, "model.language_model.layers.0."),
    (false, "language_model.model.layers.0."),
    (false, "transformer.h.0."),
    (true, "model.visual.blocks.0."),
    (true, "model.vision_tower.encoder.layers.0."),
    (true, "model.vision_model.encoder.layers.0."),
    (true, "vision_model.model.layers.0."),
];

impl Attached {
    /// An adapter on the layers with these names, as `source` says; `all-linear` names all of them.
    pub fn named(source: &str, names: &[String]) -> Self {
        let all = names.iter().any(|name| matches!(name.as_str(), "all" | "all-linear"));
        let targets = if all { Targets::AllLinear } else { Targets::Named(names.to_vec()) };
        Self { source: source.to_owned(), targets, ..Self::default() }
    }

    /// An adapter on every linear layer.
    pub(super) fn all_linear() -> Self {
        Self { targets: Targets::AllLinear, ..Self::default() }
    }

    /// The size of the adapter on a model with these layers.
    pub(super) fn on(&self, modules: &Modules) -> Trained {
        let (family, mut trained) = (modules.family.as_str(), Trained::default());
        let mut targets = self.names(modules, &mut trained);
        trained.sides = self.experts(modules, &mut targets, &mut trained.unread);
        for module in &modules.all {
            let excluded = self.excluded.iter().any(|name| module.is(name));
            let named = targets.iter().any(|name| module.is(name) || (module.name.is_empty() && name.is_empty()));
            let kind = !matches!(module.kind, Kind::Experts | Kind::Router);
            if excluded || !named || !kind || (module.tower && self.words_only) {
                continue;
            }
            trained.sides = trained.sides.saturating_add(module.sides());
            let more = u128::from(self.magnitudes) + u128::from(self.biased);
            trained.whole = trained.whole.saturating_add(module.outputs.saturating_mul(more));
        }
        let refused = RULES.as_ref().and_then(|rules| texts(&rules.refused, family)).unwrap_or_default();
        let refuse = |name: &&String| modules.all.iter().any(|own| own.is(name) && targets.iter().any(|t| own.is(t)));
        if let Some(name) = refused.iter().find(refuse) {
            let source = &self.source;
            trained
                .unread
                .push(format!("{source}: peft refuses an adapter on {name} of `{family}`; name other layers"));
        }
        self.save(modules, &mut trained);
        trained
    }

    /// The names of the layers with an adapter; those that no layer has are listed.
    fn names(&self, modules: &Modules, trained: &mut Trained) -> Vec<String> {
        let (family, source) = (&modules.family, &self.source);
        let old = old_names(family).unwrap_or_default();
        let every = || {
            let linear = modules.all.iter().filter(|module| self.is_linear(module));
            let mut names: Vec<String> = linear.map(|module| module.name.to_owned()).collect();
            let experts = modules.all.iter().any(|module| module.kind == Kind::Experts);
            names.extend(old_names(family).filter(|_| experts).unwrap_or_default());
            names
        };
        let of_pattern = |pattern: &str| {
            let whole = Regex::new(&format!("^(?:{pattern})$")).ok()?;
            let fits = |own: &&Module| {
                BEFORE
                    .iter()
                    .any(|(tower, before)| *tower == own.tower && whole.is_match(&format!("{before}{}", own.name)))
            };
            Some(modules.all.iter().filter(fits).map(|own| own.name.to_owned()).collect::<Vec<_>>())
        };
        let names = match &self.targets {
            Targets::AllLinear => {
                if UNKNOWN.contains(&family.as_str()) {
                    trained.unread.push(format!(
                        "{source}: which linear layers of `{family}` have an adapter is not known; name them"
                    ));
                }
                return every();
            }
            // peft refuses its own choice if it has to convert names of experts.
            Targets::Usual => {
                match RULES.as_ref().and_then(|rules| texts(&rules.usual, family)).filter(|_| old.is_empty()) {
                    Some(names) => names,
                    None => {
                        trained.unread.push(format!(
                        "{source}: peft has no usual layers for `{family}`, name them; the estimate has an adapter on every linear layer"
                    ));
                        return every();
                    }
                }
            }
            Targets::Named(names) => names.clone(),
            Targets::Pattern(pattern) => match of_pattern(pattern) {
                Some(names) => names,
                None => {
                    trained.unread.push(format!(
                        "{source}: the pattern is not understood; the estimate has an adapter on every linear layer"
                    ));
                    return every();
                }
            },
        };
        let missing: Vec<&str> = names
            .iter()
            .map(String::as_str)
            .filter(|name| !modules.have(name) && !old.iter().any(|old| old == name))
            .collect();
        if modules.all.iter().any(|module| module.name.is_empty()) {
            trained.unread.push(format!(
                "{source}: some layers of `{family}` have names that are not known; only the others have an adapter"
            ));
        } else if !missing.is_empty() {
            trained.unread.push(format!("{source}: `{family}` has no layer named {}", missing.join(", ")));
        }
        names
    }

    /// Whether "all linear layers" includes these.
    fn is_linear(&self, module: &Module) -> bool {
        module.kind == Kind::Linear || (module.kind == Kind::Classifier && !self.classifier)
    }

    /// What is added for experts, whose names are taken out of `targets`: peft puts the adapters of gate and up, which
    /// are one weight, at twice the rank.
    fn experts(&self, modules: &Modules, targets: &mut Vec<String>, unread: &mut Vec<String>) -> u128 {
        let family = &modules.family;
        let Some([gate, up, down, router]) = old_names(family).and_then(|names| <[String; 4]>::try_from(names).ok())
        else {
            return 0;
        };
        let asked = |target: &String, name: &str| target == name || target.ends_with(&format!(".{name}"));
        let has = |name: &str| targets.iter().any(|target| asked(target, name));
        let sides = |end: &str| {
            let own = modules.all.iter().filter(|own| own.is(end) && matches!(own.kind, Kind::Experts | Kind::Router));
            own.map(Module::sides).fold(0, u128::saturating_add)
        };
        if has(&gate) != has(&up) {
            unread.push(format!(
                "{}: peft refuses {gate} without {up} on `{family}`, whose experts have both in one weight",
                self.source
            ));
        }
        let both = if has(&gate) && has(&up) { sides("gate_up_proj").saturating_mul(2) } else { 0 };
        let others = [(&down, "down_proj"), (&router, "gate")];
        let others = others.into_iter().filter(|(name, _)| has(name)).map(|(_, end)| sides(end));
        let all = others.fold(both, u128::saturating_add);
        if self.magnitudes && all > 0 {
            unread.push(format!("{}: peft refuses DoRA on the experts of `{family}`", self.source));
        }
        targets.retain(|target| ![&gate, &up, &down, &router].into_iter().any(|name| asked(target, name)));
        all
    }

    /// Counts the layers that are trained as a whole.
    fn save(&self, modules: &Modules, trained: &mut Trained) {
        // As peft does, by the end of the name, whatever stands before it.
        let ends = |module: &Module, name: &str| !name.is_empty() && module.name.ends_with(name);
        let whole = |module: &Module| {
            let named = self.saved.iter().any(|name| ends(module, name));
            named || (self.classifier && module.kind == Kind::Classifier)
        };
        let parameters = modules.all.iter().filter(|module| whole(module)).map(|module| module.parameters);
        trained.whole = parameters.fold(trained.whole, u128::saturating_add);
        for name in self.saved.iter().filter(|name| !modules.all.iter().any(|module| ends(module, name))) {
            trained.unread.push(format!("{}: `{name}` is trained as a whole, which is not counted", self.source));
        }
    }

    /// What to say if the layers of the model are not known.
    pub(super) fn narrow(&self) -> Option<String> {
        let names = match &self.targets {
            Targets::Named(names) => names.join(", "),
            Targets::Pattern(pattern) => pattern.clone(),
            Targets::Usual => "the layers that peft chooses".to_owned(),
            Targets::AllLinear => return None,
        };
        let all = LINEAR.iter().all(|linear| names.split(", ").any(|name| name == *linear));
        (!all).then(|| {
            format!(
                "{}: the adapter is on {names} alone; the estimate has one on every linear layer, unless --config gives the model's config.json",
                self.source
            )
        })
    }
}

/// The linear layers of a decoder's layer, as most families name them.
const LINEAR: [&str; 7] = ["q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj"];
