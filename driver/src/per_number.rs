//! Values for each of a few numbered things. There is always one, so that looking it up cannot fail.

use std::ops::{Index, IndexMut};

use ane_uapi::hw::dart::iso::ContextId;
use ane_uapi::hw::tq::{QueueId, Slot};

macro_rules! per {
    ($( #[doc = $doc:literal] )* $name:ident, $index:ty, $count:expr, $number:expr) => {
        $( #[doc = $doc] )*
        #[derive(Clone, Copy, Debug)]
        pub(crate) struct $name<T>(pub(crate) [T; $count]);

        impl<T: Default> Default for $name<T> {
            fn default() -> Self {
                Self(std::array::from_fn(|_| T::default()))
            }
        }

        #[expect(clippy::indexing_slicing, reason = "every index has a place in the array")]
        impl<T> Index<$index> for $name<T> {
            type Output = T;

            fn index(&self, index: $index) -> &T {
                &self.0[$number(index)]
            }
        }

        #[expect(clippy::indexing_slicing, reason = "every index has a place in the array")]
        impl<T> IndexMut<$index> for $name<T> {
            fn index_mut(&mut self, index: $index) -> &mut T {
                &mut self.0[$number(index)]
            }
        }
    };
}

per!(PerContext, ContextId, ContextId::COUNT as usize, ContextId::index);
per!(PerQueue, QueueId, QueueId::COUNT as usize, QueueId::index);
per!(
    /// For each set of registers of a queue.
    PerSlot,
    Slot,
    Slot::ALL.len(),
    number
);

const fn number(slot: Slot) -> usize {
    slot as usize
}
