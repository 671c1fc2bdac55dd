//! Runs one case: program, inputs, device, and the comparison.
//!
//! Devices are kept from case to case, one for each way of computing, as making one costs more than running a small
//! program. One on which anything failed is given up, so that no case feels another's fault. The others forget before each
//! case what the case before has left on the chip, so that a verdict does not depend on the order of the cases.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ane_device::Options;
use ane_device::options::{Hang, Numerics};

use super::blame::Told;
use super::case::{Case, Expect};
use super::files::PROGRAM_MAX;
use super::meaning;
use super::outputs::{Got, compare, sha256};
use super::record::{Outcome, Verdict};
use crate::build::script;
use crate::container::{self, Direction, Misgiven, assign, find_operand};
use crate::device::{Device, Location};
use crate::model::Model;
use crate::model::network::{Array, Fault};
use crate::session::{self, Session};
use crate::tensor::{Tensor, elements, npy};

/// Runs cases, one after the other.
#[derive(Debug, Default)]
pub struct Runner {
    devices: Vec<(Where, Device)>,
    /// The last program: cases of one program come one after the other.
    model: Option<(PathBuf, Model)>,
}

/// Where a case runs.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Where {
    location: Location,
    numerics: String,
}

/// A run that came to its end.
struct Carried {
    inputs: Vec<(String, Tensor)>,
    outputs: Vec<Got>,
    /// The behaviour that it relied on and that no source establishes.
    inferred: Option<String>,
    /// What became of the inputs' arrays when they were made halves.
    converted: Conversions,
}

/// Files of arrays, each with what became of its numbers.
type Conversions = Vec<(PathBuf, Option<String>)>;

/// Why a case did not come to its comparison.
type Ended = Box<Outcome>;

fn ended(verdict: Verdict, why: impl std::fmt::Display) -> Ended {
    Box::new(Outcome::because(verdict, why))
}

/// How a case ends whose program runs, and whose expected result the reference does not give.
fn unexpected(reference: &str, why: &Outcome) -> Ended {
    let reason = why.reason.as_deref().unwrap_or(why.verdict.name());
    ended(Verdict::Error, format!("{reference}, whose result is expected: {reason}"))
}

impl Runner {
    /// Runs a case to its end, whatever that is.
    pub fn run(&mut self, case: &Case) -> Outcome {
        let start = Instant::now();
        let mut outcome = self.try_run(case).unwrap_or_else(|ended| *ended);
        outcome.tasks = self.model.as_ref().map_or(0, |(_, model)| model.task_count());
        outcome.milliseconds = start.elapsed().as_secs_f64() * 1000.0;
        outcome
    }

    fn try_run(&mut self, case: &Case) -> Result<Outcome, Ended> {
        self.load(&case.file(Path::new(&case.program)))?;
        let here = Where { location: Location::Embedded, numerics: case.numerics.clone() };
        let Carried { inputs, outputs, inferred, converted } = self.carry_out(case, &here)?;
        let mut outcome = Outcome::of(Verdict::Passed);
        outcome.sha256 = Some(sha256(&outputs));
        outcome.inferred = inferred;
        converted.into_iter().for_each(|(file, told)| outcome.tell(&file, told));
        let wanted = match &*case.expect {
            Expect::Nothing => {
                outcome.verdict = Verdict::Ran;
                return Ok(outcome);
            }
            Expect::Sha256(hash) => {
                if outcome.sha256.as_ref() != Some(hash) {
                    outcome.verdict = Verdict::Wrong;
                    outcome.reason = Some(format!("outputs have another SHA-256 than {hash}"));
                }
                return Ok(outcome);
            }
            Expect::Arrays(files) => arrays(case, files, &outputs, &mut outcome)?,
            Expect::Meaning(text) => meant(text, &inputs, &outputs)?,
            Expect::Numerics(other) => {
                let there = Where { numerics: other.clone(), ..here };
                let reference = self.carry_out(case, &there);
                values(&reference.map_err(|why| unexpected(&format!("numerics {other}"), &why))?.outputs)
            }
            Expect::Device(device) => {
                let location = device.parse().map_err(|why| ended(Verdict::Error, why))?;
                let reference = self.carry_out(case, &Where { location, ..here });
                values(&reference.map_err(|why| unexpected(&format!("device {device}"), &why))?.outputs)
            }
        };
        for (got, wanted) in outputs.iter().zip(&wanted) {
            compare(got, wanted, case.tolerance, &mut outcome);
        }
        Ok(outcome)
    }

