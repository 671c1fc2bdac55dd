//! Scripts of `tools/` and `dist/`, with stand-ins for the programs that they call.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use ane_tests::workspace::root;
use tempfile::TempDir;

/// A folder for a script: programs that stand in for others, and the cache of `tools/guest`. Its name has a blank.
struct Stage {
    folder: TempDir,
}

impl Stage {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let stage = Self { folder };
        for name in ["bin", "cache"] {
            fs::create_dir_all(stage.at(name)).unwrap();
        }
        stage
    }

    fn at(&self, path: &str) -> PathBuf {
        self.folder.path().join("a stage").join(path)
    }

    fn file(&self, path: &str, text: &str) -> PathBuf {
        let path = self.at(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }

    fn program(&self, path: &str, text: &str) {
        let path = self.file(path, &format!("#!/bin/sh\n{text}\n"));
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn read(&self, path: &str) -> String {
        fs::read_to_string(self.at(path)).unwrap()
    }

    /// A program that finds the stand-ins before others.
    fn command(&self, program: impl AsRef<Path>) -> Command {
        let mut command = Command::new(root().join(program));
        let path = std::env::var("PATH").unwrap();
        command
            .env("PATH", format!("{}:{path}", self.at("bin").display()))
            .env("ANE_GUEST_CACHE", self.at("cache"))
            .env_remove("CI");
        command
    }

    /// A cache with all that `tools/guest/image` takes. Its cpio lists the modes of the root's folders, and its programs.
    fn with_cache() -> Self {
        let stage = Self::new();
        stage.file("cache/versions", "kernel package linux-image-1.2 3\n");
        stage.file("cache/config", "");
        stage.file("cache/busybox", "");
        stage.file("cache/modules/vfio.ko", "");
        stage.program("cache/bin/cpio", "cat >/dev/null; stat -c '%a %n' etc srv boot; ls bin");
        stage
    }

    /// A cargo that has built `ane` into the target folder, or fails.
    fn cargo(&self, code: i32) {
        self.program("target/x86_64-unknown-linux-gnu/guest/ane", "");
        self.program("bin/cargo", &format!("exit {code}"));
    }
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

#[test]
fn what_is_fetched_again_and_cannot_be_had_stays_with_all_beside_it() {
    let (fetch, accel, apple) = ("tools/guest/fetch", "tools/guest/fetch-accel", "tools/guest/fetch-apple");
    let stage = Stage::with_cache();
    for name in ["vmlinuz", "root/usr", "guest.img", "notes", "accel/versions", "apple/versions", "bin/mine"]
    {
        stage.file(&format!("cache/{name}"), name);
    }
    stage.program("bin/apt-get", "exit 100");
    stage.program("bin/dpkg", "echo amd64");
    for script in [fetch, accel, apple] {
        let output = stage.command(script).arg("--refresh").output().unwrap();
        assert!(!output.status.success(), "{script}: {}", said(&output));
        for name in
            ["vmlinuz", "root/usr", "guest.img", "notes", "accel/versions", "apple/versions", "bin/mine"]
        {
            assert_eq!(stage.read(&format!("cache/{name}")), name, "{script}");
        }
        assert!(stage.read("cache/versions").starts_with("kernel package"), "{script}");
    }
    // One that was killed is put right by the next.
    fs::create_dir(stage.at("cache/aside-fetch")).unwrap();
    for name in ["versions", "root"] {
        fs::rename(stage.at(&format!("cache/{name}")), stage.at(&format!("cache/aside-fetch/{name}")))
            .unwrap();
    }
    stage.file("cache/root/partial", "");
    let output = stage.command(fetch).output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(stage.read("cache/root/usr"), "root/usr");
    assert!(!stage.at("cache/root/partial").exists() && !stage.at("cache/aside-fetch").exists());
}

#[test]
fn package_behind_another_is_found_whatever_the_language_and_the_systems_release() {
    let stage = Stage::new();
    // What apt says in another language, and on a system of another release.
    stage.program(
        "bin/apt-cache",
        "[ \"$1\" = -t ] || { echo \"E: The value 'sid' is invalid for APT::Default-Release\" >&2; exit 100; }
         if [ \"${LC_ALL:-}\" = C ]; then word=Depends; else word=Hängt; fi
         echo meta; echo \"  $word: linux-image-6.12.117-amd64\"",
    );
    for (function, name) in [("behind", "linux-image-"), ("leads_to", "linux-image-")] {
        let line = format!("set -euo pipefail; source tools/guest/debian; {function} meta {name}");
        let mut bash = stage.command("/bin/bash");
        let output = bash.current_dir(root()).args(["-c", &line]).env("LC_ALL", "C.UTF-8").output().unwrap();
        assert_eq!(said(&output), "linux-image-6.12.117-amd64\n", "{function}");
    }
}

#[test]
fn root_has_modes_of_its_own_and_the_programs_that_were_built() {
    let stage = Stage::with_cache();
    stage.cargo(0);
    let line = "umask 077; exec \"$@\"";
    let mut bash = stage.command("/bin/bash");
    bash.args(["-c", line, "bash"]).arg(root().join("tools/guest/image"));
    bash.args(["--program", "ane"]).arg(stage.at("guest.img")).env("CARGO_TARGET_DIR", stage.at("target"));
    let output = bash.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(stage.read("guest.img"), "755 etc\n755 srv\n755 boot\nane\nbusybox\n");
}

#[test]
fn there_is_no_root_without_the_programs() {
    let stage = Stage::with_cache();
    stage.cargo(101);
    let mut image = stage.command("tools/guest/image");
    image.args(["--program", "ane"]).arg(stage.at("guest.img")).env("CARGO_TARGET_DIR", stage.at("target"));
    let output = image.output().unwrap();
    assert!(!output.status.success() && said(&output).contains("not built"), "{}", said(&output));
    assert!(!stage.at("guest.img").exists());
    let output = stage.command("tools/guest/image").args(["--program", "none", "out"]).output().unwrap();
    assert!(!output.status.success() && said(&output).contains("no program none"), "{}", said(&output));
}

#[test]
fn guest_loads_a_module_behind_those_that_it_needs() {
    let stage = Stage::new();
    let init = fs::read_to_string(root().join("tools/guest/init")).unwrap();
    let begin = init.find("load() {").unwrap();
    let end = init.find("# A kernel without INET").unwrap();
    // As `ane vm run` names them.
    for (file, depends) in
        [("000-ane-front", "ane_middle,ane_back"), ("001-ane-middle", "ane_back"), ("002-ane-back", "drm")]
    {
        stage.file(&format!("modules/user/{file}.ko"), &format!("license=GPL\0depends={depends}\0name=x\0"));
    }
    let part = init[begin..end].replace("/modules/user", "modules/user").replace("/run/loaded", "loaded");
    let script = format!("insmod() {{ basename \"$1\"; }}\n{part}");
    let output = stage.command("/bin/sh").current_dir(stage.at("")).args(["-c", &script]).output().unwrap();
    assert_eq!(said(&output), "002-ane-back.ko\n001-ane-middle.ko\n000-ane-front.ko\n");
}

#[test]
fn compiler_of_a_guest_is_called_in_a_cache_with_a_blank() {
    let stage = Stage::new();
    let library = stage.file("cache/apple/tools/usr/aarch64-linux-gnu/lib/libc.a", "");
    stage.program("cache/apple/tools/usr/bin/aarch64-linux-gnu-gcc-14", "for word; do echo \"$word\"; done");
    stage.file("client/Makefile", "all:\n\t@cc client.c\n");
    let mut client = stage.command("tools/guest/client");
    let output = client.arg("--make").arg(stage.at("client")).output().unwrap();
    let words = said(&output);
    let folder = library.parent().unwrap().display().to_string();
    assert!(words.lines().any(|word| word == folder) && words.ends_with("\nclient.c\n"), "{words}");
}

#[test]
fn parts_of_a_campaign_are_run_by_a_program_whose_path_has_a_blank() {
    let stage = Stage::new();
    stage.program(
        "bin/parallel",
        "while read -r part; do sh -c \"$(echo \"$1\" | sed \"s/{}/$part/g\")\"; done",
    );
    stage.program("ane", "[ \"$2\" = report ] || echo \"$3 $4\" >\"$9\"");
    let mut script = stage.command("dist/campaign/parallel.sh");
    script.arg("a manifest").arg(stage.at("results")).env("ANE", stage.at("ane")).env("ANE_PARTS", "2");
    let output = script.output().unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(stage.read("results/2.jsonl"), "--shard 2/2\n");
}
