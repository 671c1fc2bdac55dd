//! Models that tests make: a writer of ONNX, apart from the reader that is tested.

mod elsewhere;
mod mil;
mod network;
mod transformer;

pub use elsewhere::{Fed, array_of, results};
pub use mil::MIL_PROGRAMS;
pub use network::{bert, bert_tiny, mobilenet, mobilenet_whole, operators, sequence};
pub use transformer::gpt2_block;

use crate::random::Random;

/// Appends a number of variable length.
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a field of bytes.
pub fn bytes(number: u64, field: &[u8], out: &mut Vec<u8>) {
    varint(number << 3 | 2, out);
    varint(field.len() as u64, out);
    out.extend_from_slice(field);
}

/// Appends a field that is a number.
pub fn number(number: u64, field: i64, out: &mut Vec<u8>) {
    varint(number << 3, out);
    varint(field.cast_unsigned(), out);
}

/// An attribute of a node.
#[derive(Clone, Debug)]
pub enum Attribute {
    Integer(i64),
    /// A list of numbers.
    Integers(Vec<i64>),
    Single(f32),
    /// A list of singles.
    Singles(Vec<f32>),
    Text(&'static str),
}

impl Attribute {
    /// The number of its type in the format; other readers want it.
    const fn kind(&self) -> i64 {
        match self {
            Self::Single(_) => 1,
            Self::Integer(_) => 2,
            Self::Text(_) => 3,
            Self::Singles(_) => 6,
            Self::Integers(_) => 7,
        }
    }
}

/// A model that is put together node by node.
#[derive(Clone, Debug)]
pub struct Onnx {
    graph: Vec<u8>,
    names: usize,
    /// The versions of its operators, by domain.
    versions: Vec<(String, i64)>,
    /// The values of weights.
    values: Random,
}

impl Onnx {
    /// A model without nodes.
    pub fn new(seed: u64) -> Self {
        let net = Self { graph: Vec::new(), names: 0, versions: Vec::new(), values: Random::new(seed) };
        net.of_opset(20)
    }

    /// The same with operators of another version.
    pub fn of_opset(self, opset: i64) -> Self {
        self.of_versions(&[("", opset)])
    }

    /// The same with operators of these domains and versions.
    pub fn of_versions(mut self, versions: &[(&str, i64)]) -> Self {
        self.versions = versions.iter().map(|&(domain, version)| (domain.to_owned(), version)).collect();
        self
    }

    /// An input of singles.
    pub fn input(&mut self, name: &str, dims: &[i64]) -> String {
        self.port(11, name, 1, dims);
        name.to_owned()
    }

    /// An input of whole numbers of 64 bits.
    pub fn whole_input(&mut self, name: &str, dims: &[i64]) -> String {
        self.port(11, name, 7, dims);
        name.to_owned()
    }

    /// An output of singles.
    pub fn output(&mut self, name: &str, dims: &[i64]) {
        self.port(12, name, 1, dims);
    }

    /// An output of singles that leaves its extents to the reader.
    pub fn output_of_any_shape(&mut self, name: &str) {
        let (mut tensor, mut kind, mut info) = (Vec::new(), Vec::new(), Vec::new());
        number(1, 1, &mut tensor);
        bytes(1, &tensor, &mut kind);
        bytes(1, name.as_bytes(), &mut info);
        bytes(2, &kind, &mut info);
        bytes(12, &info, &mut self.graph);
    }

    /// A constant of singles.
    pub fn singles(&mut self, dims: &[i64], values: &[f32]) -> String {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.initializer(1, dims, &raw)
    }

    /// A constant of singles in another file.
    pub fn external(&mut self, dims: &[i64], entries: &[(&str, &str)]) -> String {
        self.names += 1;
        let name = format!("c{}", self.names);
        let mut tensor = Vec::new();
        dims.iter().for_each(|&extent| number(1, extent, &mut tensor));
        number(2, 1, &mut tensor);
        bytes(8, name.as_bytes(), &mut tensor);
        for (key, value) in entries {
            let mut entry = Vec::new();
            bytes(1, key.as_bytes(), &mut entry);
            bytes(2, value.as_bytes(), &mut entry);
            bytes(13, &entry, &mut tensor);
        }
        number(14, 1, &mut tensor);
        bytes(5, &tensor, &mut self.graph);
        name
    }

