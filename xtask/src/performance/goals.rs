//! The goals: what each figure has to be, and what it had better be.
//!
//! The one place where these numbers are. The benches read this file as text, by `#[path]`, so that a bench that is
//! run by itself judges its figures as `docs/performance.md` does; it therefore knows nothing of the crate around it.

/// On which side of its numbers a goal is met.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    /// At these numbers and below.
    AtMost,
    /// At these numbers and above.
    AtLeast,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Goal {
    /// Its name; a second word tells apart what one goal says of several figures.
    pub(crate) id: &'static str,
    pub(crate) what: &'static str,
    /// The unit of the figure; a ratio has none.
    pub(crate) unit: &'static str,
    /// The side of the bound that is good.
    pub(crate) side: Side,
    pub(crate) hold: f64,
    /// A better value to strive for, if there is one.
    pub(crate) stretch: Option<f64>,
}

impl Goal {
    pub(crate) fn of(id: &str) -> Option<&'static Self> {
        GOALS.iter().find(|goal| goal.id == id)
    }

    pub(crate) fn verdict(&self, figure: f64) -> &'static str {
        if self.stretch.is_some_and(|stretch| self.meets(figure, stretch)) {
            "stretch"
        } else if self.meets(figure, self.hold) {
            "held"
        } else {
            "MISSED"
        }
    }

    /// The bound and the better value, in words.
    pub(crate) fn columns(&self) -> (String, String) {
        let sign = match self.side {
            Side::AtMost => "<=",
            Side::AtLeast => ">=",
        };
        let words = |bound: f64| format!("{sign} {bound}{}", self.unit);
        (words(self.hold), self.stretch.map_or_else(|| "-".to_owned(), words))
    }

    fn meets(&self, figure: f64, bound: f64) -> bool {
        match self.side {
            Side::AtMost => figure <= bound,
            Side::AtLeast => figure >= bound,
        }
    }
}

const fn limit(id: &'static str, what: &'static str, hold: f64) -> Goal {
    Goal { id, what, unit: "", side: Side::AtMost, hold, stretch: None }
}

const fn at_most(id: &'static str, what: &'static str, hold: f64, stretch: f64) -> Goal {
    Goal { stretch: Some(stretch), ..limit(id, what, hold) }
}

const fn at_least(id: &'static str, what: &'static str, hold: f64, stretch: f64) -> Goal {
    Goal { side: Side::AtLeast, ..at_most(id, what, hold, stretch) }
}

const fn within(unit: &'static str, goal: Goal) -> Goal {
    Goal { unit, ..goal }
}