    /// Reads the program, unless it is that of the case before.
    fn load(&mut self, path: &Path) -> Result<(), Ended> {
        if self.model.as_ref().is_some_and(|(known, _)| known == path) {
            return Ok(());
        }
        self.model = None;
        let named = |why: &dyn std::fmt::Display| format!("{}: {why}", path.display());
        let failed = |why: std::io::Error| ended(Verdict::Error, named(&why));
        // Looked at again: since the manifest was read it may have become another.
        let found = std::fs::metadata(path).map_err(failed)?;
        if !found.is_file() || found.len() > PROGRAM_MAX {
            return Err(ended(Verdict::Error, named(&"is no file, or has more than 1 GiB")));
        }
        let bytes = std::fs::read(path).map_err(failed)?;
        let model = match container::open(&bytes) {
            Ok(program) => {
                Model::check(&program).map_err(|why| ended(Verdict::Unreadable, named(&why)))?;
                Model::of(&program)
            }
            // A file that is no container may be a description for `ane build`.
            Err(why) => match std::str::from_utf8(&bytes)
                .map(|text| script::build(text, |_, _| Err("arrays are not looked up here".to_owned())))
            {
                Ok(Ok(built)) => Model::from(&built),
                _ => return Err(ended(Verdict::Unreadable, named(&why))),
            },
        };
        self.model = Some((path.to_owned(), model));
        Ok(())
    }

    /// Runs the program of the case there.
    fn carry_out(&mut self, case: &Case, place: &Where) -> Result<Carried, Ended> {
        let device = self.device(place)?;
        let Some((_, model)) = &self.model else { return Err(ended(Verdict::Error, "there is no program")) };
        let done = run(case, model, &device);
        let inferred = device.with_embedded(|driver| driver.bus_mut().device_mut().ane().take_inferred());
        let inferred = inferred.filter(|inferred| !inferred.is_none()).map(|inferred| inferred.to_string());
        match done {
            Ok((inputs, outputs, converted)) => Ok(Carried { inputs, outputs, inferred, converted }),
            Err(ended) => {
                self.devices.retain(|(known, _)| known != place);
                Err(ended)
            }
        }
    }

    fn device(&mut self, place: &Where) -> Result<Device, Ended> {
        if let Some(at) = self.devices.iter().position(|(known, _)| known == place) {
            let (_, device) = self.devices.swap_remove(at);
            if is_as_new(&device) {
                self.devices.push((place.clone(), device.clone()));
                return Ok(device);
            }
        }
        let numerics = Numerics::NAMES.into_iter().find(|(name, _)| *name == place.numerics);
        let (_, numerics) =
            numerics.ok_or_else(|| ended(Verdict::Error, format!("no numerics {:?}", place.numerics)))?;
        let options = Options { numerics, hang: Hang::Report, timing: false, ..Options::default() };
        let device = Device::open(&place.location, &options).map_err(|why| ended(Verdict::Error, why))?;
        self.devices.push((place.clone(), device.clone()));
        Ok(device)
    }
}

/// Has the chip of a device in this process forget the case before; false if it cannot. A device elsewhere may serve others,
/// so its chip is left alone.
fn is_as_new(device: &Device) -> bool {
    device.with_embedded(|driver| driver.bus_mut().device_mut().ane().forget_requests()).unwrap_or(true)
}

type Tensors = (Vec<(String, Tensor)>, Vec<Got>, Conversions);

fn run(case: &Case, model: &Model, device: &Device) -> Result<Tensors, Ended> {
    let mut session = Session::load(device, model).map_err(|why| of_session(&why))?;
    let mut converted = Conversions::new();
    let inputs = inputs(case, &session, &mut converted)?;
    for (index, (_, tensor)) in inputs.iter().enumerate() {
        session.set_at(index, tensor).map_err(|why| of_session(&why))?;
    }
    session.run().map_err(|why| of_session(&why))?;
    let surfaces = session.outputs().enumerate();
    let outputs = surfaces.map(|(index, surface)| {
        let tensor = session.get_at(index).map_err(|why| of_session(&why))?;
        let (name, extents) = (surface.name.to_string(), surface.extents());
        Ok(Got { name, extents, element: surface.element, tensor })
    });
    Ok((inputs, outputs.collect::<Result<_, Ended>>()?, converted))
}

