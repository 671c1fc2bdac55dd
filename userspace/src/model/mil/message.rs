//! Messages of the format, as far as they are needed; the numbers are those of the published `Model.proto` and `MIL.proto`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::flexible;
use super::program::{Argument, Constant, ElementType, Function, OPERATIONS_MAX, Operation, Type, chosen};
use crate::model::error::ModelError;
use crate::model::protobuf::{Damage, Field, Message};

/// The function of a `Model` that is compiled.
pub(super) fn read(bytes: &[u8]) -> Result<Function, ModelError> {
    let mut functions = Vec::new();
    let (mut program, mut description): (_, &[u8]) = (None, &[]);
    Message::new("Model", bytes).for_each(|number, field| {
        match number {
            2 => description = field.bytes(),
            502 => program = Some(field.bytes()),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Message::new("Program", program.ok_or(ModelError::NoProgram)?).for_each(|number, field| {
        if number == 2 {
            let (name, bytes) = entry(field.bytes())?;
            functions.push(function(name, bytes)?);
        }
        Ok::<(), ModelError>(())
    })?;
    let default = default_function(description)?;
    let mut function = chosen(functions, default.as_deref())?;
    function.flexible = flexible::read(description, &function.name)?;
    Ok(function)
}

/// The function that a `ModelDescription` names, of a model with several.
fn default_function(description: &[u8]) -> Result<Option<String>, Damage> {
    let mut name = None;
    Message::new("ModelDescription", description).for_each(|number, field| {
        if number == 21 {
            name = Some(field.text());
        }
        Ok::<(), Damage>(())
    })?;
    Ok(name.filter(|name: &String| !name.is_empty()))
}

/// An entry of a map: its key, and the bytes of its value.
fn entry(bytes: &[u8]) -> Result<(String, &[u8]), Damage> {
    let (mut key, mut value): (_, &[u8]) = (String::new(), &[]);
    Message::new("map entry", bytes).for_each(|number, field| {
        match number {
            1 => key = field.text(),
            2 => value = field.bytes(),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok((key, value))
}

fn function(name: String, bytes: &[u8]) -> Result<Function, ModelError> {
    let mut function = Function { name, ..Function::default() };
    let (mut opset, mut blocks) = (String::new(), Vec::new());
    Message::new("Function", bytes).for_each(|number, field| {
        match number {
            1 => function.inputs.push(named_type(field.bytes())?),
            2 => opset = field.text(),
            3 => blocks.push(entry(field.bytes())?),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    let of_opset = blocks.iter().position(|(name, _)| *name == opset);
    let &(_, block) = blocks.get(of_opset.unwrap_or(0)).ok_or(ModelError::NoGraph)?;
    let mut operations = Vec::new();
    Message::new("Block", block).for_each(|number, field| {
        match number {
            2 => function.outputs.push(field.text()),
            3 => operations.push(field.bytes()),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    if operations.len() > OPERATIONS_MAX {
        return Err(ModelError::Nodes { count: operations.len() });
    }
    function.operations = operations.into_iter().map(operation).collect::<Result<_, _>>()?;
    Ok(function)
}

fn operation(bytes: &[u8]) -> Result<Operation, Damage> {
    let mut operation = Operation::default();
    Message::new("Operation", bytes).for_each(|number, field| {
        match number {
            1 => operation.operator = field.text(),
            2 => {
                let (name, bytes) = entry(field.bytes())?;
                operation.inputs.insert(name, arguments(bytes)?);
            }
            3 => {
                let (name, of) = named_type(field.bytes())?;
                operation.outputs.push(name);
                operation.types.push(of);
            }
            4 => operation.blocks = operation.blocks.saturating_add(1),
            5 => {
                let (name, bytes) = entry(field.bytes())?;
                operation.attributes.insert(name, value(bytes)?);
            }
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(operation)
}

fn arguments(bytes: &[u8]) -> Result<Vec<Argument>, Damage> {
    let mut arguments = Vec::new();
    Message::new("Argument", bytes).for_each(|number, field| {
        if number == 1 {
            Message::new("Binding", field.bytes()).for_each(|number, field| {
                match number {
                    1 => arguments.push(Argument::Name(field.text())),
                    2 => arguments.push(Argument::Constant(value(field.bytes())?)),
                    _ => {}
                }
                Ok::<(), Damage>(())
            })?;
        }
        Ok::<(), Damage>(())
    })?;
    Ok(arguments)
}

fn named_type(bytes: &[u8]) -> Result<(String, Option<Type>), Damage> {
    let (mut name, mut of) = (String::new(), None);
    Message::new("NamedValueType", bytes).for_each(|number, field| {
        match number {
            1 => name = field.text(),
            2 => of = value_type(field.bytes())?,
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok((name, of))
}

/// The type of a tensor; `None` for lists, dictionaries and states.
fn value_type(bytes: &[u8]) -> Result<Option<Type>, Damage> {
    let mut of = None;
    Message::new("ValueType", bytes).for_each(|number, field| {
        if number == 1 {
            of = tensor_type(field.bytes())?;
        }
        Ok::<(), Damage>(())
    })?;
    Ok(of)
}

/// The type of a tensor; `None` if its rank is not known.
fn tensor_type(bytes: &[u8]) -> Result<Option<Type>, Damage> {
    let mut of = Type { element: ElementType::Other, dims: Vec::new() };
    let mut has_rank = true;
    Message::new("TensorType", bytes).for_each(|number, field| {
        match number {
            1 => of.element = element(field.number()),
            2 => has_rank &= field.signed() >= 0,
            3 => {
                let mut extent = None;
                Message::new("Dimension", field.bytes()).for_each(|number, field| {
                    if number == 1 {
                        let mut size = 0;
                        Message::new("ConstantDimension", field.bytes()).for_each(|number, field| {
                            if number == 1 {
                                size = field.number();
                            }
                            Ok::<(), Damage>(())
                        })?;
                        extent = Some(size);
                    } else if number == 2 {
                        Message::new("UnknownDimension", field.bytes()).for_each(|number, field| {
                            // It stands for any number of axes.
                            has_rank &= number != 1 || field.number() == 0;
                            Ok::<(), Damage>(())
                        })?;
                    }
                    Ok::<(), Damage>(())
                })?;
                of.dims.push(extent);
            }
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(has_rank.then_some(of))
}

const fn element(number: u64) -> ElementType {
    match number {
        1 => ElementType::Bool,
        2 => ElementType::Text,
        10 => ElementType::Half,
        11 => ElementType::Single,
        12 => ElementType::Double,
        13 => ElementType::Brain,
        21 => ElementType::Whole(8, true),
        22 => ElementType::Whole(16, true),
        23 => ElementType::Whole(32, true),
        24 => ElementType::Whole(64, true),
        25 => ElementType::Whole(4, true),
        31 => ElementType::Whole(8, false),
        32 => ElementType::Whole(16, false),
        33 => ElementType::Whole(32, false),
        34 => ElementType::Whole(64, false),
        35 => ElementType::Whole(4, false),
        36 => ElementType::Whole(2, false),
        37 => ElementType::Whole(1, false),
        38 => ElementType::Whole(6, false),
        39 => ElementType::Whole(3, false),
        _ => ElementType::Other,
    }
}

fn value(bytes: &[u8]) -> Result<Constant, Damage> {
    let (mut of, mut value) = (None, Constant::Other);
    let (mut immediate, mut blob) = (None, None);
    Message::new("Value", bytes).for_each(|number, field| {
        match number {
            2 => of = value_type(field.bytes())?,
            3 => immediate = Some(field.bytes()),
            5 => blob = Some(field.bytes()),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    if let (Some(bytes), Some(of)) = (immediate, &of) {
        Message::new("ImmediateValue", bytes).for_each(|number, field| {
            if number == 1 {
                value = tensor(field.bytes(), of)?;
            }
            Ok::<(), Damage>(())
        })?;
    }
    if let (Some(bytes), Some(of)) = (blob, of) {
        let (mut file, mut offset) = (String::new(), 0);
        Message::new("BlobFileValue", bytes).for_each(|number, field| {
            match number {
                1 => file = field.text(),
                2 => offset = field.number(),
                _ => {}
            }
            Ok::<(), Damage>(())
        })?;
        value = Constant::Blob { of, file, offset };
    }
    Ok(value)
}

/// `TensorValue`: one list, of whichever form.
fn tensor(bytes: &[u8], of: &Type) -> Result<Constant, Damage> {
    let mut value = Constant::Numbers { of: of.clone(), values: Vec::new() };
    Message::new("TensorValue", bytes).for_each(|form, field| {
        let (mut values, mut raw, mut text) = (Vec::new(), Vec::new(), String::new());
        Message::new("list of values", field.bytes()).for_each(|number, field| {
            if number == 1 {
                match form {
                    4 => text = field.text(),
                    7 => raw.extend_from_slice(field.bytes()),
                    form => numbers(form, field, &mut values)?,
                }
            }
            Ok::<(), Damage>(())
        })?;
        value = match form {
            4 => Constant::Text(text),
            7 => Constant::Raw { of: of.clone(), bytes: raw },
            _ => Constant::Numbers { of: of.clone(), values },
        };
        Ok::<(), Damage>(())
    })?;
    Ok(value)
}

fn numbers(form: u64, field: Field<'_>, values: &mut Vec<f64>) -> Result<(), Damage> {
    match form {
        1 => {
            let mut singles = Vec::new();
            field.singles(&mut singles);
            values.extend(singles.into_iter().map(f64::from));
        }
        2 | 3 | 5 => {
            let mut integers = Vec::new();
            field.integers("list of values", &mut integers)?;
            values.extend(integers.into_iter().map(|value| value as f64));
        }
        6 => field.doubles(values),
        _ => {}
    }
    Ok(())
}
