//! `ane build`.

use std::fmt::Write as _;
use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use ane::build::script::{self, OPERATIONS, Why};
use ane::count::count;
use ane::decode::printable;
use ane::tensor::npy::Array;
use anyhow::{Result, anyhow};
use half::f16;

use crate::args;
use crate::failure::{Advise, Exit, Failure};
use crate::files::{self, Existing};

pub(crate) fn run(args: &args::Build) -> Result<()> {
    let mut page = String::new();
    let (Some(description), Some(output)) = (&args.description, &args.output) else {
        for (form, what) in OPERATIONS {
            writeln!(page, "{form}\n    {what}")?;
        }
        return files::print(page.as_bytes());
    };
    let name = files::name(description);
    let text = String::from_utf8(files::read(description)?)
        .map_err(|_| anyhow!("{name}: is no text"))
        .advise(Exit::Refused, "`ane build --operations` says what may stand there")?;
    let folder = description.parent().unwrap_or(Path::new(""));
    let built =
        script::build_within(&text, args.values_max, |array, count| values(&folder.join(array), count))
            .map_err(|why| {
                let advice = match why.why {
                    Why::TooMany { .. } => "give it more with --values-max",
                    _ => "`ane build --operations` says what may stand there",
                };
                Failure::new(Exit::Refused, format_args!("{name}: {why}"), advice)
            })?;
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
    files::print(page.as_bytes())
}

/// The elements of an array of any shape that has so many.
fn values(path: &Path, count: u64) -> Result<Vec<f16>, String> {
    let file = File::open(path).map_err(|why| why.to_string())?;
    let array = Array::read(BufReader::new(file), count).map_err(|why| why.to_string())?;
    let (values, _) = array.halves();
    if values.len() as u64 == count {
        Ok(values)
    } else {
        Err(format!("has {} elements, wanted are {count}", values.len()))
    }
}