/// Every input by rising BAR: from a file, or random.
fn inputs(
    case: &Case,
    session: &Session,
    converted: &mut Conversions,
) -> Result<Vec<(String, Tensor)>, Ended> {
    let surfaces: Vec<_> = session.inputs().collect();
    let names = surfaces.iter().map(|surface| &*surface.name);
    let given = assigned(Direction::Input, names, case.inputs.iter())?;
    let tensors = surfaces.iter().zip(given).enumerate().map(|(index, (surface, file))| {
        let tensor = match file {
            None => Tensor::random_for(surface, case.seed.wrapping_add(index as u64))
                .map_err(|why| ended(Verdict::Error, why))?,
            Some(file) => {
                let path = case.file(file);
                let named =
                    |why: &dyn std::fmt::Display| ended(Verdict::Error, format!("{}: {why}", path.display()));
                let array = read(&path, elements(surface.shape)).map_err(|why| named(&why))?;
                let (tensor, conversion) = array.to_tensor_of(surface).map_err(|why| named(&why))?;
                converted.push((file.to_path_buf(), array.told(&conversion)));
                tensor
            }
        };
        Ok((surface.name.to_string(), tensor))
    });
    tensors.collect()
}

/// For each operand the file that is given for it.
fn assigned<'n, 'f>(
    direction: Direction,
    names: impl Iterator<Item = &'n str> + Clone,
    files: impl Iterator<Item = (&'f String, &'f PathBuf)>,
) -> Result<Vec<Option<&'f Path>>, Ended> {
    let files = files.map(|(name, file)| (name.as_str(), file.as_path()));
    assign(names, files).map_err(|why| {
        let direction = direction.name();
        let what = match why {
            Misgiven::Unknown(name) => format!("program has no {direction} {name:?}"),
            Misgiven::Twice(name) => format!("{direction} {name:?} is given twice"),
        };
        ended(Verdict::Error, what)
    })
}

fn read(path: &Path, limit: u64) -> Result<npy::Array, npy::Error> {
    npy::Array::read(BufReader::new(File::open(path)?), limit)
}

/// The expected outputs out of files.
fn arrays(
    case: &Case,
    files: &BTreeMap<String, PathBuf>,
    outputs: &[Got],
    outcome: &mut Outcome,
) -> Result<Vec<Vec<f64>>, Ended> {
    let sole = files.get("").filter(|_| outputs.len() == 1).map(PathBuf::as_path);
    let names = outputs.iter().map(|got| got.name.as_str());
    let named = files.iter().filter(|(name, _)| !name.is_empty());
    let given = assigned(Direction::Output, names, named)?;
    outputs
        .iter()
        .zip(given)
        .map(|(got, file)| {
            let file = file.or(sole);
            let missing = || ended(Verdict::Error, format!("no array is given for output {:?}", got.name));
            let file = file.ok_or_else(missing)?;
            let path = case.file(file);
            let named = |why: npy::Error| ended(Verdict::Error, format!("{}: {why}", path.display()));
            let array = read(&path, got.tensor.values().len() as u64).map_err(named)?;
            array.check_fits(&got.extents).map_err(named)?;
            let (values, conversion) = array.halves();
            outcome.tell(file, array.told(&conversion));
            Ok(values.into_iter().map(half::f16::to_f64).collect())
        })
        .collect()
}

