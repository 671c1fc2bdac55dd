//! The C headers against the Rust side: compiled as C and as C++, and asked for every number.

use std::fmt::Write;
use std::path::Path;
use std::process::Command;

use ane_tests::data;
use ane_uapi::abi::{self, AbiStruct, Item, Section};
use ane_uapi::ioctl::{self, drm_ane};
use ane_uapi::wire;
use xtask::c_header::{headers, register_expressions};
use xtask::output::root;

/// The compilers that have to take the headers, each with its standard and what its sources are called.
const COMPILERS: [(&str, &str, &str); 2] = [("cc", "-std=c11", "c"), ("c++", "-std=c++17", "cpp")];

/// A number that C has to print: the expression, and what Rust says it is.
type Question = (String, u64);

/// Everything that C can be asked about `sections`.
fn questions(sections: &[Section]) -> Vec<Question> {
    let mut questions = Vec::new();
    for layout in abi::structs(sections) {
        questions.push((format!("sizeof(struct {})", layout.c_name), layout.size as u64));
        for field in layout.fields {
            let (name, of) = (field.name, layout.c_name);
            questions.push((format!("offsetof(struct {of}, {name})"), field.offset as u64));
            questions.push((format!("sizeof(((struct {of} *)0)->{name})"), field.size as u64));
        }
    }
    for item in sections.iter().flat_map(|section| section.items) {
        if let Item::Constants(constants) = item {
            questions.extend(constants.iter().map(|constant| (constant.c_name.to_owned(), constant.value)));
        }
    }
    questions
}

/// The values of the enumerations of `sections`, under the names that C has for them: the prefix, and the
/// value's own name in capitals with an underscore for everything between its words.
fn enumeration_values(sections: &[Section]) -> Vec<Question> {
    let macro_name = |prefix: &str, name: &str| {
        let words = name.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
        format!("{prefix}{}", words.collect::<Vec<_>>().join("_").to_ascii_uppercase())
    };
    let mut values = Vec::new();
    for item in sections.iter().flat_map(|section| section.items) {
        if let Item::Enumeration(enumeration) = item {
            for code in enumeration.codes {
                values.push((macro_name(enumeration.c_prefix, code.name), code.value.into()));
            }
        }
    }
    values
}

/// A program that prints the answers, one a line.
fn program(questions: &[Question]) -> String {
    let mut text = String::from("#include <stddef.h>\n#include <stdio.h>\n");
    for header in headers() {
        let name = Path::new(header.path).file_name().expect("a header has a name").display().to_string();
        let _ = writeln!(text, "#include \"{name}\"");
    }
    text.push_str("int main(void)\n{\n");
    for (expression, _) in questions {
        let _ = writeln!(text, "\tprintf(\"%llx\\n\", (unsigned long long)({expression}));");
    }
    text.push_str("\treturn 0;\n}\n");
    text
}

/// The output of the program that `compiler` has compiled; `None` where there is no such compiler.
fn answers(compiler: &str, arguments: &[&str], source: &str, extension: &str) -> Option<Vec<u64>> {
    if Command::new(compiler).arg("--version").output().is_err() {
        data::not_run(&format!("{compiler} is missing"));
        return None;
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (source_path, binary) = (folder.path().join(format!("ask.{extension}")), folder.path().join("ask"));
    std::fs::write(&source_path, source).expect("the source can be written");
    let output = Command::new(compiler)
        .args(arguments)
        .args(["-Wall", "-Wextra", "-Werror", "-pedantic", "-o"])
        .arg(&binary)
        .arg("-I")
        .arg(root().join("uapi/include"))
        .arg(&source_path)
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{compiler}: {}", String::from_utf8_lossy(&output.stderr));
    let output = Command::new(binary).output().expect("the program runs");
    let text = String::from_utf8(output.stdout).expect("the program prints text");
    Some(text.lines().map(|line| u64::from_str_radix(line, 16).expect("a hexadecimal number")).collect())
}

/// The ioctls' numbers, as C computes them from the size of the structure.
fn ioctl_numbers() -> impl Iterator<Item = Question> {
    ioctl::IOCTLS.iter().map(|ioctl| (ioctl.c_name.to_owned(), u64::from(ioctl.number)))
}

#[test]
fn c_sees_what_rust_sees() {
    let mut questions: Vec<Question> = questions(ioctl::SECTIONS);
    questions.extend(self::questions(wire::SECTIONS));
    questions.extend(ioctl_numbers());
    let values = [enumeration_values(ioctl::SECTIONS), enumeration_values(wire::SECTIONS)].concat();
    assert!(values.len() > 100, "only {} values of enumerations", values.len());
    questions.extend(values);
    assert!(questions.len() > 400, "only {} numbers to compare", questions.len());
    let source = program(&questions);
    for (compiler, standard, extension) in COMPILERS {
        let Some(answers) = answers(compiler, &[standard], &source, extension) else { continue };
        assert_eq!(answers.len(), questions.len());
        for ((expression, rust), c) in questions.iter().zip(answers) {
            assert_eq!(c, *rust, "{expression} as {compiler} sees it");
        }
    }
}

#[test]
fn header_that_is_included_alone_compiles() {
    for header in headers() {
        let name = Path::new(header.path).file_name().expect("a header has a name").display().to_string();
        let source = format!("#include \"{name}\"\nint main(void) {{ return 0; }}\n");
        for (compiler, standard, extension) in COMPILERS {
            if let Some(answers) = answers(compiler, &[standard], &source, extension) {
                assert!(answers.is_empty(), "{name} as {compiler} sees it");
            }
        }
    }
}

#[test]
fn register_header_gives_the_offsets_and_masks_of_the_tables() {
    let questions = register_expressions();
    assert!(questions.len() > 500, "only {} numbers to compare", questions.len());
    let Some(answers) = answers("cc", &["-std=c11"], &program(&questions), "c") else { return };
    for ((expression, rust), c) in questions.iter().zip(answers) {
        assert_eq!(c, *rust, "{expression}");
    }
}

#[test]
fn existing_ioctls_keep_their_numbers_and_sizes() {
    assert_eq!(drm_ane::GET_CAPS.number, 0xc020_6440);
    assert_eq!(drm_ane::BO_INIT.number, 0xc018_6441);
    assert_eq!(drm_ane::BO_FREE.number, 0xc008_6442);
    assert_eq!(drm_ane::SUBMIT.number, 0xc098_6443);
    assert_eq!(drm_ane::BoInit::LAYOUT.size, 24);
    assert_eq!(drm_ane::BoFree::LAYOUT.size, 8);
    assert_eq!(drm_ane::Submit::LAYOUT.size, 152);
    let names: Vec<&str> = ioctl::IOCTLS.iter().take(4).map(|ioctl| ioctl.c_name).collect();
    let existing =
        ["DRM_IOCTL_ANE_GET_CAPS", "DRM_IOCTL_ANE_BO_INIT", "DRM_IOCTL_ANE_BO_FREE", "DRM_IOCTL_ANE_SUBMIT"];
    assert_eq!(names, existing);
    let text = &headers()[0].text;
    for name in ["struct drm_ane_bo_init {", "struct drm_ane_bo_free {", "struct drm_ane_submit {"] {
        assert!(text.contains(name), "{name}");
    }
}

#[test]
fn committed_headers_are_current() {
    for header in headers() {
        let committed = std::fs::read_to_string(root().join(header.path)).unwrap_or_default();
        assert!(committed == header.text, "{} has drifted; run `cargo xtask headers`", header.path);
    }
}
