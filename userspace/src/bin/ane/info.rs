//! `ane info`.

use std::fmt::{self, Write as _};
use std::path::Path;
use std::path::PathBuf;

use ane::count::count;
use ane::decode::{ProgramReport, SurfaceReport, TaskReports, printable};
use ane::device::Device;
use ane_uapi::hw::pe_mmu::PS_PER_NS;
use ane_uapi::ioctl::context::CONTEXT_ANY;
use ane_uapi::ioctl::param::{
    FEATURE_CHECK, FEATURE_MOVER, FEATURE_PE_MMU, FEATURE_VIRTUAL, MOVER_CONTENDED, MOVER_ISA,
    MOVER_WAITS_FOR_CREDIT, MOVER_WORMHOLE, PE_MMU_ENTRIES_MAX, Param,
};
use anyhow::Result;
use clap::Args;
use serde::Serialize;

use crate::device::DeviceArgs;
use crate::{device, files, run};

/// Describe a program, or a device
///
/// With MODEL: prints the container, the tasks and what each does, the operands with their shapes, and how much memory
/// the program takes. Of a program that `ane compile` made it prints the shapes and layers of the model, too. Without MODEL: prints the chip, what the device offers, and its limits.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  ane info examples/add_relu.anec
  ane info --chip t6000
  ane info --device aned --json")]
pub(crate) struct Info {
    /// The program: .hwx or .anec, told apart by content; - is standard input
    pub(crate) model: Option<PathBuf>,
    /// Print JSON for another program to read
    #[arg(long)]
    pub(crate) json: bool,
    /// The device
    #[command(flatten)]
    pub(crate) device: DeviceArgs,
}

pub(crate) fn run(args: &Info) -> Result<()> {
    match &args.model {
        Some(model) => program(model, args.json),
        None => of_device(args),
    }
}

#[derive(Debug, Serialize)]
struct Overview {
    file: String,
    program: ProgramReport,
    /// The operation of each task.
    tasks: Vec<String>,
    /// Bytes of all buffers together.
    memory_bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    damage: Option<String>,
}

fn program(path: &Path, json: bool) -> Result<()> {
    let file = files::name(path);
    let bytes = files::read(path)?;
    let program = files::program(path, &bytes)?;
    let whole = ProgramReport::of(&program);
    let (mut walk, mut tasks) = (TaskReports::of(&program), Vec::new());
    while let Some(task) = walk.next(&whole.bars) {
        let layer = program.layer_of(task.index);
        let layer = layer.map(|layer| {
            format!("; {} {}", printable(&layer.operation), printable(&layer.name)).trim_end().to_owned()
        });
        tasks.push(task.summary.clone() + &layer.unwrap_or_default());
    }
    let overview = Overview {
        file,
        memory_bytes: program.bars.iter().map(|bar| bar.bytes).sum(),
        tasks,
        damage: walk.damage().map(|damage| damage.to_string()),
        program: whole,
    };
    if json { files::print_json(&overview) } else { files::print(overview.page()?.as_bytes()) }
}

impl Overview {
    fn page(&self) -> Result<String, fmt::Error> {
        let mut page = String::new();
        let Self { file, program, .. } = self;
        let tasks = program.task_count;
        writeln!(page, "{file}: {} program in {}", program.generation, program.container)?;
        for line in &program.compiler {
            writeln!(page, "  compiler  {}", printable(line))?;
        }
        for surface in &program.surfaces {
            let SurfaceReport { name, direction, bar, element, shape, array, .. } = surface;
            write!(page, "  {direction:<8}  {:<16} ", printable(name))?;
            match array {
                Some(array) => writeln!(page, "{array:?} {element}, as {shape:?}, BAR {bar}")?,
                None => writeln!(page, "{shape:?} {element}, BAR {bar}")?,
            }
        }
        let constants: usize = program.constants.iter().map(|constants| constants.bytes).sum();
        writeln!(
            page,
            "  memory    {} in all: {} of descriptors, {constants} of constants, {} of scratch",
            count(self.memory_bytes, "byte"),
            program.stream_bytes,
            program.scratch_bytes
        )?;
        writeln!(page, "  tasks     {tasks}")?;
        for (index, summary) in self.tasks.iter().enumerate() {
            writeln!(page, "    {index:>4}  {summary}")?;
        }
        for note in &program.notes {
            writeln!(page, "  note      {note}")?;
        }
        for warning in &program.warnings {
            writeln!(page, "  warning   {warning}")?;
        }
        if let Some(damage) = &self.damage {
            writeln!(page, "  damage    {damage}")?;
        }
        Ok(page)
    }
}

