//! `docs/timing.md`.

use std::fmt::Write as _;

use ane_device::timing::Machine;
use ane_device::timing::machine::{LAYER_OVERHEAD, LINE_GRANULES};
use ane_uapi::hw::hal;
use anyhow::Result;

use super::experiment::{self, CHIP, Curve, STEP_INPUTS, SWEEP_BATCH, SWEEP_INPUTS};

const INTRODUCTION: &str = include_str!("introduction.md");
const LIMITS: &str = include_str!("limits.md");

fn table(page: &mut String, unit: &str, curve: &Curve) -> Result<()> {
    writeln!(page, "| | measured, {unit} | model, {unit} | model beside measurement |")?;
    writeln!(page, "| --- | --- | --- | --- |")?;
    for point in &curve.points {
        let (low, high) = point.measured;
        let measured = if low == high { format!("{low}") } else { format!("{low} to {high}") };
        let model =
            if point.model < 100.0 { format!("{:.1}", point.model) } else { format!("{:.0}", point.model) };
        let error = match 100.0 * point.error() {
            error if error.abs() < 0.05 => "inside".to_owned(),
            error => format!("{error:+.0} %"),
        };
        writeln!(page, "| {} | {measured} | {model} | {error} |", point.what)?;
    }
    let (worst, tolerance) = (100.0 * curve.worst(), 100.0 * curve.tolerance.0);
    writeln!(page, "\nHeld to {tolerance:.0} %; the worst point is {worst:.0} % off.\n")?;
    Ok(())
}

fn parameters(page: &mut String) -> Result<()> {
    let machine = Machine::of(CHIP.chip().generation);
    let hierarchy = &machine.hierarchy;
    let field = |offset: hal::FieldOffset| format!("HAL {:#x}", offset.0);
    let number = |offset| hal::value(CHIP.chip().generation, offset).map_or(0, |value| value.number);
    let rows = [
        ("clock", format!("{:.2} GHz", machine.clock_hz as f64 / 1e9), "facts I, *clocks*".to_owned()),
        (
            "DRAM, both directions together",
            format!("{:.1} GB/s", machine.memory_bytes_per_second as f64 / 1e9),
            "facts I, *DRAM*: fitted by the source over whole calls".to_owned(),
        ),
        (
            "dispatch",
            format!("{:.2} ms", machine.dispatch_nanoseconds as f64 / 1e6),
            "facts I, *dispatch floor*: the slope's intercept".to_owned(),
        ),
        ("cores", number(hal::CORES).to_string(), field(hal::CORES)),
        ("accumulators of a core", number(hal::ACCUMULATORS).to_string(), field(hal::ACCUMULATORS)),
        (
            "channels of an accumulator",
            number(hal::CHANNELS_PER_ACCUMULATOR).to_string(),
            field(hal::CHANNELS_PER_ACCUMULATOR),
        ),
        (
            "output channels of a pass",
            machine.outputs_per_pass.to_string(),
            "the product of these three".to_owned(),
        ),
        ("line", format!("{} granules", LINE_GRANULES), "seed 003: the period of throughput".to_owned()),
        (
            "multiply-adds in a cycle",
            machine.peak().to_string(),
            "pass and line; as seed 004 counts".to_owned(),
        ),
        ("operand bound", format!("{:#x}", hierarchy.operand_bytes), field(hal::MAX_OPERAND_BYTES)),
        (
            "tiler's margin",
            format!("{:#x}", hierarchy.split_bytes() - hierarchy.operand_bytes),
            "seed 003".to_owned(),
        ),
        (
            "tile",
            format!("{:#x}", hierarchy.tile_bytes()),
            "half the bound: inferred from double buffering".to_owned(),
        ),
        (
            "granule, banks",
            format!("{}, {}", hierarchy.granule, hierarchy.banks),
            "HAL 0x1c0, 0x1c8".to_owned(),
        ),
        ("a layer besides its work", format!("{LAYER_OVERHEAD} cycles"), "facts G.1".to_owned()),
    ];
    writeln!(page, "| | value on the M1 | from |\n| --- | --- | --- |")?;
    for (name, value, from) in rows {
        writeln!(page, "| {name} | {value} | {from} |")?;
    }
    writeln!(page)?;
    Ok(())
}

pub(super) fn render(sweep: &Curve, convolutions: &Curve) -> Result<String> {
    let mut page = INTRODUCTION.to_owned();
    writeln!(page, "\n## The numbers\n")?;
    parameters(&mut page)?;
    writeln!(page, "## Beside measurements\n\n![Model and measurement](timing.svg)\n")?;

    writeln!(page, "### Across the pool's bound (seed 003, table 21.1)\n")?;
    writeln!(
        page,
        "A product of {SWEEP_BATCH} rows and a weight of {SWEEP_INPUTS} input channels whose output channels grow. The \
         source gives neither number.\n{SWEEP_BATCH} is the power of two at which the line through the plateau's ends, in \
         time over bytes, starts at the dispatch time.\nThe step lies at the bound and its margin, in sweeps up and in \
         sweeps down: a task does not know of a sweep.\n"
    )?;
    table(&mut page, "GFLOP/s", sweep)?;

    writeln!(page, "### Convolutions, end to end (facts I, G)\n")?;
    writeln!(page, "None of the numbers above was chosen to match these measurements.\n")?;
    table(&mut page, "us", convolutions)?;

    writeln!(page, "### Cores (facts G.1)\n")?;
    writeln!(
        page,
        "One output channel on each core. The source does not give the layer; here it is 1x1 over 64 channels of 256 by \
         256, the\nlargest input of the published ladder.\n"
    )?;
    table(&mut page, "GMAC/s", &experiment::cores()?)?;

    writeln!(page, "### One more pass over the output channels (facts G.1)\n")?;
    writeln!(
        page,
        "A 1x1 layer over 32 by 32 grows from 20 to 61 us between 192 and 256 output channels. The source gives neither \
         the input\nchannels nor the start of the measured times. So only the step is compared, for {STEP_INPUTS} input \
         channels and operands on chip.\nThe step is proportional to the input channels. So this point shows that there \
         is a step, but says little about its height.\n"
    )?;
    table(&mut page, "us", &experiment::pass_step()?)?;

    writeln!(page, "### The floor (facts I)\n")?;
    table(&mut page, "us", &experiment::floor()?)?;
    page.push_str(LIMITS);
    Ok(page)
}
