//! What the registers of this kind of processor have in common, whatever their length: methods made from the names of
//! instructions.

/// Instructions by name, as methods of the register that they work on.
macro_rules! instructions {
    ($(
        $name:ident $(<const $constant:ident: $of:ty>)? ($self:ident $(, $argument:ident: $type:ty)*) -> $result:ty
            = $instruction:expr;
    )*) => {
        $(
            #[inline(always)]
            fn $name $(<const $constant: $of>)? ($self $(, $argument: $type)*) -> $result {
                // SAFETY: a value of this type exists only where the processor has the unit.
                unsafe { $instruction }
            }
        )*
    };
}

/// The way of a register to and from memory, by the names of its instructions: those for singles, those for the half as
/// long register of halves, and the two conversions.
macro_rules! memory {
    (
        $splat:ident, $load:ident, $store:ident; $load_halves:ident, $store_halves:ident; $widen:ident, $narrow:ident
    ) => {
        #[inline(always)]
        unsafe fn splat(number: f32) -> Self {
            // SAFETY: as the caller says.
            Self(unsafe { $splat(number) })
        }

        #[inline(always)]
        unsafe fn load(from: *const f32) -> Self {
            // SAFETY: as the caller says.
            Self(unsafe { $load(from) })
        }

        #[inline(always)]
        unsafe fn load_halves(from: *const u16) -> Self {
            // SAFETY: so many halves can be read, as the caller says.
            let halves = unsafe { $load_halves(from.cast()) };
            // SAFETY: the processor has the unit, as the caller says.
            Self(unsafe { $widen(halves) }).or_infinity()
        }

        #[inline(always)]
        unsafe fn store(self, to: *mut f32) {
            // SAFETY: as the caller says.
            unsafe { $store(to, self.0) }
        }

        #[inline(always)]
        unsafe fn store_halves(self, to: *mut u16) {
            // SAFETY: a value of this type exists only where the processor has F16C.
            let halves = unsafe { $narrow::<_MM_FROUND_TO_NEAREST_INT>(self.0) };
            // SAFETY: so many halves can be written, as the caller says.
            unsafe { $store_halves(to.cast(), halves) }
        }
    };
}

pub(super) use {instructions, memory};
