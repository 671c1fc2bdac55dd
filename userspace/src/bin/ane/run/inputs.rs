//! The inputs of a run: from files, random, or constant.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use ane::container::{Misgiven, Surface, assign};
use ane::count::count;
use ane::decode::printable;
use ane::device::Device;
use ane::session::Session;
use ane::tensor::npy::{self, Array};
use ane::tensor::{Conversion, Tensor, TooLarge, elements};
use anyhow::Result;
use half::f16;

use super::{Assignment, Run};
use crate::device;
use crate::failure::{Advise, Exit, Failure};
use crate::files;

pub(crate) struct Input {
    /// Number in the order of BARs.
    pub(crate) index: usize,
    pub(crate) tensor: Tensor,
    /// For people: a file, or how the values were made.
    pub(crate) source: String,
}

pub(crate) fn gather(args: &Run, session: &Session) -> Result<Vec<Input>> {
    let surfaces: Vec<&Surface<'_>> = session.inputs().collect();
    let names: Vec<&str> = surfaces.iter().map(|surface| &*surface.name).collect();
    let files = assigned("program", &names, &args.inputs)?;
    let each = surfaces.iter().zip(files).enumerate();
    each.map(|(index, (surface, file))| {
        let (tensor, source) = match file {
            Some(assignment) => read(&assignment.file, surface, args.allow_nan)?,
            None => match args.constant {
                Some(value) => {
                    let half = constant(value, args.allow_nan)?;
                    (made_up(Tensor::constant_for(surface, half))?, format!("constant {half}"))
                }
                None => {
                    // Each input has values of its own, and those of a program with one input are the seed's.
                    let seed = args.seed.wrapping_add(index as u64);
                    (made_up(Tensor::random_for(surface, seed))?, format!("random, seed {seed}"))
                }
            },
        };
        Ok(Input { index, tensor, source })
    })
    .collect()
}

pub(crate) fn set_random(session: &mut Session, device: &Device) -> Result<()> {
    let surfaces: Vec<Surface<'_>> = session.inputs().cloned().collect();
    for (index, surface) in surfaces.iter().enumerate() {
        let tensor = made_up(Tensor::random_for(surface, index as u64))?;
        session.set_at(index, &tensor).map_err(|why| device::session_failure(&why, device))?;
    }
    Ok(())
}

fn made_up(tensor: Result<Tensor, TooLarge>) -> Result<Tensor> {
    tensor.advise(
        Exit::Refused,
        "give it a file with `ane run -i INPUT=FILE.npy`; `ane info` shows the shape that the program says",
    )
}

/// For each input of `whom` the argument that names it.
///
/// # Errors
///
/// Refuses a name that no input has, and a second argument for one.
pub(crate) fn assigned<'a>(
    whom: &str,
    names: &[&str],
    given: &'a [Assignment],
) -> Result<Vec<Option<&'a Assignment>>> {
    let given = given.iter().map(|assignment| (assignment.input.as_str(), assignment));
    let assigned = assign(names.iter().copied(), given).map_err(|why| match why {
        Misgiven::Unknown(asked) => {
            let names = names.iter().enumerate();
            let names: Vec<_> = names.map(|(index, name)| format!("{index} ({})", printable(name))).collect();
            let what = format!("{whom} has no input {asked:?}");
            Failure::new(Exit::CommandLine, what, format!("its inputs are {}", names.join(", ")))
        }
        Misgiven::Twice(asked) => {
            let what = format!("input {asked:?} is given twice");
            Failure::new(Exit::CommandLine, what, "give each input once")
        }
    })?;
    Ok(assigned)
}

/// The value of `--constant`, as the same value in a file would be taken.
fn constant(value: f32, allow_nan: bool) -> Result<f16> {
    let half = f16::from_f32(value);
    if half.is_nan() && !allow_nan {
        let what = "--constant is no number";
        return Err(Failure::new(Exit::Refused, what, "give a number, or run with --allow-nan").into());
    }
    if half.is_infinite() && value.is_finite() {
        let what = format!("--constant {value} is beyond fp16, which ends at {}", f16::MAX);
        return Err(Failure::new(Exit::Refused, what, "give a smaller number, or inf").into());
    }
    Ok(half)
}

fn read(path: &Path, surface: &Surface<'_>, allow_nan: bool) -> Result<(Tensor, String)> {
    let name = files::name(path);
    let limit = elements(surface.shape);
    let array = if path.as_os_str() == "-" {
        Array::read(io::stdin().lock(), limit)
    } else {
        File::open(path).map_err(npy::Error::Io).and_then(|file| Array::read(BufReader::new(file), limit))
    };
    let array = array.map_err(|why| refused(&name, &why))?;
    let (tensor, conversion) = array.to_tensor_of(surface).map_err(|why| refused(&name, &why))?;
    let Conversion { nans, first_nan, .. } = conversion;
    if nans > 0 && !allow_nan {
        let place = first_nan.unwrap_or_default();
        let what = format!("{name}: no number in {}, the first is element {place}", count(nans, "element"));
        return Err(Failure::new(Exit::Refused, what, "mend the array, or run with --allow-nan").into());
    }
    let mut source = name;
    if let Some(told) = array.told(&conversion) {
        source.push_str(&format!(", {told}"));
    }
    Ok((tensor, source))
}

fn refused(name: &str, why: &npy::Error) -> anyhow::Error {
    let advice = match why {
        npy::Error::Io(why) if why.kind() == io::ErrorKind::NotFound => "check the path",
        npy::Error::Io(_) => "check who may read it, or name another file",
        npy::Error::Shape { .. } | npy::Error::TooMany { .. } => "reshape it, or see `ane info MODEL`",
        npy::Error::Short { .. } | npy::Error::Long { .. } | npy::Error::Header(_) => {
            "write it again with numpy.save"
        }
    };
    let failed: Result<(), _> = Err(anyhow::anyhow!("{name}: {why}"));
    failed.advise(Exit::Refused, advice).unwrap_err()
}