pub(crate) const GOALS: &[Goal] = &[
    at_most(
        "A1",
        "dense products and 3x3 convolutions, normally distributed data / best f32 product in pure Rust, same problem \
         and threads",
        1.5,
        1.2,
    ),
    at_most(
        "A2",
        "the same, data and coefficients near 2^-8: the drop rule acts everywhere / the same peer",
        2.6,
        2.0,
    ),
    at_most("A3", "data that reach 2^15 / ordinary data", 4.0, 2.0),
    at_most("A4", "kernel alone / plain single-precision multiply-add of the same blocking", 1.4, 1.15),
    at_least("A5", "two threads / one, above 0.2 GFLOP", 1.75, 1.9),
    at_most(
        "A6",
        "depthwise, three input channels, one pixel of many channels / straightforward f32 code",
        1.1,
        0.8,
    ),
    Goal {
        side: Side::AtLeast,
        ..limit(
            "A6 memcpy",
            "one pixel of many channels: reading its coefficients / memcpy of them, as bandwidth",
            0.7,
        )
    },
    at_most("A7", "convolutions through the whole device, two threads / what an M1 took", 8.0, 5.0),
    at_most("C5", "add, softmax, table activation / straightforward f32 code", 1.1, 0.8),
    limit("C9", "scalar loop after any kernel / before", 1.1),
    at_least("D1", "scattered pages through the DART / memcpy by known pointer", 0.95, 0.98),
    at_least("D2", "128-byte rows through the DART / known-pointer rows", 0.85, 0.95),
    within(" ns", at_most("D3 hit", "translation that is kept", 2.0, 1.0)),
    within(" ns", at_most("D3 miss", "translation that was displaced, tables warm", 5.0, 2.0)),
    at_least("D4 pages", "whole pages / vm-memory's IOMMU layer", 1.1, 1.3),
    at_least("D4 rows", "128-byte rows / vm-memory's IOMMU layer", 5.0, 10.0),
    within(" ns", at_most("P1", "pe_mmu: a translation, 1,000 regions on pages of their own", 20.0, 5.0)),
    within(" MiB", at_most("P1 memory", "pe_mmu: a full table, whatever its regions are", 256.0, 128.0)),
    at_least("P2", "mover: a copy of 64 KB / memcpy", 0.8, 0.95),
    at_most("S1", "null task over the socket, both sides asleep / bare eventfd ping-pong", 1.3, 1.15),
    at_most(
        "S1d",
        "40 register writes over the socket, both sides asleep / bare eventfd ping-pong",
        1.3,
        1.15,
    ),
    at_most("S2", "null task over the socket, both sides poll / bare eventfd ping-pong", 0.2, 0.12),
    at_most("S2d", "40 register writes over the socket, both sides poll / bare eventfd ping-pong", 0.2, 0.12),
    at_most("S3", "null tasks over the socket, 64 deep, each / bare eventfd ping-pong", 0.15, 0.07),
    at_most(
        "S1 driver",
        "null task through the whole driver, all asleep / bare eventfd ping-pong",
        1.3,
        1.15,
    ),
    at_most("S2 driver", "null task through the whole driver, all poll / bare eventfd ping-pong", 0.2, 0.12),
    at_most(
        "S3 driver",
        "null tasks through the whole driver, 64 deep, each / bare eventfd ping-pong",
        0.15,
        0.07,
    ),
    at_least("I1", "null tasks of seven clients together / of one alone", 3.0, 3.4),
    at_least("I2", "tasks of 100 us, seven clients: the slowest / the fastest", 0.9, 0.97),
    at_most("I3", "null task beside a client that maps and unmaps without end / alone", 1.2, 1.05),
    within(" ms", limit("recovery", "a device dies, to the next run that succeeds: p99", 500.0)),
    within(" us", at_most("T1", "a task of a chain of 1,000 small ones, whole device", 1.5, 0.7)),
    at_most("T2", "3x3 convolution 64-64 at 56x56, whole device / the array alone", 1.15, 1.05),
    limit("T3", "tracing on / off, buffered and drained", 1.15),
    limit("T3 timing", "timing model on / off", 1.05),
    limit(
        "T4",
        "a convolution with sparse coefficients, or with 8-bit ones / its dense twin of halves",
        1.15,
    ),
    within(" MB/s", Goal { side: Side::AtLeast, ..limit("P26", "decoding of a task stream", 200.0) }),
    at_least("U1", "tiling, as the C libraries and the library do it / memcpy of the tiled bytes", 0.5, 0.8),
    within(" us", limit("U2", "an ioctl through the preload library, beyond the embedded call", 2.0)),
    limit("U3", "an ioctl that is not the device's, with the preload library / without", 1.05),
    limit("U4", "mapping 64 MiB of the node under the preload library / copying them", 0.01),
    within(" MiB", at_most("M1", "private memory of an idle device process", 16.0, 8.0)),
    within(" s", limit("M2", "compilation of MobileNetV2, from the bytes of the file", 5.0)),
    limit("M3", "a run of MobileNetV2 / onnxruntime in fp32, two threads on either side", 4.0),
    within(" us", limit("V1", "a page of a buffer of 64 MiB, mapped and unmapped", 1.0)),
    limit("V2", "a buffer among 1,000 / alone", 1.3),
    limit("V3", "what eviction adds with a working set of twice the aperture / mapping itself", 2.0),
    within(" ms", limit("Y1", "Python: import ane, beyond an empty script", 100.0)),
    within(" us", limit("Y2", "Python: a run of a small program, beyond one from Rust", 10.0)),
    // (Chosen) The copy to where the engine reads is one memcpy. Another one on the way would make that two, without the rest of
    // the run.
    limit("Y3", "Python: a run with an input of 64 MB, outside of the engine / memcpy of the input", 2.0),
    limit("Y3 memory", "Python: resident memory that such a run adds / the input", 0.1),
    within(" ms", at_most("B1", "exec to socket ready", 10.0, 3.0)),
    within(" s", at_most("B3", "first build of the workspace, release", 180.0, 90.0)),
];
