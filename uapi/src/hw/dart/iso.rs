//! Isolation contexts: one translation domain for each client.
//!
//! The live registry shows eight mappers, a base and `iso1` to `iso7`, and the secure world receives the
//! seven as capabilities. Which stream a context uses is stated nowhere; here context k is stream k in each
//! of the windows that carry DMA (Chosen).

use super::stream::StreamId;
use crate::hw::index::index;

index! {
    /// One of the eight isolation contexts: 0 is the base, 1 to 7 are iso1 to iso7 (seed 000; measured).
    pub struct ContextId below 8, "iso context";
}

/// Names of the mappers (seed 000).
///
/// The base's own name is not given; it is that of the others without a suffix (Predicted).
const LABELS: [&str; ContextId::COUNT as usize] = [
    "mapper-ane0",
    "mapper-ane0-iso1",
    "mapper-ane0-iso2",
    "mapper-ane0-iso3",
    "mapper-ane0-iso4",
    "mapper-ane0-iso5",
    "mapper-ane0-iso6",
    "mapper-ane0-iso7",
];

/// Names of the capabilities of context 1 and up (seed 000).
const CAPABILITIES: [&str; ContextId::COUNT as usize - 1] =
    ["ANEIsoID1", "ANEIsoID2", "ANEIsoID3", "ANEIsoID4", "ANEIsoID5", "ANEIsoID6", "ANEIsoID7"];

impl ContextId {
    /// The context that existing drivers use without knowing.
    pub const BASE: Self = Self(0);

    /// The stream that this context's requests carry (Chosen: the same number).
    pub const fn stream(self) -> StreamId {
        StreamId::ALL[self.index()]
    }

    /// The context that uses `stream`, if one does.
    pub const fn of_stream(stream: StreamId) -> Option<Self> {
        if stream.number() < Self::COUNT { Some(Self(stream.number())) } else { None }
    }

    /// The mapper's name in the registry.
    pub const fn label(self) -> &'static str {
        LABELS[self.index()]
    }

    /// The capability's name in the secure world; the base has none.
    pub const fn capability(self) -> Option<&'static str> {
        match self.index().checked_sub(1) {
            Some(n) => Some(CAPABILITIES[n]),
            None => None,
        }
    }
}

const _: () = {
    // Every context's stream is one that translates.
    let mut i = 0;
    while i < ContextId::ALL.len() {
        assert!(!ContextId::ALL[i].stream().is_bypassed());
        i += 1;
    }
};