    /// A constant of whole numbers.
    pub fn integers(&mut self, values: &[i64]) -> String {
        let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        self.initializer(7, &[values.len() as i64], &raw)
    }

    /// A constant of random singles, evenly spread between `-most` and `most`.
    pub fn random(&mut self, dims: &[i64], most: f32) -> String {
        let count: i64 = dims.iter().product();
        let values: Vec<f32> = (0..count).map(|_| self.values.unit() * most).collect();
        self.singles(dims, &values)
    }

    /// A node with one result, whose name is returned.
    pub fn node(&mut self, operator: &str, inputs: &[&str], attributes: &[(&str, Attribute)]) -> String {
        self.names += 1;
        let output = format!("t{}", self.names);
        self.node_to(operator, inputs, &output, attributes);
        output
    }

    /// A node with one result of this name.
    pub fn node_to(
        &mut self,
        operator: &str,
        inputs: &[&str],
        output: &str,
        attributes: &[(&str, Attribute)],
    ) {
        self.node_to_all(operator, inputs, &[output], attributes);
    }

    /// A node with results of these names.
    pub fn node_to_all(
        &mut self,
        operator: &str,
        inputs: &[&str],
        outputs: &[&str],
        attributes: &[(&str, Attribute)],
    ) {
        let mut node = Vec::new();
        inputs.iter().for_each(|input| bytes(1, input.as_bytes(), &mut node));
        outputs.iter().for_each(|output| bytes(2, output.as_bytes(), &mut node));
        bytes(4, operator.as_bytes(), &mut node);
        for (name, attribute) in attributes {
            let mut message = Vec::new();
            bytes(1, name.as_bytes(), &mut message);
            number(20, attribute.kind(), &mut message);
            match attribute {
                Attribute::Integer(value) => number(3, *value, &mut message),
                Attribute::Integers(values) => {
                    values.iter().for_each(|&value| number(8, value, &mut message))
                }
                Attribute::Singles(values) => {
                    let raw: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
                    bytes(7, &raw, &mut message);
                }
                Attribute::Text(text) => bytes(4, text.as_bytes(), &mut message),
                Attribute::Single(value) => {
                    varint(2 << 3 | 5, &mut message);
                    message.extend_from_slice(&value.to_le_bytes());
                }
            }
            bytes(5, &message, &mut node);
        }
        bytes(1, &node, &mut self.graph);
    }

    pub fn finish(&self) -> Vec<u8> {
        let mut model = Vec::new();
        number(1, 9, &mut model);
        bytes(7, &self.graph, &mut model);
        for (domain, version) in &self.versions {
            let mut message = Vec::new();
            if !domain.is_empty() {
                bytes(1, domain.as_bytes(), &mut message);
            }
            number(2, *version, &mut message);
            bytes(8, &message, &mut model);
        }
        model
    }

    fn port(&mut self, field: u64, name: &str, element: i64, dims: &[i64]) {
        let (mut shape, mut tensor, mut kind, mut info) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for &extent in dims {
            let mut dim = Vec::new();
            number(1, extent, &mut dim);
            bytes(1, &dim, &mut shape);
        }
        number(1, element, &mut tensor);
        bytes(2, &shape, &mut tensor);
        bytes(1, &tensor, &mut kind);
        bytes(1, name.as_bytes(), &mut info);
        bytes(2, &kind, &mut info);
        bytes(field, &info, &mut self.graph);
    }

    /// A constant whose elements are of the standard's type of that number.
    pub fn initializer(&mut self, element: i64, dims: &[i64], raw: &[u8]) -> String {
        self.names += 1;
        let name = format!("c{}", self.names);
        let mut tensor = Vec::new();
        dims.iter().for_each(|&extent| number(1, extent, &mut tensor));
        number(2, element, &mut tensor);
        bytes(8, name.as_bytes(), &mut tensor);
        bytes(9, raw, &mut tensor);
        bytes(5, &tensor, &mut self.graph);
        name
    }
}