#[derive(Debug, Serialize)]
struct Description {
    device: String,
    chip: String,
    features: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pe_mmu: Option<PeMmu>,
    #[serde(skip_serializing_if = "Option::is_none")]
    mover: Option<Mover>,
    parameters: Vec<Parameter>,
}

#[derive(Debug, Serialize)]
struct Parameter {
    name: &'static str,
    value: u64,
}

#[derive(Debug, Serialize)]
struct PeMmu {
    page_bytes: u64,
    overhead_ns: f64,
    fabric_ns: f64,
    entries_max: u32,
}

impl PeMmu {
    fn of(device: &Device) -> Option<Self> {
        let nanoseconds = |param| device.parameter(param).map(|time| time as f64 / f64::from(PS_PER_NS)).ok();
        Some(Self {
            page_bytes: device.parameter(Param::PeMmuPageSize).ok()?,
            overhead_ns: nanoseconds(Param::PeMmuOverheadPs)?,
            fabric_ns: nanoseconds(Param::PeMmuFabricPs)?,
            entries_max: PE_MMU_ENTRIES_MAX,
        })
    }
}

impl fmt::Display for PeMmu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { page_bytes, overhead_ns, fabric_ns, entries_max } = self;
        write!(
            f,
            "pages of {page_bytes:#x} bytes, a translation costs {overhead_ns} ns, a message {fabric_ns} ns and has \
             at most {}",
            count(*entries_max, "entry")
        )
    }
}

#[derive(Debug, Serialize)]
struct Mover {
    profile: &'static str,
    chip: &'static str,
    contended: bool,
    waits_for_credit: bool,
}

impl Mover {
    fn of(device: &Device) -> Option<Self> {
        let bits = device.parameter(Param::MoverAttributes).ok()?;
        let is = |bit| bits & bit != 0;
        Some(Self {
            profile: if is(MOVER_ISA) { "isa" } else { "seed" },
            chip: if is(MOVER_WORMHOLE) { "wormhole" } else { "blackhole" },
            contended: is(MOVER_CONTENDED),
            waits_for_credit: is(MOVER_WAITS_FOR_CREDIT),
        })
    }
}

impl fmt::Display for Mover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { profile, chip, contended, waits_for_credit } = self;
        let ports = if *contended { "contended" } else { "its own" };
        let credit = if *waits_for_credit { "waits" } else { "is refused" };
        write!(
            f,
            "as {profile} describes it, words of {chip}, ports {ports}, a command without credit {credit}"
        )
    }
}

fn of_device(args: &Info) -> Result<()> {
    let device = device::open(&args.device)?;
    let mut parameters = Vec::new();
    for code in Param::CODES {
        // A driver that is older than a parameter does not know it.
        if let Ok(param) = Param::try_from(code.value)
            && let Ok(value) = device.parameter(param)
        {
            parameters.push(Parameter { name: code.name, value });
        }
    }
    let bits = device.parameter(Param::Features).unwrap_or_default();
    let named = [
        (FEATURE_PE_MMU, "PE_MMU"),
        (FEATURE_MOVER, "mover"),
        (FEATURE_CHECK, "checking"),
        (FEATURE_VIRTUAL, "virtual"),
    ];
    let has = |bit| bits & bit != 0;
    let description = Description {
        device: device.location().to_string(),
        chip: run::chip(&device)?,
        features: named.into_iter().filter(|(bit, _)| bits & bit != 0).map(|(_, name)| name).collect(),
        pe_mmu: has(FEATURE_PE_MMU).then(|| PeMmu::of(&device)).flatten(),
        mover: has(FEATURE_MOVER).then(|| Mover::of(&device)).flatten(),
        parameters,
    };
    if args.json {
        return files::print_json(&description);
    }
    let mut page = String::new();
    let Description { device, chip, features, pe_mmu, mover, parameters } = &description;
    writeln!(page, "{chip} ({device}): {}", features.join(", "))?;
    if let Some(pe_mmu) = pe_mmu {
        writeln!(page, "  PE_MMU  {pe_mmu}")?;
    }
    if let Some(mover) = mover {
        writeln!(page, "  mover   {mover}")?;
    }
    for Parameter { name, value } in parameters {
        // Addresses, sizes and bit sets are read in hexadecimal.
        if *name == Param::Context.name() && *value == u64::from(CONTEXT_ANY) {
            writeln!(page, "  {name:<16}  none")?;
        } else if *name == Param::Engines.name() && *value == 0 {
            writeln!(page, "  {name:<16}  no source says how many")?;
        } else if *value >= 0x1000 && *name != "clock ns" && *name != "ticks per second" {
            writeln!(page, "  {name:<16}  {value:#x}")?;
        } else {
            writeln!(page, "  {name:<16}  {value}")?;
        }
    }
    files::print(page.as_bytes())
}
