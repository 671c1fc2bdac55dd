//! Messages of the format, as far as they are needed; the numbers are those of the published `onnx.proto`.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

use std::collections::BTreeMap;

use super::attribute::Attribute;
use crate::model::protobuf::{Damage, Message};

/// `ModelProto`.
#[derive(Debug, Default)]
pub(super) struct Model<'a> {
    pub(super) graph: Option<Graph<'a>>,
    /// Version of the operators without a domain.
    pub(super) opset: Option<i64>,
    /// Whether it says the version of any operators.
    pub(super) has_versions: bool,
}

/// Whether operators of a domain are the standard's own.
pub(super) fn is_standard(domain: &str) -> bool {
    matches!(domain, "" | "ai.onnx")
}

/// `GraphProto`.
#[derive(Debug, Default)]
pub(super) struct Graph<'a> {
    pub(super) nodes: Vec<&'a [u8]>,
    pub(super) initializers: Vec<&'a [u8]>,
    pub(super) inputs: Vec<ValueInfo>,
    pub(super) outputs: Vec<ValueInfo>,
}

/// `NodeProto`.
#[derive(Debug, Default)]
pub(super) struct Node<'a> {
    pub(super) name: String,
    pub(super) operator: String,
    pub(super) domain: String,
    pub(super) inputs: Vec<String>,
    pub(super) outputs: Vec<String>,
    pub(super) attributes: BTreeMap<String, Attribute<'a>>,
}

/// `ValueInfoProto` of a tensor.
#[derive(Clone, Debug, Default)]
pub(super) struct ValueInfo {
    pub(super) name: String,
    /// 0 where it is no tensor.
    pub(super) element: u64,
    /// `None` where the rank is not known.
    pub(super) dims: Option<Vec<Extent>>,
}

/// An extent, or the name of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Known(i64),
    Named(String),
}

impl<'a> Model<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Damage> {
        let mut model = Self::default();
        Message::new("ModelProto", bytes).for_each(|number, field| {
            match number {
                7 => model.graph = Some(Graph::read(field.bytes())?),
                8 => {
                    let (mut domain, mut version) = (String::new(), 0);
                    Message::new("OperatorSetIdProto", field.bytes()).for_each(|number, field| {
                        match number {
                            1 => domain = field.text(),
                            2 => version = field.signed(),
                            _ => {}
                        }
                        Ok::<(), Damage>(())
                    })?;
                    model.has_versions = true;
                    if is_standard(&domain) {
                        model.opset = Some(version);
                    }
                }
                _ => {}
            }
            Ok::<(), Damage>(())
        })?;
        Ok(model)
    }
}

impl<'a> Graph<'a> {
    fn read(bytes: &'a [u8]) -> Result<Self, Damage> {
        let mut graph = Self::default();
        Message::new("GraphProto", bytes).for_each(|number, field| {
            match number {
                1 => graph.nodes.push(field.bytes()),
                5 => graph.initializers.push(field.bytes()),
                11 => graph.inputs.push(ValueInfo::read(field.bytes())?),
                12 => graph.outputs.push(ValueInfo::read(field.bytes())?),
                _ => {}
            }
            Ok::<(), Damage>(())
        })?;
        Ok(graph)
    }
}

impl<'a> Node<'a> {
    /// The names of operands, as far as the message is whole.
    pub(super) fn inputs(bytes: &[u8]) -> Vec<String> {
        let mut inputs = Vec::new();
        let _ = Message::new("NodeProto", bytes).for_each(|number, field| {
            if number == 1 {
                inputs.push(field.text());
            }
            Ok::<(), Damage>(())
        });
        inputs
    }

    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, Damage> {
        let mut node = Self::default();
        Message::new("NodeProto", bytes).for_each(|number, field| {
            match number {
                1 => node.inputs.push(field.text()),
                2 => node.outputs.push(field.text()),
                3 => node.name = field.text(),
                4 => node.operator = field.text(),
                5 => {
                    let (name, attribute) = Attribute::read(field.bytes())?;
                    node.attributes.insert(name, attribute);
                }
                7 => node.domain = field.text(),
                _ => {}
            }
            Ok::<(), Damage>(())
        })?;
        Ok(node)
    }
}

impl ValueInfo {
    fn read(bytes: &[u8]) -> Result<Self, Damage> {
        let mut info = Self::default();
        Message::new("ValueInfoProto", bytes).for_each(|number, field| {
            match number {
                1 => info.name = field.text(),
                2 => Message::new("TypeProto", field.bytes()).for_each(|number, field| {
                    if number == 1 {
                        info.tensor(field.bytes())?;
                    }
                    Ok::<(), Damage>(())
                })?,
                _ => {}
            }
            Ok::<(), Damage>(())
        })?;
        Ok(info)
    }

    /// `TypeProto.Tensor`.
    fn tensor(&mut self, bytes: &[u8]) -> Result<(), Damage> {
        Message::new("TypeProto.Tensor", bytes).for_each(|number, field| {
            match number {
                1 => self.element = field.number(),
                2 => {
                    let mut dims = Vec::new();
                    Message::new("TensorShapeProto", field.bytes()).for_each(|number, field| {
                        if number == 1 {
                            dims.push(extent(field.bytes())?);
                        }
                        Ok::<(), Damage>(())
                    })?;
                    self.dims = Some(dims);
                }
                _ => {}
            }
            Ok::<(), Damage>(())
        })
    }
}

fn extent(bytes: &[u8]) -> Result<Extent, Damage> {
    let mut extent = Extent::Named(String::new());
    Message::new("TensorShapeProto.Dimension", bytes).for_each(|number, field| {
        match number {
            1 => extent = Extent::Known(field.signed()),
            2 => extent = Extent::Named(field.text()),
            _ => {}
        }
        Ok::<(), Damage>(())
    })?;
    Ok(extent)
}
