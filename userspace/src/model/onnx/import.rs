//! Nodes to layers, one after the other. A node that cannot be mapped is kept as a problem, and so are all others; what
//! depends on its results is passed over.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};

use super::attribute::Attribute;
use super::message::{Extent, Graph, Model, Node, ValueInfo, is_standard};
use super::operators::{self, Call};
use super::tensor;
use crate::container::excerpt;
use crate::model::cut;
use crate::model::error::ModelError;
use crate::model::imported::{self, Imported};
use crate::model::limits::{NODES_MAX, PROBLEMS_MAX};
use crate::model::neighbour_files::Files;
use crate::model::network::array::elements;
use crate::model::network::{Array, Kind, Network, ValueId};
use crate::model::options::Options;
use crate::model::problem::{Problem, Why};

/// Oldest version of the operators that is read.
///
/// In older ones attributes say how operands of different extents go together.
const OPSET_MIN: i64 = 7;

/// The version of a model that says none at all: of the format's own first version.
const OPSET_UNSAID: i64 = 1;

/// The standard's number of the type of shapes and places.
const INT64: u64 = 7;

/// The layers of a model.
///
/// # Errors
///
/// [`ModelError`]: damage, or all that cannot be mapped.
pub fn import(bytes: &[u8], options: &Options) -> Result<Network, ModelError> {
    layers(bytes, options)?.whole()
}

/// The layers of a model, as far as there are any.
pub(in crate::model) fn layers(bytes: &[u8], options: &Options) -> Result<Imported, ModelError> {
    let model = Model::read(bytes)?;
    let graph = model.graph.ok_or(ModelError::NoGraph)?;
    if graph.nodes.len() > NODES_MAX {
        return Err(ModelError::Nodes { count: graph.nodes.len() });
    }
    let opset = model.opset.or_else(|| (!model.has_versions).then_some(OPSET_UNSAID));
    if let Some(version) = opset.filter(|&opset| opset < OPSET_MIN) {
        let (what, advice) =
            ("operators (opset)", "; onnx.version_converter.convert_version makes a later one");
        return Err(ModelError::Version { what, version, least: OPSET_MIN, advice });
    }
    let mut import = Import {
        options,
        opset,
        read: read(&graph),
        network: Network::default(),
        names: HashMap::new(),
        types: HashMap::new(),
        problems: Vec::new(),
        inputs: Vec::new(),
        extents: Vec::new(),
        results: Vec::new(),
        wider: Vec::new(),
    };
    import.tensors(&graph);
    for (index, bytes) in graph.nodes.iter().enumerate() {
        import.node(index, bytes);
        if import.problems.len() >= PROBLEMS_MAX {
            break;
        }
    }
    Ok(import.finish(&graph.outputs))
}

/// Names that a node reads, or that are results of the model.
///
/// A damaged node ends its own list: it is refused when its turn comes.
fn read(graph: &Graph<'_>) -> HashSet<String> {
    let mut read: HashSet<String> = graph.outputs.iter().map(|output| output.name.clone()).collect();
    for bytes in &graph.nodes {
        read.extend(Node::inputs(bytes));
    }
    // A name that is left out is nobody's result.
    read.remove("");
    read
}

struct Import<'a> {
    options: &'a Options,
    /// The version of the standard's operators. A model of other operators alone may leave it out.
    opset: Option<i64>,
    read: HashSet<String>,
    network: Network,
    /// `None` for what a node would have made that cannot be mapped.
    names: HashMap<String, Option<ValueId>>,
    /// The standard's number of the type of elements, of tensors that say it.
    types: HashMap<ValueId, u64>,
    problems: Vec<Problem>,
    /// Inputs that can be bound, and extents that only have names.
    inputs: Vec<String>,
    extents: Vec<String>,
    /// Results of nodes, where one is to be cut.
    results: Vec<String>,
    /// Inputs of wider numbers than halves.
    wider: Vec<String>,
}

