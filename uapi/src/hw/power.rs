//! Power words: how the islands of the engine are switched.
//!
//! On the chip a power manager beside the engine holds one word for each island. The driver writes what it wants
//! to the lowest four bits, and the four above say what there is: 15 is on, 0 is off. Islands hang on each other: an
//! engine has a *system* island, in it the coprocessor's and the *base*, and on the base five *sets* that drivers name
//! as their power domains (contract 1.1, 1.4; derived).
//!
//! The words lie in a window of their own, outside of the engine's container, at the offsets that they have in the power
//! manager of the T8103.

use crate::layout;
use crate::named;
use crate::register::Show;

pub const WINDOW_BYTES: u32 = 0x1_0000;

/// Target and state of an island that is on.
pub const ON: u8 = 15;

layout! {
    /// The word of one island.
    pub struct PowerWord {
        /// The state that the driver wants.
        #[bits(4)] target: u8 => Show::Hex,
        /// The state of the island.
        #[bits(4)] actual: u8 => Show::Hex,
        /// A change is under way, and flags beside it; read as zero here, where changes take no time.
        #[bits(5)] busy: u8 => Show::Hex,
        #[bits(3)] __: u8,
        /// Lowest state to which the island goes by itself.
        #[bits(4)] minimum: u8 => Show::Hex,
        #[bits(8)] __: u8,
        /// It may go there by itself.
        #[bits(1)] automatic: bool,
        #[bits(2)] __: u8,
        /// It is held in reset.
        #[bits(1)] reset: bool
    }
}

named! {
    /// An island of the engine. Those that others hang on come first.
    pub enum Island {
        /// Everything, the DARTs too.
        System "ane_sys",
        /// The coprocessor.
        Cpu "ane_sys_cpu",
        /// Task manager, queues and what executes.
        Base "ane_base",
        /// The first of the five sets that drivers name.
        Set1 "ane_set1",
        Set2 "ane_set2",
        Set3 "ane_set3",
        Set4 "ane_set4",
        Set5 "ane_set5",
    }
}

impl Island {
    pub const SETS: [Self; 5] = [Self::Set1, Self::Set2, Self::Set3, Self::Set4, Self::Set5];

    /// Where its word is in the window (contract 1.1; derived).
    pub const fn offset(self) -> u32 {
        match self {
            Self::System => 0x470,
            Self::Cpu => 0xc000,
            Self::Base => 0xc008,
            Self::Set1 => 0xc010,
            Self::Set2 => 0xc018,
            Self::Set3 => 0xc020,
            Self::Set4 => 0xc028,
            Self::Set5 => 0xc030,
        }
    }

    /// The island whose word is there.
    pub fn at(offset: u32) -> Option<Self> {
        Self::ALL.into_iter().find(|island| island.offset() == offset)
    }

    /// The island that it hangs on.
    pub const fn parent(self) -> Option<Self> {
        match self {
            Self::System => None,
            Self::Cpu => Some(Self::System),
            Self::Base => Some(Self::Cpu),
            Self::Set1 | Self::Set2 | Self::Set3 | Self::Set4 | Self::Set5 => Some(Self::Base),
        }
    }
}

const _: () = {
    assert!(PowerWord::new().with_target(ON).with_actual(ON).into_bits() == 0xff);
    assert!(PowerWord::new().with_automatic(true).into_bits() == 1 << 28);
    assert!(PowerWord::new().with_reset(true).into_bits() == 1 << 31);
    assert!(PowerWord::new().with_minimum(15).into_bits() == 0xf_0000);
};