/// The results of an operation for these inputs, for each output.
fn meant(text: &str, inputs: &[(String, Tensor)], outputs: &[Got]) -> Result<Vec<Vec<f64>>, Ended> {
    let inputs: Vec<(String, Array)> = inputs
        .iter()
        .map(|(name, tensor)| {
            let shape = tensor.shape();
            let dims = [shape.n, shape.c, shape.h, shape.w].map(|extent| extent as usize);
            let values = tensor.values().iter().map(|value| value.to_f64()).collect();
            Ok((name.clone(), Array::new(dims.to_vec(), values)?))
        })
        .collect::<Result<_, _>>()
        .map_err(|why: Fault| ended(Verdict::Error, why))?;
    let named = meaning::evaluate(text, &inputs).map_err(|why| ended(Verdict::Error, why))?;
    let names = outputs.iter().map(|got| got.name.as_str());
    let wanted = outputs.iter().enumerate().map(|(index, got)| {
        // Of steps with the same name the last counts.
        let exact = || named.iter().rfind(|(name, _)| *name == got.name);
        let meant = || named.iter().rfind(|(name, _)| find_operand(names.clone(), name) == Some(index));
        // With one output, what it is called does not matter unless an array of that name was meant.
        let last = || named.last().filter(|_| outputs.len() == 1);
        let missing = || ended(Verdict::Error, format!("the meaning names no array {:?}", got.name));
        let (_, array) = exact().or_else(meant).or_else(last).ok_or_else(missing)?;
        Ok(array.values().to_vec())
    });
    wanted.collect()
}

fn values(outputs: &[Got]) -> Vec<Vec<f64>> {
    outputs.iter().map(|got| got.tensor.values().iter().map(|value| value.to_f64()).collect()).collect()
}

