//! `ane build`.

use std::fmt::Write as _;
use std::io::BufReader;
use std::path::Path;
use std::path::PathBuf;

use ane::build::script::{self, OPERATIONS, Why};
use ane::count::count;
use ane::decode::printable;
use ane::model::open_inside;
use ane::tensor::npy::Array;
use anyhow::{Result, anyhow};
use clap::Args;
use half::f16;

use crate::failure::{Advise, Exit, Failure};
use crate::files::{self, Existing};

/// Build a program from a description
///
/// The description has a line for each tensor: `NAME = OPERATION OPERANDS KEY=VALUE...`, and a line `output NAME` for each
/// tensor that the client reads. --operations lists the operations. Values are a number for all elements, random:SEED, or
/// a .npy file in the folder of the description or below it; of one from standard input, in the current folder. They become
/// fp16: what is rounded is noted; a number in the description that would become infinite is refused, and so is an epsilon that
/// would become 0.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  printf 'x = input 64x1x1\\ny = softmax x\\noutput y\\n' | ane build - -o softmax.anec
  ane build network.txt -o network.anec && ane run network.anec
  ane build --operations")]
pub(crate) struct Build {
    /// The description; - is standard input
    #[arg(required_unless_present = "operations")]
    pub(crate) description: Option<PathBuf>,
    /// The .anec file to write; a file that exists is not overwritten
    #[arg(short, long, value_name = "FILE", required_unless_present = "operations")]
    pub(crate) output: Option<PathBuf>,
    /// Overwrite a file that exists
    #[arg(long)]
    pub(crate) force: bool,
    /// How many values all lines together may have: given ones, arrays, and those that operations make for themselves; each takes a
    /// few times two bytes of memory
    #[arg(long, value_name = "N", default_value_t = ane::build::script::VALUES_MAX, value_parser = clap::value_parser!(u64).range(1..=1 << 32))]
    pub(crate) values_max: u64,
    /// List the operations
    #[arg(long, exclusive = true)]
    pub(crate) operations: bool,
}

pub(crate) fn run(args: &Build) -> Result<()> {
    let mut page = String::new();
    let (Some(description), Some(output)) = (&args.description, &args.output) else {
        for (form, what) in OPERATIONS {
            writeln!(page, "{form}\n    {what}")?;
        }
        return files::print(page.as_bytes());
    };
    files::check_is_other(output, [description])?;
    let name = files::name(description);
    let text = String::from_utf8(files::read(description)?)
        .map_err(|_| anyhow!("{name}: is no text"))
        .advise(Exit::Refused, "`ane build --operations` says what may stand there")?;
    let folder = description.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new("."));
    let mut notes = Vec::new();
    let array = |array: &str, count| {
        let (values, note) = values(folder, array, count)?;
        notes.extend(note.map(|note| format!("{}: {note}", printable(array))));
        Ok(values)
    };
    let (built, conversion) = script::build_and_tell(&text, args.values_max, array).map_err(|why| {
        let advice = match why.why {
            Why::TooMany { .. } => "give it more with --values-max",
            _ => "`ane build --operations` says what may stand there",
        };
        Failure::new(Exit::Refused, format_args!("{name}: {why}"), advice)
    })?;
    notes.extend(conversion.words().map(|words| format!("numbers of the description in fp16: {words}")));
    files::save(output, &built.to_anec()?, Existing::forced(args.force))?;
    writeln!(
        page,
        "{}: {}, {} of constants, {} of scratch memory",
        files::name(output),
        count(built.task_count(), "task"),
        count(built.constants().len(), "byte"),
        built.scratch_bytes()
    )?;
    for surface in built.surfaces() {
        let shape = surface.shape;
        let shape = [shape.n, shape.c, shape.h, shape.w];
        let (direction, bar) = (surface.direction.name(), surface.bar);
        writeln!(page, "  {direction:<8}  {:<16} {shape:?}, BAR {bar}", printable(&surface.name))?;
    }
    for note in &notes {
        writeln!(page, "  note: {note}")?;
    }
    files::print(page.as_bytes())
}

/// The elements of an array of any shape that has so many, and what became of them as halves.
fn values(folder: &Path, path: &str, count: u64) -> Result<(Vec<f16>, Option<String>), String> {
    let file = open_inside(folder, path).map_err(|why| why.to_string())?;
    let array = Array::read(BufReader::new(file), count).map_err(|why| why.to_string())?;
    let (values, conversion) = array.halves();
    if values.len() as u64 == count {
        Ok((values, array.told(&conversion)))
    } else {
        Err(format!("has {} elements, wanted are {count}", values.len()))
    }
}
