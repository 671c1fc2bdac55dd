//! The text of a program, as a compiled model has it:
//!
//! ```text
//! program(1.0)
//! [buildInfo = dict<..>({{"component", "version"}})]
//! {
//!     func main<ios15>(tensor<fp16, [1, 8]> x) {
//!             tensor<fp16, [4, 8]> w = const()[name = tensor<string, []>("w"), val = tensor<fp16, [4, 8]>(BLOBFILE(
//!                 path = tensor<string, []>("@model_path/weights/weight.bin"), offset = tensor<uint64, []>(64)))];
//!             tensor<fp16, [1, 4]> y = linear(weight = w, x = x)[name = tensor<string, []>("y")];
//!         } -> (y);
//! }
//! ```
//!
//! Later versions write `string("y")` and `int32(1)` for a tensor without axes.
#![deny(clippy::unwrap_used, clippy::expect_used, clippy::panic, clippy::indexing_slicing)]

mod words;

use std::collections::BTreeMap;

use super::program::{Argument, Constant, ElementType, Function, OPERATIONS_MAX, Operation, Type, chosen};
use crate::model::error::ModelError;
use crate::model::network::array::RANK_MAX;
use words::{Word, Words};

/// Most brackets inside of each other: as many as a tensor has axes, in a value in an attribute.
const NESTED_MAX: usize = RANK_MAX + 4;

/// Whether bytes begin as the text of a program does.
pub(super) fn begins(bytes: &[u8]) -> bool {
    let start = bytes.get(..bytes.len().min(4096)).unwrap_or_default();
    matches!(Words::new(start).peek(), Ok(Word::Name("program")))
}

/// The function of a program that is compiled.
pub(super) fn read(bytes: &[u8]) -> Result<Function, ModelError> {
    let mut text = Text { words: Words::new(bytes), nested: 0, operations: 0 };
    chosen(text.program()?, None)
}

struct Text<'a> {
    words: Words<'a>,
    nested: usize,
    operations: usize,
}

