//! Operations to layers, one after the other. One that cannot be mapped is kept as a problem, and so are all others; what
//! depends on its results is passed over.

use std::collections::{BTreeMap, HashMap, HashSet};

use super::blob;
use super::flexible::Flexible;
use super::operators::{self, Call, Operand};
use super::program::{Argument, Constant, ElementType, Function, Operation, Type};
use crate::container::excerpt;
use crate::model::cut;
use crate::model::imported::{self, Imported};
use crate::model::limits::PROBLEMS_MAX;
use crate::model::neighbour_files::Files;
use crate::model::network::array::{elements, wrapped};
use crate::model::network::{Array, Kind, Network, ValueId};
use crate::model::options::Options;
use crate::model::problem::{Problem, Why};

/// The layers of a function.
pub(super) fn import(function: Function, options: &Options) -> Imported {
    let mut import = Import {
        options,
        files: Files::new(&options.beside),
        network: Network::default(),
        names: HashMap::new(),
        problems: Vec::new(),
        inputs: Vec::new(),
        extents: Vec::new(),
        results: Vec::new(),
        wider: Vec::new(),
    };
    for (name, of) in function.inputs {
        if import.names.contains_key(&name) {
            import.kept::<()>("input", &name, Err(Why::twice(&name)));
            continue;
        }
        let made = import.input(&name, of, function.flexible.get(&name));
        let operand = import.kept("input", &name, made).map(Operand::Value);
        import.names.insert(name, operand);
    }
    for operation in function.operations {
        import.operation(operation);
        if import.problems.len() >= PROBLEMS_MAX {
            break;
        }
    }
    import.finish(&function.outputs)
}

struct Import<'a> {
    options: &'a Options,
    files: Files<'a>,
    network: Network,
    /// The meaning of each name: `None` for the result of an operation that cannot be mapped.
    names: HashMap<String, Option<Operand>>,
    problems: Vec<Problem>,
    /// Inputs that can be bound, and extents that are open.
    inputs: Vec<String>,
    extents: Vec<String>,
    /// Results of operations, where one is to be cut.
    results: Vec<String>,
    /// Inputs and results of wider numbers than halves.
    wider: Vec<String>,
}