impl Import<'_> {
    /// Initializers and inputs.
    fn tensors(&mut self, graph: &Graph<'_>) {
        let files = Files::new(&self.options.beside);
        for (index, bytes) in graph.initializers.iter().enumerate() {
            match tensor::read_beside(bytes, &files, |count| self.network.has_room_to_store(count)) {
                Ok((name, _, _)) if self.names.contains_key(&name) => self.twice("initializer", &name),
                Ok((name, array, kind)) => {
                    let value = self.network.stored(&name, array, kind);
                    self.types.extend(tensor::element(bytes).map(|element| (value, element)));
                    self.names.insert(name, Some(value));
                }
                Err(why) => {
                    let name = tensor::name(bytes).unwrap_or_else(|| format!("#{index}"));
                    self.problem("initializer", &name, Why::Mode(why.to_string()));
                    // Its readers are not to blame.
                    self.names.insert(name, None);
                }
            }
        }
        let defaults: HashSet<String> = self.names.keys().cloned().collect();
        for input in &graph.inputs {
            let named = |extent: &Extent| match extent {
                Extent::Named(name) => Some(name.clone()),
                Extent::Known(_) => None,
            };
            self.extents.extend(input.dims.iter().flatten().filter_map(named));
            if self.names.contains_key(&input.name) {
                // An initializer may be an input as well.
                if !defaults.contains(&input.name) {
                    self.twice("input", &input.name);
                }
                continue;
            }
            self.inputs.push(input.name.clone());
            if is_wider(input) {
                self.wider.push(input.name.clone());
            }
            let made = if let Some(array) = self.options.constants.get(&input.name) {
                self.bound(input, array)
            } else {
                self.input(input)
            };
            let value = made.unwrap_or_else(|why| {
                self.problem("input", &input.name, why);
                None
            });
            self.types.extend(value.map(|value| (value, input.element)));
            self.names.insert(input.name.clone(), value);
        }
    }

    fn twice(&mut self, operation: &str, name: &str) {
        self.problem(operation, name, Why::twice(name));
    }

    /// An input; one of whole numbers is no problem before somebody reads it.
    fn input(&mut self, input: &ValueInfo) -> Result<Option<ValueId>, Why> {
        let kind = tensor::kind(input.element)
            .ok_or_else(|| Why::Mode(format!("elements of type {} are not mapped", input.element)))?;
        let extents = input.dims.as_ref().ok_or_else(|| Why::Mode("its rank is not known".to_owned()))?;
        let dims = extents.iter().map(|extent| self.extent(extent)).collect::<Result<Vec<_>, _>>()?;
        // Without elements there is nothing to fill, and the tensor is known: it may say a type, or be part of another.
        if elements(&dims).is_ok_and(|count| count == 0) {
            return Ok(Some(self.network.constant(&input.name, Array::new(dims, Vec::new())?, kind)));
        }
        if kind == Kind::Integer {
            return Ok(Some(self.network.whole_input(&input.name, dims)?));
        }
        Ok(Some(self.network.input(&input.name, dims, kind)?))
    }

    /// An input that the user binds to an array.
    fn bound(&mut self, input: &ValueInfo, array: &Array) -> Result<Option<ValueId>, Why> {
        if !self.may_have(input, array.dims()) {
            let (have, told) = (array.dims(), shape(input.dims.as_deref().unwrap_or_default()));
            return Err(Why::Mode(format!("the bound array has the shape {have:?}; the model says {told}")));
        }
        let kind = tensor::kind(input.element).unwrap_or(Kind::Real);
        Ok(Some(self.network.stored(&input.name, array.clone(), kind)))
    }

    /// Whether a tensor of the model may have these extents, by what the model says of it.
    fn may_have(&self, of: &ValueInfo, dims: &[usize]) -> bool {
        let is_same = |(told, &extent): (&Extent, &usize)| match told {
            // Some exporters write -1 for an open extent.
            Extent::Known(told) => *told < 0 || usize::try_from(*told) == Ok(extent),
            Extent::Named(name) => self.options.extents.get(name).is_none_or(|&told| told == extent),
        };
        let is_whole = |told: &Vec<Extent>| told.len() == dims.len() && told.iter().zip(dims).all(is_same);
        of.dims.as_ref().is_none_or(is_whole)
    }

    fn extent(&self, extent: &Extent) -> Result<usize, Why> {
        match extent {
            Extent::Known(extent) => {
                usize::try_from(*extent).map_err(|_| Why::Mode(format!("extent {extent} is below zero")))
            }
            Extent::Named(name) => {
                let known = self.options.extents.get(name).copied();
                known.ok_or_else(|| Why::Open { name: name.clone() })
            }
        }
    }

    /// Keeps a problem, as long as it will be told.
    fn problem(&mut self, operation: &str, name: &str, why: Why) {
        if self.problems.len() < PROBLEMS_MAX {
            self.problems.push(Problem::new(operation, name, Vec::new(), why));
        }
    }

    fn node(&mut self, index: usize, bytes: &[u8]) {
        let node = match Node::read(bytes) {
            Ok(node) => node,
            Err(damage) => return self.problem("node", &index.to_string(), damage.into()),
        };
        let name = match (&node.name, node.outputs.first()) {
            (name, _) if !name.is_empty() => name.clone(),
            (_, Some(output)) => output.clone(),
            _ => format!("#{index}"),
        };
        let mut inputs = Vec::new();
        let mut is_known = true;
        for input in &node.inputs {
            match self.names.get(input) {
                _ if input.is_empty() => inputs.push(None),
                Some(Some(value)) => inputs.push(Some(*value)),
                Some(None) => is_known = false,
                None => {
                    self.problem(&node.operator, &name, Why::not_made(input));
                    is_known = false;
                }
            }
        }
        let made = if is_known {
            self.call(&node, &name, inputs)
        } else {
            // What it reads is not there, but that it is not mapped shows all the same.
            if !operators::is_mapped(&node) {
                self.problem(&node.operator, &name, Why::Operation);
            }
            Vec::new()
        };
        for (index, output) in node.outputs.iter().enumerate().filter(|(_, output)| !output.is_empty()) {
            if self.names.contains_key(output) {
                self.problem(&node.operator, &name, Why::twice(output));
                continue;
            }
            let value = made.get(index).and_then(|&value| self.cut(output, value));
            if !self.options.cuts.is_empty() {
                self.results.push(output.clone());
            }
            self.names.insert(output.clone(), value);
        }
    }

    fn cut(&mut self, name: &str, value: ValueId) -> Option<ValueId> {
        let made = cut::result(&mut self.network, self.options, name, value);
        made.map_err(|why| self.problem("cut", name, why)).ok()
    }

    fn call(&mut self, node: &Node<'_>, name: &str, inputs: Vec<Option<ValueId>>) -> Vec<ValueId> {
        let shapes: Vec<Vec<usize>> =
            inputs.iter().flatten().map(|&input| self.network.dims(input).to_vec()).collect();
        let outputs = node.outputs.len();
        let last = node.outputs.iter().rposition(|output| self.read.contains(output));
        let wanted = last.map_or(1, |last| last + 1);
        let (element, first) = (self.element(node, &inputs), self.network.values.len());
        let whole = self.whole_element(node, &inputs);
        let (network, types) = (&mut self.network, &self.types);
        let opset = self.opset.unwrap_or(operators::OPSET_OF_OTHERS);
        let seen = RefCell::default();
        let bounds = network.is_within_bounds();
        let mut call = Call { network, node, name, inputs, outputs, wanted, opset, types, seen };
        let made = if !operators::is_known(&node.domain, &node.operator) {
            Err(Why::Operation)
        } else if self.opset.is_none() && is_standard(&node.domain) {
            Err(Why::Mode(
                "the model does not say the version (opset) of the standard's operators".to_owned(),
            ))
        } else {
            bounds.map_err(Why::from).and_then(|()| operators::call(&mut call))
        };
        let made = cut::rows(&mut self.network, self.options, node.outputs.first(), made);
        match made {
            Ok(values) => {
                if let Some(nearest) = element.and_then(tensor::nearest) {
                    self.network.round_known(first, &values, Kind::Real, nearest);
                }
                if let Some(whole) = whole.and_then(tensor::whole) {
                    self.network.round_known(first, &values, Kind::Integer, |value| whole.wrapped(value));
                }
                // An operand that is the result, too, keeps its type.
                for &value in values.iter().filter(|&&value| value >= first) {
                    let kind = self.network.values[value].kind;
                    let of = if kind == Kind::Integer { whole } else { element };
                    let of = of.filter(|&of| tensor::kind(of) == Some(kind));
                    self.types.extend(of.map(|of| (value, of)));
                }
                // The client knows tensors by the names of the model.
                for (output, &value) in node.outputs.iter().zip(&values) {
                    self.network.rename(value, output);
                }
                values
            }
            Err(why) => {
                self.problems.push(Problem::new(&node.operator, name, shapes, why));
                Vec::new()
            }
        }
    }

    /// The type of a node's results, as far as they are of that kind: that of its first real operand, if nothing else says it.
    fn element(&self, node: &Node<'_>, inputs: &[Option<ValueId>]) -> Option<u64> {
        const SINGLE: u64 = 1;
        let tensor = || node.attributes.get("value").and_then(Attribute::tensor);
        let of = |value: &ValueId| self.types.get(value).copied();
        match node.operator.as_str() {
            "Constant"
                if node.attributes.contains_key("value_int")
                    || node.attributes.contains_key("value_ints") =>
            {
                Some(INT64)
            }
            "Constant" | "ConstantOfShape" => tensor().map_or(Some(SINGLE), tensor::element),
            "Cast" => node.attributes.get("to").and_then(|to| u64::try_from(to.integer()?).ok()),
            "CastLike" => inputs.get(1)?.as_ref().and_then(of),
            _ => {
                let is_real = |value: &&ValueId| self.network.values[**value].kind == Kind::Real;
                inputs.iter().flatten().find(is_real).and_then(of)
            }
        }
    }

    /// The type of a node's results, as far as they are whole numbers.
    fn whole_element(&self, node: &Node<'_>, inputs: &[Option<ValueId>]) -> Option<u64> {
        let of = |index: usize| inputs.get(index)?.and_then(|value| self.types.get(&value).copied());
        match node.operator.as_str() {
            "Constant" | "ConstantOfShape" | "Cast" | "CastLike" => self.element(node, inputs),
            "Shape" | "Size" | "ArgMax" | "ArgMin" => Some(INT64),
            "Where" => of(1),
            "OneHot" => of(2),
            _ => of(0),
        }
    }

    /// Notes that an output has another shape than the model says.
    fn say_shape(&mut self, output: &ValueInfo, value: ValueId) {
        let dims = self.network.dims(value);
        if !self.may_have(output, dims) {
            let (name, told) = (excerpt(&output.name), shape(output.dims.as_deref().unwrap_or_default()));
            self.network.notes.push(format!("output {name:?} has the shape {dims:?}; the model says {told}"));
        }
    }

    fn finish(mut self, outputs: &[ValueInfo]) -> Imported {
        // Layers behind the last problem that is told were not read.
        let is_whole = self.problems.len() < PROBLEMS_MAX;
        let mut names = HashSet::new();
        for output in outputs.iter().filter(|_| is_whole) {
            match self.names.get(&output.name) {
                Some(&Some(value)) => {
                    self.say_shape(output, value);
                    if let Err(why) = imported::output(&mut self.network, &mut names, &output.name, value) {
                        self.problem("output", &output.name, why);
                    }
                }
                Some(None) => {}
                None => self.problem("output", &output.name, Why::Mode("no layer makes it".to_owned())),
            }
        }
        let Self { network, problems, inputs, extents, results, mut wider, .. } = self;
        wider.extend(outputs.iter().filter(|output| is_wider(output)).map(|output| output.name.clone()));
        Imported { network, problems, inputs, extents, results, wider }
    }
}

/// Whether the model has wider numbers than halves in a surface: singles, doubles, or singles without their last digits.
const fn is_wider(surface: &ValueInfo) -> bool {
    matches!(surface.element, 1 | 11 | 16)
}

/// Extents as the model says them.
fn shape(extents: &[Extent]) -> String {
    let told = |extent: &Extent| match extent {
        Extent::Known(extent) => extent.to_string(),
        Extent::Named(name) => excerpt(name),
    };
    format!("[{}]", extents.iter().map(told).collect::<Vec<_>>().join(", "))
}
