//! A campaign over programs of our own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ane::build::script;
use ane::campaign::record::{self, Verdict};
use ane::campaign::report::Totals;
use ane_tests::command::path;

/// A folder with programs and a manifest.
pub(crate) struct CampaignFolder {
    folder: tempfile::TempDir,
}

impl CampaignFolder {
    /// With a manifest of these entries.
    pub(crate) fn new(manifest: &str) -> Self {
        let rig = Self { folder: tempfile::tempdir().expect("a temporary folder") };
        rig.built("relu.anec", "x = input 4x2x8\ny = relu x\noutput y\n");
        rig.built("add.anec", "a = input 4x2x8\nb = input 4x2x8\ny = add a b\noutput y\n");
        rig.file("m.toml", manifest.as_bytes());
        rig
    }

    /// Forty cases, all of which hold, in several families.
    pub(crate) fn sound() -> Self {
        Self::new(
            r#"
            numerics = ["m1", "exact"]
            seeds = 10
            [[program]]
            path = "relu.anec"
            family = "activation"
            expect.meaning = "relu"
            absolute = 0.0
            relative = 0.0
            [[program]]
            path = "add.anec"
            family = "arithmetic"
            expect.meaning = "y = add a b"
        "#,
        )
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("a folder can be made");
        std::fs::write(&path, bytes).expect("a file can be written");
        path
    }

    /// A program by its description.
    pub(crate) fn built(&self, name: &str, description: &str) -> PathBuf {
        let built = script::build(description, |_, _| Err("no arrays".to_owned())).expect("it can be built");
        self.file(name, &built.to_anec().expect("it can be written"))
    }

    /// The command that runs this campaign into a file.
    pub(crate) fn command(&self, output: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(path());
        command.arg("campaign").arg(self.path("m.toml")).arg("-o").arg(self.path(output)).args(arguments);
        command
    }

    /// Runs it to its end.
    pub(crate) fn run(&self, output: &str, arguments: &[&str]) -> Output {
        self.command(output, arguments).output().expect("the command starts")
    }

    /// The totals of these files.
    pub(crate) fn report(&self, files: &[&str]) -> Totals {
        reported(files.iter().map(|file| self.path(file)))
    }
}

/// The totals of files.
pub(crate) fn reported(files: impl IntoIterator<Item = impl AsRef<Path>>) -> Totals {
    Totals::of(files.into_iter().map(|file| {
        let file = std::fs::File::open(file.as_ref()).expect("it is there");
        record::read(file).expect("it can be read")
    }))
}

/// How many cases of each family ended in which way: what has to be the same however a campaign was cut into parts.
pub(crate) fn totals(report: &Totals) -> BTreeMap<String, BTreeMap<Verdict, u64>> {
    report.families.iter().map(|(family, row)| (family.clone(), row.verdicts.clone())).collect()
}
