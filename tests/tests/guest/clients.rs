//! Programs that know nothing of this project, in a guest: dynamic, with the loader and the libraries of this machine.

use std::path::PathBuf;
use std::process::Command;

use ane::container::{self, Direction};
use ane_tests::command::{self, ane};
use ane_tests::data::Sample;
use ane_tests::machine::{self, Machine};
use ane_tests::preload::{anec, compiled, folder, python};
use ane_tests::runner::surfaces;

use super::{FUNCTION, Guest};

/// Writes a program as clients take it, and bytes for its inputs; gives their names.
pub(super) fn case(sample: &Sample, scratch: &std::path::Path) -> Vec<String> {
    let file = std::fs::read(anec(sample, scratch)).unwrap();
    let program = container::open(&file).unwrap();
    let mut names = vec![format!("{}.anec", sample.name)];
    for (index, surface) in surfaces(&program, Direction::Input).into_iter().enumerate() {
        let shape = surface.shape;
        let count = (shape.n * shape.c * shape.h * shape.w) as usize;
        // Halves of either sign below four, no two neighbours alike.
        let values =
            (0..count).flat_map(|at| [(at * 29) as u8, 0x30 + (at % 13) as u8 + 0x80 * (at % 2) as u8]);
        let name = format!("{}.in{index}", sample.name);
        std::fs::write(scratch.join(&name), values.collect::<Vec<u8>>()).unwrap();
        names.push(name);
    }
    names
}

/// The sums of all files whose names begin so, by a shell here.
pub(super) fn sums(folder: &std::path::Path, names: &str) -> String {
    let said =
        Command::new("sh").args(["-c", &format!("md5sum {names}")]).current_dir(folder).output().unwrap();
    String::from_utf8(said.stdout).unwrap().trim_end().to_owned()
}

#[test]
fn unmodified_clients_in_a_guest_get_the_bits_that_they_get_here() {
    let made = Guest::with(|scratch, samples| {
        let mut files: Vec<PathBuf> = machine::python(python()?, scratch);
        files.push(compiled("raw.c", scratch, &[])?);
        files.push(command::library("libane_drm_shim.so"));
        files.push(folder().join("raw.py"));
        let cases = samples.iter().flat_map(|sample| case(sample, scratch));
        files.extend(cases.map(|name| scratch.join(name)));
        Some(files)
    });
    let Some(guest) = made else { return };
    let mut machine = Machine::start(&guest.setting());
    machine.ok("ane vm setup");
    machine.ok(&format!("(aned --device vfio:{FUNCTION} --mode 666 > /tmp/aned 2>&1 &) ; sleep 3"));
    for sample in &guest.samples {
        let (name, scratch) = (&sample.name, guest.folder.path());
        let arguments = case(sample, scratch);
        let here = |path: &str| scratch.join(path).display().to_string();
        let (client, model, out) = (here("raw"), here(&arguments[0]), here(&format!("{name}.out")));
        let inputs: Vec<_> = arguments[1..].iter().map(|name| here(name)).collect();
        let mut words = vec!["exec", "--", &client, &model, &out];
        words.extend(inputs.iter().map(String::as_str));
        let ran = ane(&words);
        assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
        let expected = sums(scratch, &format!("{name}.out.*"));

        let inputs = arguments[1..].join(" ");
        for client in ["raw", "env PYTHONPATH=/srv/python python3 -S raw.py"] {
            machine.ok(&format!("ane exec --device aned -- {client} {name}.anec /tmp/{name}.out {inputs}"));
            assert_eq!(
                machine.ok(&format!("cd /tmp; md5sum {name}.out.*; rm {name}.out.*; cd /srv")),
                expected,
                "{client}"
            );
        }
    }
    // Nobody has to be root for it.
    let command = "ane exec --device aned -- raw sum.anec /tmp/nobody sum.in0 sum.in1 && id -u";
    assert_eq!(machine.ok(&format!("su nobody -c '{command}'")), "65534");
    machine.power_off();
}

#[test]
fn image_of_the_same_files_has_the_same_bytes() {
    let Some(_) = machine::cache() else { return };
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let Some(client) = compiled("raw.c", one.path(), &[]) else { return };
    let files = [client, folder(), folder().join("raw.py")];
    let bytes = |folder: &std::path::Path| std::fs::read(machine::image(folder, &[], &files)).unwrap();
    assert!(bytes(one.path()) == bytes(other.path()));
}