/// How a session's error ends a case.
fn of_session(why: &session::Error) -> Ended {
    let session::Error::Failed { reason, failure, .. } = why else {
        let verdict =
            if matches!(why, session::Error::Device(_)) { Verdict::Error } else { Verdict::Unreadable };
        return ended(verdict, why);
    };
    let text = reason.clone().unwrap_or_else(|| why.to_string());
    let told = failure.as_ref().map_or_else(|| Told::in_words(&text), |failure| Told::by(failure));
    let verdict = match told {
        Told { is_hang: true, .. } => Verdict::Hang,
        Told { is_refusal: true, .. } => Verdict::Refused,
        Told { .. } => Verdict::Unfinished,
    };
    Box::new(Outcome { blame: told.blame, task: told.task, ..Outcome::because(verdict, &text) })
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::td::common;

    use super::*;

    /// What ends a program whose tile has no height, on a device in this process.
    fn hang() -> session::Error {
        let mut built =
            script::build("x = input 4x2x8\ny = relu x\noutput y\n", |_, _| Err("no arrays".to_owned()))
                .unwrap();
        built.register_mut(0, common::TILE_CFG.info.offset).unwrap().set(0);
        let options = Options { hang: Hang::Report, ..Options::default() };
        let device = Device::open(&Location::Embedded, &options).unwrap();
        Session::load(&device, &Model::from(&built)).unwrap().run().unwrap_err()
    }

    #[test]
    fn verdict_on_a_hang_in_this_process_does_not_depend_on_its_words() {
        let mut why = hang();
        let told = of_session(&why);
        assert_eq!((told.verdict, told.task), (Verdict::Hang, Some(0)), "{why}");
        assert_eq!(told.blame.as_ref().unwrap().register, "TileCfg");
        let session::Error::Failed { reason, .. } = &mut why else { panic!("{why}") };
        *reason = Some("said in other words".to_owned());
        let other = of_session(&why);
        assert_eq!((other.verdict, other.task, other.blame), (told.verdict, told.task, told.blame));
    }

    /// A device on which the run of a case has to fault.
    fn faulty() -> Device {
        let inject = vec!["translation-fault:after=0".parse().unwrap()];
        Device::open(&Location::Embedded, &Options { inject, ..Options::default() }).unwrap()
    }

    /// A description of a program, in a folder, as a case.
    fn case(folder: &Path, expect: Expect) -> Case {
        std::fs::write(folder.join("relu.txt"), "x = input 4x2x8\ny = relu x\noutput y\n").unwrap();
        Case { expect: expect.into(), base: folder.to_owned(), ..super::super::case::example("relu.txt") }
    }

    #[test]
    fn run_that_faults_is_no_refusal_also_by_its_words() {
        let built =
            script::build("x = input 4x2x8\ny = relu x\noutput y\n", |_, _| Err("no arrays".to_owned()))
                .unwrap();
        let mut why = Session::load(&faulty(), &Model::from(&built)).unwrap().run().unwrap_err();
        assert_eq!(of_session(&why).verdict, Verdict::Unfinished, "{why}");
        let session::Error::Failed { failure, .. } = &mut why else { panic!("{why}") };
        *failure = None;
        assert_eq!(of_session(&why).verdict, Verdict::Unfinished, "{why}");
        let session::Error::Failed { reason, .. } = &mut why else { panic!("{why}") };
        *reason = None;
        assert_eq!(of_session(&why).verdict, Verdict::Unfinished, "{why}");
    }

    #[test]
    fn reference_that_fails_is_an_error_and_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let case = case(folder.path(), Expect::Numerics("exact".to_owned()));
        let mut runner = Runner::default();
        let there = Where { location: Location::Embedded, numerics: "exact".to_owned() };
        runner.devices.push((there, faulty()));
        let outcome = runner.run(&case);
        let reason = outcome.reason.unwrap_or_default();
        assert_eq!(outcome.verdict, Verdict::Error, "{reason}");
        assert!(reason.starts_with("numerics exact, whose result is expected: "), "{reason}");
        // The device on which it failed is given up.
        assert_eq!(runner.run(&case).verdict, Verdict::Passed);
    }

    #[test]
    fn case_finds_nothing_on_the_chip_that_a_case_before_left_there() {
        let folder = tempfile::tempdir().unwrap();
        let example = include_bytes!(concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/add_relu.anec"));
        let patched = |name: &str, edits: &[&str]| {
            let edits: Vec<_> = edits.iter().map(|edit| edit.parse().unwrap()).collect();
            let file = crate::patch::registers(example, 1, &edits).unwrap();
            std::fs::write(folder.path().join(name), file).unwrap();
            Case { base: folder.path().to_owned(), ..super::super::case::example(name) }
        };
        let writes = patched("writes.anec", &["SourceBase=0x10000"]);
        // The second task takes bytes on chip that no task of this program has written.
        let reads = patched("reads.anec", &["SourceCfg.source_type=0", "SourceBase=0x10000"]);
        let alone = Runner::default().run(&reads);
        assert_eq!(alone.verdict, Verdict::Ran, "{:?}", alone.reason);
        let mut runner = Runner::default();
        assert_eq!(runner.run(&writes).verdict, Verdict::Ran);
        let after = runner.run(&reads);
        assert_eq!((after.verdict, after.sha256), (alone.verdict, alone.sha256));
        assert_eq!(runner.devices.len(), 1, "the device is the same one");
    }

    fn got(name: &str) -> Got {
        let shape = container::Axes { n: 1, c: 1, h: 1, w: 1 };
        let tensor = Tensor::from_fn(shape, |_| half::f16::ONE);
        Got { name: name.to_owned(), extents: vec![1], element: container::Element::Half, tensor }
    }

    #[test]
    fn outputs_are_compared_with_the_arrays_that_are_meant() {
        let inputs = [("x".to_owned(), got("x").tensor)];
        let of = |text: &str, outputs: &[&str]| {
            let outputs: Vec<Got> = outputs.iter().map(|name| got(name)).collect();
            meant(text, &inputs, &outputs).map_err(|ended| ended.reason.unwrap_or_default())
        };
        // The last step, whatever the steps are called.
        let text = "z = scale x by=2; y = scale z by=2";
        assert_eq!(of(text, &["output0"]), Ok(vec![vec![4.0]]));
        // The array of that name, in full or without what is behind an @.
        assert_eq!(of(text, &["z"]), Ok(vec![vec![2.0]]));
        assert_eq!(of(text, &["z@output"]), Ok(vec![vec![2.0]]));
        assert_eq!(of(text, &["y@output", "z@output"]), Ok(vec![vec![4.0], vec![2.0]]));
        assert_eq!(of("y = same x; y = scale y by=3", &["y"]), Ok(vec![vec![3.0]]));
        assert_eq!(of(text, &["y", "w"]), Err("the meaning names no array \"w\"".to_owned()));
    }

    #[test]
    fn verdict_on_a_hang_elsewhere_is_the_same_by_its_words() {
        let mut why = hang();
        let told = of_session(&why);
        let session::Error::Failed { failure, .. } = &mut why else { panic!("{why}") };
        *failure = None;
        assert_eq!(of_session(&why), told);
    }
}
