//! Documents that point at code: what they point at has to exist.

use std::collections::BTreeSet;
use std::path::PathBuf;

use ane_tests::workspace::root;

fn read(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Rows of every Markdown table in `text`, as trimmed cells; heads and rulers left out.
fn rows(text: &str) -> Vec<Vec<&str>> {
    let mut rows = Vec::new();
    let mut in_table = false;
    for line in text.lines() {
        if !line.starts_with('|') {
            in_table = false;
            continue;
        }
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let ruler = cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| "-: ".contains(c)));
        if in_table {
            rows.push(cells);
        }
        in_table |= ruler;
    }
    rows
}

/// The spans of `text` between backquotes.
fn code_spans(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Every Markdown file that the tree keeps.
fn documents() -> Vec<PathBuf> {
    let mut found: Vec<PathBuf> = ["README.md", "CHANGELOG.md", "Kconfig-notes.md", "fuzz/README.md"]
        .iter()
        .map(|name| root().join(name))
        .collect();
    let mut folders = vec![root().join("docs")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).expect("docs is a folder").flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "md") {
                found.push(path);
            }
        }
    }
    found
}

/// The glossary: the terms, and the words that mean several things.
fn glossary() -> (String, String) {
    let text = read("docs/glossary.md");
    let (terms, words) =
        text.split_once("\n## One word, several things\n").expect("the glossary has two tables");
    (terms.to_owned(), words.to_owned())
}

#[test]
fn glossary_term_leads_to_a_file_that_exists_and_names_its_founding_document() {
    let (terms, _) = glossary();
    let rows = rows(&terms);
    assert!(rows.len() > 40, "the glossary has only {} terms", rows.len());
    for row in rows {
        let [term, files, source] = row[..] else { panic!("a row has three cells: {row:?}") };
        let mut named = code_spans(files).peekable();
        assert!(named.peek().is_some(), "{term} leads to no file");
        for file in named {
            assert!(root().join(file).exists(), "{term} leads to {file}, which does not exist");
        }
        assert!(!source.is_empty(), "{term} names no founding document");
    }
}

#[test]
fn word_of_the_glossary_has_several_meanings_and_leads_to_files_that_exist() {
    let (_, words) = glossary();
    let rows = rows(&words);
    assert!(!rows.is_empty(), "the glossary has no words with several meanings");
    for row in rows {
        let [word, meanings @ ..] = &row[..] else { panic!("a row has cells: {row:?}") };
        let meant: BTreeSet<_> =
            meanings.iter().filter(|&&meaning| !["-", "the same"].contains(&meaning)).collect();
        assert!(meant.len() > 1, "{word} has no more than one meaning: {row:?}");
        let mut named = meant.into_iter().flat_map(|meaning| code_spans(meaning)).peekable();
        assert!(named.peek().is_some(), "{word} leads to no file");
        for file in named {
            assert!(root().join(file).exists(), "{word} leads to {file}, which does not exist");
        }
    }
}

#[test]
fn promise_names_a_test_that_exists() {
    let text = read("docs/specification.md");
    let rows = rows(&text);
    assert!(rows.len() > 20, "the specification has only {} promises", rows.len());
    for (row, number) in rows.iter().zip(1..) {
        let [id, promise, test] = row[..] else { panic!("a row has three cells: {row:?}") };
        assert_eq!(id, format!("P{number}"), "promises are numbered in order");
        assert!(!promise.is_empty());
        for span in code_spans(test) {
            let Some((file, name)) = span.split_once("::") else {
                assert!(root().join(span).exists(), "{id} names {span}, which does not exist");
                continue;
            };
            let source = read(file);
            assert!(source.contains(&format!("fn {name}(")), "{id} names {name}, which is not in {file}");
        }
        assert!(code_spans(test).next().is_some(), "{id} names no test");
    }
}

#[test]
fn threat_has_a_bound_that_its_owner_names_and_a_test_that_exists() {
    let text = read("docs/threat-model.md");
    let rows = rows(&text);
    assert!(rows.len() > 30, "the threat model has only {} rows", rows.len());
    for row in rows {
        let [threat, bound, owner, failure, test] = row[..] else { panic!("a row has five cells: {row:?}") };
        assert!(!bound.is_empty() && !failure.is_empty(), "{threat}");
        let owners: Vec<_> = code_spans(owner).map(read).collect();
        assert!(!owners.is_empty(), "{threat} is kept nowhere");
        for constant in code_spans(bound) {
            let found = owners.iter().any(|source| source.contains(&format!("const {constant}:")));
            assert!(found, "{threat}: {constant} is not in {owner}");
        }
        assert!(code_spans(test).next().is_some(), "{threat} names no test");
        for span in code_spans(test) {
            let (file, name) = span.split_once("::").unwrap_or_else(|| panic!("{span} is no test"));
            assert!(read(file).contains(&format!("fn {name}(")), "{threat}: {name} is not in {file}");
        }
    }
}

/// Requirement: FAULT-08, TM-17, TM-18
#[test]
fn open_question_says_where_it_is_left_open_and_what_is_done_meanwhile() {
    let text = read("docs/open-questions.md");
    let rows = rows(&text);
    for row in &rows {
        let [question, source, done, owner] = row[..] else { panic!("a row has four cells: {row:?}") };
        assert!(!question.is_empty() && !source.is_empty() && !done.is_empty());
        for file in code_spans(owner) {
            assert!(root().join(file).exists(), "{question}: {file} does not exist");
        }
    }
    let asked = |words: &str| rows.iter().find(|row| row[0].contains(words));
    let probe = asked("live DART").expect("probing is a question");
    assert!(probe[1].contains("panics an M1"));
    let fifo = asked("FIFO").expect("the FIFO is a question");
    assert!(fifo[2].starts_with("ours:"));
    assert!(asked("kernel memory is overwritten").is_some());
    assert!(asked("in a BAR that nothing is mapped at").is_some());
}

