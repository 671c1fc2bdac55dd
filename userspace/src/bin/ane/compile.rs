//! `ane compile`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;

use ane::container::Direction;
use ane::count::count;
use ane::decode::{ProgramReport, printable};
use ane::model::network::Array;
use ane::model::{self, Compiled, ModelError, Options, Remedy, onnx};
use ane::tensor::npy;
use anyhow::{Context, Result, anyhow};
use clap::Args;
use serde::Serialize;

use crate::failure::{Exit, Failure};
use crate::files::{self, Existing};
use crate::model::ModelArgs;

/// Compile a model to a program
///
/// Folds constants, joins layers that the engine does in one pass, lays out tensors, and casts numbers to halves. If the
/// engine cannot do an operation, the error names all such operations, each with its name, shapes and reason.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane compile network.onnx -o network.anec && ane run network.anec
  ane compile network.mlpackage -o packaged.anec
  ane compile network.onnx -o network.anec --dim batch=1 --report
  ane compile node.onnx -o node.anec --bind shape=shape.npy")]
pub(crate) struct Compile {
    #[command(flatten)]
    pub(crate) model: ModelArgs,
    /// The .anec file to write; a file that exists is not overwritten
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Overwrite a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// Print each layer with its tasks
    #[arg(long)]
    pub(crate) report: bool,
    /// Print JSON for another program to read, with the layers and their tasks
    #[arg(long)]
    pub(crate) json: bool,
}

/// The program that was made, as `ane info --json` has it.
#[derive(Serialize)]
struct Report {
    file: String,
    program: ProgramReport,
}

/// Most elements of an array that is bound.
const ELEMENTS_MAX: u64 = model::network::array::ELEMENTS_MAX;

pub(crate) fn run(args: &Compile) -> Result<()> {
    files::check_is_other(&args.output, [&args.model.model])?;
    let compiled = compiled(&args.model)?;
    let built = &compiled.built;
    files::save(&args.output, &compiled.to_anec()?, Existing::forced(args.force))?;
    if args.json {
        let program = ProgramReport::of(&compiled.program());
        return files::print_json(&Report { file: files::name(&args.output), program });
    }
    let mut page = String::new();
    writeln!(
        page,
        "{}: {}, {} of constants, {} of scratch memory",
        files::name(&args.output),
        count(built.task_count(), "task"),
        count(built.constants().len(), "byte"),
        built.scratch_bytes()
    )?;
    let directions = [(Direction::Input, &compiled.inputs), (Direction::Output, &compiled.outputs)];
    for (direction, ports) in directions {
        // Both are in the order of the model.
        let surfaces = built.surfaces().iter().filter(|surface| surface.direction == direction);
        for (port, surface) in ports.iter().zip(surfaces) {
            let (direction, name, shape) = (direction.name(), printable(&port.name), surface.shape);
            let shape = [shape.n, shape.c, shape.h, shape.w];
            writeln!(page, "  {direction:<7} {name:<16} {:?} as {shape:?}", port.dims)?;
        }
    }
    for note in &compiled.notes {
        writeln!(page, "  note: {note}")?;
    }
    if args.report {
        for step in &compiled.steps {
            let node = &compiled.network.nodes[step.node];
            let tasks = match step.tasks.len() {
                0 => "no task".to_owned(),
                1 => format!("task {}", step.tasks.start),
                _ => format!("tasks {} to {}", step.tasks.start, step.tasks.end - 1),
            };
            let dims = compiled.network.dims(node.output);
            let (operation, name) = (node.operation.name(), printable(&node.name));
            writeln!(page, "  {operation:<20} {name:<24} {dims:?}: {tasks}")?;
        }
    }
    files::print(page.as_bytes())
}

pub(crate) fn compiled(args: &ModelArgs) -> Result<Compiled> {
    let mut options = Options::default();
    for bind in &args.bind {
        let array = array(&bind.file).with_context(|| files::name(&bind.file))?;
        options.constants.insert(bind.input.clone(), array);
    }
    options.extents = args.dim.iter().map(|dim| (dim.name.clone(), dim.extent)).collect();
    options.cuts = args.cut.iter().cloned().collect();
    let (file, format) = model::compile::located(&args.model).with_context(|| files::name(&args.model))?;
    options.format = format;
    options.beside = model::Beside::of_file(&file);
    model::compile(&files::read(&file)?, &options).map_err(|why| refused(&args.model, &why))
}

/// Why a model is no program, with a line for each group of equal problems.
pub(crate) fn refused(model: &Path, why: &ModelError) -> anyhow::Error {
    let (name, advice) = (files::name(model), "docs/models.md says what is mapped");
    match why {
        ModelError::Problems(problems) => {
            let remedy = |remedy: Remedy<'_>| match remedy {
                Remedy::Bind(name) => format!(", --bind '{name}=FILE.npy'"),
                Remedy::Extent(name) => format!(", --dim '{name}=1'"),
                Remedy::Cut(name) => format!(", --cut '{name}'"),
            };
            let what = format!("{name}: {}", model::counted(problems));
            Failure::new(Exit::Refused, what, advice).with_lines(model::grouped(problems, remedy)).into()
        }
        ModelError::Unknown { missing, advice } => {
            Failure::new(Exit::CommandLine, format_args!("{name}: {missing}"), advice.clone()).into()
        }
        why => Failure::new(Exit::Refused, format_args!("{name}: {why}"), advice).into(),
    }
}

/// An array of any shape, from NumPy's file or ONNX's.
pub(crate) fn array(path: &Path) -> Result<Array> {
    if path.extension().is_some_and(|extension| extension == "pb") {
        let (_, array, _) = onnx::read_tensor(&files::read(path)?)?;
        return Ok(array);
    }
    let array = npy::Array::read(BufReader::new(File::open(path)?), ELEMENTS_MAX)?;
    let dims = array.header().shape.iter().map(|&extent| usize::try_from(extent));
    let dims = dims.collect::<Result<Vec<_>, _>>().map_err(|_| anyhow!("an extent is beyond all memory"))?;
    Ok(Array::new(dims, array.doubles())?)
}