impl Text<'_> {
    fn program(&mut self) -> Result<Vec<Function>, ModelError> {
        self.words.want_name("program")?;
        self.words.want('(')?;
        self.words.number()?;
        self.words.want(')')?;
        self.attributes()?;
        self.words.want('{')?;
        let mut functions = Vec::new();
        while !self.words.take('}')? {
            functions.push(self.function()?);
        }
        Ok(functions)
    }

    fn function(&mut self) -> Result<Function, ModelError> {
        self.words.want_name("func")?;
        let mut function = Function { name: self.words.name()?, ..Function::default() };
        if self.words.take('<')? {
            self.words.name()?;
            self.words.want('>')?;
        }
        self.words.want('(')?;
        while !self.words.take(')')? {
            let of = self.value_type()?;
            function.inputs.push((self.words.name()?, of));
            self.words.take(',')?;
        }
        self.attributes()?;
        self.words.want('{')?;
        while !self.words.take('}')? {
            self.operations = self.operations.saturating_add(1);
            if self.operations > OPERATIONS_MAX {
                return Err(ModelError::Nodes { count: self.operations });
            }
            function.operations.push(self.operation()?);
        }
        self.words.want('-')?;
        self.words.want('>')?;
        self.words.want('(')?;
        while !self.words.take(')')? {
            function.outputs.push(self.words.name()?);
            self.words.take(',')?;
        }
        self.words.take(';')?;
        Ok(function)
    }

    fn operation(&mut self) -> Result<Operation, ModelError> {
        let mut operation = Operation::default();
        loop {
            operation.types.push(self.value_type()?);
            operation.outputs.push(self.words.name()?);
            if !self.words.take(',')? {
                break;
            }
        }
        self.words.want('=')?;
        operation.operator = self.words.name()?;
        self.words.want('(')?;
        while !self.words.take(')')? {
            let name = self.words.name()?;
            self.words.want('=')?;
            let arguments = if self.words.take('(')? {
                let mut list = Vec::new();
                while !self.words.take(')')? {
                    list.push(self.argument()?);
                    self.words.take(',')?;
                }
                list
            } else {
                vec![self.argument()?]
            };
            if operation.inputs.insert(name, arguments).is_some() {
                return Err(self.words.error("an operand whose name another one has, before this,"));
            }
            self.words.take(',')?;
        }
        operation.attributes = self.attributes()?;
        if matches!(self.words.peek()?, Word::Sign('{')) {
            return Err(self.words.error("a block inside of an operation, which is not mapped,"));
        }
        self.words.want(';')?;
        Ok(operation)
    }

    /// A name, or a value where it stands.
    fn argument(&mut self) -> Result<Argument, ModelError> {
        let before = self.words.clone();
        let name = self.words.name()?;
        match self.words.peek()? {
            Word::Sign('<' | '(') => {
                self.words = before;
                Ok(Argument::Constant(self.value()?))
            }
            _ => Ok(Argument::Name(name)),
        }
    }

    /// The text in square brackets, if they are there.
    fn attributes(&mut self) -> Result<BTreeMap<String, Constant>, ModelError> {
        let mut attributes = BTreeMap::new();
        if self.words.take('[')? {
            while !self.words.take(']')? {
                let name = self.words.name()?;
                self.words.want('=')?;
                attributes.insert(name, self.value()?);
                self.words.take(',')?;
            }
        }
        Ok(attributes)
    }

    /// Takes a step into brackets.
    fn inside<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, ModelError>) -> Result<T, ModelError> {
        if self.nested >= NESTED_MAX {
            return Err(self.words.error("another bracket inside of so many"));
        }
        self.nested = self.nested.saturating_add(1);
        let value = read(self)?;
        self.nested = self.nested.saturating_sub(1);
        Ok(value)
    }

    /// A type; `None` for what is no tensor.
    fn value_type(&mut self) -> Result<Option<Type>, ModelError> {
        let word = self.words.name()?;
        match word.as_str() {
            "tensor" => {
                self.words.want('<')?;
                let element = self.words.name()?;
                let element = ElementType::of_word(&element).unwrap_or(ElementType::Other);
                self.words.want(',')?;
                self.words.want('[')?;
                let mut dims = Vec::new();
                while !self.words.take(']')? {
                    dims.push(if self.words.take('?')? { None } else { Some(self.words.whole()?) });
                    self.words.take(',')?;
                }
                self.words.want('>')?;
                Ok(Some(Type { element, dims }))
            }
            "dict" | "list" | "tuple" | "state" => {
                self.words.want('<')?;
                while !self.words.take('>')? {
                    match self.words.peek()? {
                        Word::Number(_) | Word::Sign('?') => self.words.skip()?,
                        _ => drop(self.inside(Self::value_type)?),
                    }
                    self.words.take(',')?;
                }
                Ok(None)
            }
            word => match ElementType::of_word(word) {
                Some(element) => Ok(Some(Type { element, dims: Vec::new() })),
                None => Err(self.words.error("no type, but one is wanted before this,")),
            },
        }
    }

    fn value(&mut self) -> Result<Constant, ModelError> {
        let of = self.value_type()?;
        self.words.want('(')?;
        let Some(of) = of else {
            self.passed_over()?;
            return Ok(Constant::Other);
        };
        if matches!(self.words.peek()?, Word::Name("BLOBFILE")) {
            let value = self.inside(|text| text.blob(of))?;
            self.words.want(')')?;
            return Ok(value);
        }
        if of.element == ElementType::Text {
            let mut text = None;
            while !self.words.take(')')? {
                match self.words.peek()? {
                    Word::Text(_) => text = Some(self.words.text()?),
                    _ => self.words.skip()?,
                }
            }
            return Ok(Constant::Text(text.unwrap_or_default()));
        }
        let mut values = Vec::new();
        while !self.words.take(')')? {
            match self.words.peek()? {
                Word::Sign('[' | ']' | ',') => self.words.skip()?,
                _ => values.push(self.words.number()?),
            }
        }
        Ok(Constant::Numbers { of, values })
    }

    fn blob(&mut self, of: Type) -> Result<Constant, ModelError> {
        self.words.want_name("BLOBFILE")?;
        self.words.want('(')?;
        let (mut file, mut offset) = (None, None);
        while !self.words.take(')')? {
            let name = self.words.name()?;
            self.words.want('=')?;
            match (name.as_str(), self.inside(Self::value)?) {
                ("path", Constant::Text(text)) => file = Some(text),
                // An offset is a whole number; what is none lies outside of any file.
                ("offset", Constant::Numbers { values, .. }) => {
                    offset = values.first().map(|&value| value as u64)
                }
                _ => {}
            }
            self.words.take(',')?;
        }
        match (file, offset) {
            (Some(file), Some(offset)) => Ok(Constant::Blob { of, file, offset }),
            _ => Err(self.words.error("a BLOBFILE without path or offset before this,")),
        }
    }

    /// To the bracket that closes one that is open.
    fn passed_over(&mut self) -> Result<(), ModelError> {
        let mut open = 1_usize;
        while open > 0 {
            match self.words.peek()? {
                Word::Sign('(') => open = open.saturating_add(1),
                Word::Sign(')') => open = open.saturating_sub(1),
                Word::End => return Err(self.words.error("no bracket that closes, but")),
                _ => {}
            }
            self.words.skip()?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_of_what_is_wrong_is_told() {
        for (text, place) in [
            ("program(1.0)\n{\n  funk main() {} -> ();\n}", "3:3"),
            ("program(1.0) { func main<ios15>(tensor<fp16, [1]> x) { } -> (x)", "1:64"),
            ("program(1.0) { func main() { fp16 y = f(x = g{ ; } -> (y); }", "1:46"),
            ("program(1.0) { func main() { fp16 y = f(x = \"", "1:45"),
        ] {
            let why = read(text.as_bytes()).unwrap_err().to_string();
            assert!(why.contains(place), "{text}: {why}");
        }
    }

    #[test]
    fn brackets_without_end_are_refused() {
        let text = format!("program(1.0) {{ func main({}", "dict<".repeat(1_000_000));
        assert!(read(text.as_bytes()).unwrap_err().to_string().contains("bracket"));
    }

    #[test]
    fn values_of_both_versions_are_read() {
        let text = "program(1.3) [info = dict<string, string>({{\"a(\", \"b\"}})] { func main<ios18>(fp16 x) {
            string s = const()[name = string(\"s\"), val = tensor<string, []>(\"same\")];
            tensor<fp32, [2, 2]> n = const()[val = tensor<fp32, [2, 2]>([[0x1.8p+1, -0x1p-2], [inf, -1.5e1]])];
            bool a, tensor<int32, [1]> b = f(x = (s, n), y = int32(-7), z = s)[name = string(\"f\")];
        } -> (a, b); }";
        let function = read(text.as_bytes()).unwrap_or_else(|why| panic!("{why}"));
        let value = |at: usize| function.operations[at].attributes.get("val");
        assert_eq!(value(0), Some(&Constant::Text("same".to_owned())));
        let of = Type { element: ElementType::Single, dims: vec![Some(2), Some(2)] };
        let values = vec![3.0, -0.25, f64::INFINITY, -15.0];
        assert_eq!(value(1), Some(&Constant::Numbers { of, values }));
        let last = &function.operations[2];
        assert_eq!(
            (last.operator.as_str(), last.outputs.as_slice()),
            ("f", &["a".to_owned(), "b".to_owned()][..])
        );
        let name = |name: &str| Argument::Name(name.to_owned());
        assert_eq!(last.inputs["x"], [name("s"), name("n")]);
        let of = Type { element: ElementType::Whole(32, true), dims: Vec::new() };
        assert_eq!(last.inputs["y"], [Argument::Constant(Constant::Numbers { of, values: vec![-7.0] })]);
    }
}