impl Import<'_> {
    fn kept<T>(&mut self, operation: &str, name: &str, made: Result<T, Why>) -> Option<T> {
        made.map_err(|why| {
            // Those behind the last one that is told are not kept.
            if self.problems.len() < PROBLEMS_MAX {
                self.problems.push(Problem::new(operation, name, Vec::new(), why));
            }
        })
        .ok()
    }

    /// An input; one of whole numbers is no problem before somebody reads it.
    fn input(&mut self, name: &str, of: Option<Type>, flexible: Option<&Flexible>) -> Result<ValueId, Why> {
        let of = of.ok_or_else(|| Why::Mode("it is no tensor, or one of any rank".to_owned()))?;
        self.inputs.push(name.to_owned());
        if of.element.is_wider() {
            self.wider.push(name.to_owned());
        }
        let open = of.dims.iter().enumerate().filter(|(_, extent)| extent.is_none());
        self.extents.extend(open.map(|(axis, _)| format!("{name}.{axis}")));
        let kind = of.element.kind();
        let kind = kind.ok_or_else(|| Why::Mode(format!("elements {} are not mapped", of.element)))?;
        if let Some(array) = self.options.constants.get(name) {
            of.check("the bound array", array.dims())?;
            return Ok(self.network.stored(name, array.clone(), kind));
        }
        let given = |(axis, extent): (usize, &Option<u64>)| {
            let known = extent.map(|extent| usize::try_from(extent).unwrap_or(usize::MAX));
            known.or_else(|| self.options.extents.get(&format!("{name}.{axis}")).copied())
        };
        let given: Vec<Option<usize>> = of.dims.iter().enumerate().map(given).collect();
        let chosen = match flexible {
            Some(flexible) if of.dims.contains(&None) => flexible.chosen(name, &given)?,
            _ => given,
        };
        let known = |(axis, extent): (usize, &Option<usize>)| {
            extent.ok_or_else(|| Why::Open { name: format!("{name}.{axis}") })
        };
        let dims = chosen.iter().enumerate().map(known).collect::<Result<Vec<_>, _>>()?;
        // Without elements there is nothing to fill, and the tensor is known.
        if elements(&dims).is_ok_and(|count| count == 0) {
            return Ok(self.network.constant(name, Array::new(dims, Vec::new())?, kind));
        }
        if kind == Kind::Integer {
            return Ok(self.network.whole_input(name, dims)?);
        }
        Ok(self.network.input(name, dims, kind)?)
    }

    fn value(&mut self, name: &str, value: Constant) -> Result<Operand, Why> {
        let (of, values) = match value {
            Constant::Text(text) => return Ok(Operand::Text(text)),
            Constant::Other => {
                return Err(Why::Mode("the constant is neither a tensor nor a text".to_owned()));
            }
            Constant::Numbers { of, values } => {
                if let Some(number) = values.iter().find(|&&number| !of.element.has(number)) {
                    return Err(Why::Mode(format!("{number} is no {}", of.element)));
                }
                (of, values)
            }
            Constant::Raw { of, bytes } => {
                let values = self.decoded(&bytes, &of)?;
                (of, values)
            }
            Constant::Blob { of, file, offset } => {
                let path = file.strip_prefix("@model_path/").unwrap_or(&file);
                let file = self.files.read(path).map_err(Why::Mode)?;
                let bytes = blob::read(&file, offset, of.element).map_err(Why::Mode)?;
                let values = self.decoded(bytes, &of)?;
                (of, values)
            }
        };
        let kind =
            of.element.kind().ok_or_else(|| Why::Mode(format!("elements {} are not mapped", of.element)))?;
        let array = Array::new(extents(&of)?, values)?;
        self.network.has_room_to_store(array.values().len())?;
        Ok(Operand::Value(self.network.stored(name, array, kind)))
    }

    fn decoded(&self, bytes: &[u8], of: &Type) -> Result<Vec<f64>, Why> {
        let count = elements(&extents(of)?)?;
        self.network.has_room_to_store(count)?;
        blob::numbers(bytes, of.element, count).ok_or_else(|| {
            Why::Mode(format!("{} bytes are not {count} elements {}", bytes.len(), of.element))
        })
    }

    fn operation(&mut self, mut operation: Operation) {
        let name = match operation.attributes.remove("name") {
            Some(Constant::Text(name)) if !name.is_empty() => name,
            _ => operation.outputs.first().cloned().unwrap_or_default(),
        };
        let operator = std::mem::take(&mut operation.operator);
        let first = self.network.values.len();
        let made = self.made(&operator, &mut operation, &name).unwrap_or_default();
        let mut made = made.into_iter();
        for (output, of) in operation.outputs.into_iter().zip(operation.types) {
            let mut operand = made.next();
            if of.as_ref().is_some_and(|of| of.element.is_wider()) {
                self.wider.push(output.clone());
            }
            if self.names.contains_key(&output) {
                self.kept::<()>(&operator, &name, Err(Why::twice(&output)));
                continue;
            }
            if let (Some(Operand::Value(value)), Some(of)) = (&operand, of) {
                if let Some(nearest) = of.element.nearest() {
                    self.network.round_known(first, &[*value], Kind::Real, nearest);
                }
                if let ElementType::Whole(bits, has_sign) = of.element {
                    let wrap = |value| wrapped(value, bits, has_sign);
                    self.network.round_known(first, &[*value], Kind::Integer, wrap);
                }
                let what = format!("result {:?}", excerpt(&output));
                let checked = of.check(&what, self.network.dims(*value));
                let checked = checked.and_then(|()| of.check_kind(&what, self.network.values[*value].kind));
                operand = self.kept(&operator, &name, checked).and(operand);
            }
            if let Some(Operand::Value(value)) = operand {
                let made = cut::result(&mut self.network, self.options, &output, value);
                operand = self.kept("cut", &output, made).map(Operand::Value);
            }
            if !self.options.cuts.is_empty() {
                self.results.push(output.clone());
            }
            if let Some(Operand::Value(value)) = operand {
                // The client knows tensors by the names of the model.
                self.network.rename(value, &output);
            }
            self.names.insert(output, operand);
        }
    }

    /// The results of an operation; `None` if it or an operation that it reads from cannot be mapped.
    fn made(&mut self, operator: &str, operation: &mut Operation, name: &str) -> Option<Vec<Operand>> {
        if operator == "const" {
            let value = operation.attributes.remove("val").unwrap_or(Constant::Other);
            let made = self.value(name, value);
            return self.kept("const", name, made).map(|operand| vec![operand]);
        }
        let mut arguments: BTreeMap<String, Vec<Operand>> = BTreeMap::new();
        let mut is_known = true;
        // Compressed constants have their parts as attributes.
        if operator.starts_with("constexpr_") {
            for (key, value) in std::mem::take(&mut operation.attributes) {
                let made = self.value(name, value);
                match self.kept(operator, name, made) {
                    Some(operand) => drop(arguments.insert(key, vec![operand])),
                    None => is_known = false,
                }
            }
        }
        for (key, list) in std::mem::take(&mut operation.inputs) {
            let mut operands = Vec::new();
            for argument in list {
                let operand = match argument {
                    Argument::Constant(value) => {
                        let made = self.value(name, value);
                        self.kept(operator, name, made)
                    }
                    Argument::Name(wanted) => match self.names.get(&wanted) {
                        Some(operand) => operand.clone(),
                        None => self.kept(operator, name, Err(Why::not_made(&wanted))),
                    },
                };
                match operand {
                    Some(operand) => operands.push(operand),
                    None => is_known = false,
                }
            }
            arguments.insert(key, operands);
        }
        if !is_known {
            // What it reads is not there, but that it is not mapped shows all the same.
            if !operators::is_mapped(operator) {
                self.kept::<()>(operator, name, Err(Why::Operation));
            }
            return None;
        }
        let tensors = arguments.values().flatten().filter_map(|operand| match operand {
            Operand::Value(value) if self.network.known(*value).is_none() => Some(*value),
            _ => None,
        });
        let shapes: Vec<Vec<usize>> = tensors.map(|value| self.network.dims(value).to_vec()).collect();
        let outputs = operation.outputs.len();
        let made = if let Err(full) = self.network.is_within_bounds() {
            Err(full.into())
        } else if operation.blocks == 0 {
            operators::call(&mut Call::new(&mut self.network, operator, name, arguments, outputs))
        } else {
            Err(Why::Mode("operations with blocks of their own are not mapped".to_owned()))
        };
        let made = cut::rows(&mut self.network, self.options, operation.outputs.first(), made);
        match made {
            Ok(values) => Some(values.into_iter().map(Operand::Value).collect()),
            Err(why) => {
                self.problems.push(Problem::new(operator, name, shapes, why));
                None
            }
        }
    }

    fn finish(mut self, outputs: &[String]) -> Imported {
        // Operations behind the last problem that is told were not read.
        let is_whole = self.problems.len() < PROBLEMS_MAX;
        let mut names = HashSet::new();
        for output in outputs.iter().filter(|_| is_whole) {
            match self.names.get(output) {
                Some(&Some(Operand::Value(value))) => {
                    let made = imported::output(&mut self.network, &mut names, output, value);
                    self.kept("output", output, made);
                }
                Some(None) => {}
                _ => drop(self.kept::<()>(
                    "output",
                    output,
                    Err(Why::Mode("no operation makes it".to_owned())),
                )),
            }
        }
        let Self { network, problems, inputs, extents, results, wider, .. } = self;
        Imported { network, problems, inputs, extents, results, wider }
    }
}

fn extents(of: &Type) -> Result<Vec<usize>, Why> {
    let extent = |extent: &Option<u64>| {
        extent
            .and_then(|extent| usize::try_from(extent).ok())
            .ok_or_else(|| Why::Mode("an extent of the constant is not known".to_owned()))
    };
    of.dims.iter().map(extent).collect()
}
