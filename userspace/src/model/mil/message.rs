//! Messages of the format, as far as they are needed; the numbers are those of the published `Model.proto` and `MIL.proto`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use super::program::{Argument, Element, Function, OPERATIONS_MAX, Operation, Type, Value, chosen};
use crate::model::compile::Error;
use crate::model::protobuf::{Damage, Field, Message};

/// The function of a `Model` that is compiled.
pub(super) fn read(bytes: &[u8]) -> Result<Function, Error> {
    let mut functions = Vec::new();
    let mut program = None;
    Message::new("Model", bytes).for_each(|number, field| {
        if number == 502 {
            program = Some(field.bytes());
        }
        Ok::<(), Damage>(())
    })?;
    Message::new("Program", program.ok_or(Error::NoProgram)?).for_each(|number, field| {
        if number == 2 {
            let (name, bytes) = entry(field.bytes())?;
            functions.push(function(name, bytes)?);
        }
        Ok::<(), Error>(())
    })?;
    chosen(functions)
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

fn function(name: String, bytes: &[u8]) -> Result<Function, Error> {
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
    let &(_, block) = blocks.get(of_opset.unwrap_or(0)).ok_or(Error::NoGraph)?;
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
        return Err(Error::Nodes { count: operations.len() });
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
            3 => operation.outputs.push(named_type(field.bytes())?.0),
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
                    2 => arguments.push(Argument::Value(value(field.bytes())?)),
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
            of = Some(tensor_type(field.bytes())?);
        }
        Ok::<(), Damage>(())
    })?;
    Ok(of)
}

fn tensor_type(bytes: &[u8]) -> Result<Type, Damage> {
    let mut of = Type { element: Element::Other, dims: Vec::new() };
    Message::new("TensorType", bytes).for_each(|number, field| {
        match number {
            1 => of.element = element(field.number()),
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
                    }
                    Ok::<(), Damage>(())
                })?;
                of.dims.push(extent);
            }
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(of)
}

const fn element(number: u64) -> Element {
    match number {
        1 => Element::Bool,
        2 => Element::Text,
        10 => Element::Half,
        11 => Element::Single,
        12 => Element::Double,
        13 => Element::Brain,
        21 => Element::Whole(8, true),
        22 => Element::Whole(16, true),
        23 => Element::Whole(32, true),
        24 => Element::Whole(64, true),
        25 => Element::Whole(4, true),
        31 => Element::Whole(8, false),
        32 => Element::Whole(16, false),
        33 => Element::Whole(32, false),
        34 => Element::Whole(64, false),
        35 => Element::Whole(4, false),
        36 => Element::Whole(2, false),
        37 => Element::Whole(1, false),
        38 => Element::Whole(6, false),
        39 => Element::Whole(3, false),
        _ => Element::Other,
    }
}

fn value(bytes: &[u8]) -> Result<Value, Damage> {
    let (mut of, mut value) = (None, Value::Other);
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
        value = Value::Blob { of, file, offset };
    }
    Ok(value)
}

/// `TensorValue`: one list, of whichever form.
fn tensor(bytes: &[u8], of: &Type) -> Result<Value, Damage> {
    let mut value = Value::Numbers { of: of.clone(), values: Vec::new() };
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
            4 => Value::Text(text),
            7 => Value::Raw { of: of.clone(), bytes: raw },
            _ => Value::Numbers { of: of.clone(), values },
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