#[test]
fn relative_link_leads_to_a_file_that_exists() {
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("the document is readable");
        let folder = document.parent().expect("a file has a folder");
        for link in text.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
            let path = link.split('#').next().unwrap_or_default();
            if !path.is_empty() && !path.contains("://") {
                assert!(folder.join(path).exists(), "{}: link to {path}", document.display());
            }
        }
    }
}

/// The stops of a walk: of each numbered line, the code spans before its colon.
fn stops(walk: &str) -> Vec<Vec<&str>> {
    let mut stops = Vec::new();
    for line in walk.lines() {
        let Some((number, rest)) = line.split_once(". `") else { continue };
        if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
            continue;
        }
        assert_eq!(number, (stops.len() + 1).to_string(), "stops are numbered in order: {line}");
        let spans = rest.split_once("`: ").unwrap_or_else(|| panic!("no colon behind a code span: {line}")).0;
        stops.push(spans.split('`').step_by(2).collect());
    }
    stops
}

#[test]
fn walk_visits_each_file_once_and_finds_its_functions_there() {
    let folder = std::fs::read_dir(root().join("docs/walks")).expect("docs/walks is a folder");
    let walks: Vec<_> = folder.flatten().map(|entry| entry.path()).collect();
    assert!(walks.len() >= 3, "there are only {} walks", walks.len());
    for walk in walks {
        let (name, text) = (walk.display(), std::fs::read_to_string(&walk).expect("a walk is readable"));
        let stops = stops(&text);
        assert!(stops.len() > 10, "{name} has only {} stops", stops.len());
        let mut visited = BTreeSet::new();
        for stop in &stops {
            let (&file, functions) = stop.split_first().expect("a stop names a file");
            assert!(visited.insert(file), "{name} visits {file} twice");
            assert!(!functions.is_empty(), "{name} names no function of {file}");
            let source = read(file);
            for function in functions {
                let is_there = ["(", "<"].iter().any(|end| source.contains(&format!("fn {function}{end}")));
                assert!(is_there, "{name}: {function} is not in {file}");
            }
        }
        for span in code_spans(&text).filter(|span| span.ends_with(".rs")) {
            assert!(root().join(span).exists(), "{name} names {span}, which does not exist");
        }
    }
}

#[test]
fn public_document_names_no_path_of_a_workplace() {
    let checkout = root().canonicalize().expect("the tree is there").display().to_string();
    let home = std::env::var("HOME").ok().filter(|home| home.len() > 1);
    let places: Vec<String> = home.into_iter().chain([checkout]).collect();
    for document in documents() {
        let text = std::fs::read_to_string(&document).expect("the document is readable");
        for place in &places {
            assert!(!text.contains(place), "{} names {place}", document.display());
        }
    }
}

/// Requirement: PEMMU-09, PEMMU-14, PEMMU-18, PEMMU-21, PEMMU-22, PEMMU-23
#[test]
fn chapter_on_pe_mmu_says_what_its_record_wants_said() {
    let text = read("docs/pe-mmu.md").split_whitespace().collect::<Vec<_>>().join(" ");
    for words in [
        // D2.1, remedy (b).
        "*Rejected*: it weakens what the overhead means.",
        // D3.
        "are a **stopgap** of the simulator",
        // D5.
        "Who sends messages, and to how many such nodes, is not this block's business",
        // The alternatives.
        "*A waiting `translate`* (A1)",
        "*Small pages in the place of regions* (A2)",
        "*A helper without a node* (A3)",
        // The consequences.
        "*Joining the two faces*, or giving `translate` a time of its own later: both have been asked for and refused",
        // The sibling records.
        "0038, `pcie_ep`",
        "0040, `pe_tcm`",
        "0041, `sram`",
        "0042, `tiling`",
    ] {
        assert!(text.contains(words), "{words:?} is not in docs/pe-mmu.md");
    }
}

/// Requirement: MOVER-33
#[test]
fn chapter_on_the_mover_cites_the_sources_of_its_page() {
    let text = read("docs/mover.md");
    for source in [
        "XMOV.md",
        "Mover.md",
        "TDMA-RISC.md",
        "tensix.h",
        "tensix_types.h",
        "cfg_defines.h",
        "tdma_xmov.c",
        "ckernel_xmov.h",
        "ckernel_ops.h",
        "assembly.yaml",
    ] {
        assert!(text.contains(&format!("`{source}`")), "{source} is not cited");
    }
}

#[test]
fn chapter_on_the_control_socket_tells_every_fault_that_can_be_made() {
    let text = read("docs/control.md");
    let rows = rows(&text);
    for kind in ane_device::inject::KINDS {
        let tells = |row: &Vec<&str>| {
            row.first().is_some_and(|cell| code_spans(cell).any(|span| span.split(':').next() == Some(kind)))
        };
        assert!(rows.iter().any(tells), "{kind} has no row");
    }
    assert!(
        text.contains(&format!("known: {}\n", ane_device::inject::KINDS.join(", "))),
        "the example's answer"
    );
}
