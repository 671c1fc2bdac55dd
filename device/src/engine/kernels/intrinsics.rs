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

/// Instructions that make a register, or write one: unsafe as they are.
macro_rules! memory {
    ($(
        $name:ident ($($argument:ident: $type:ty),*) $(-> $result:ty)? = $instruction:expr;
    )*) => {
        $(
            #[inline(always)]
            unsafe fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the unit is there, and so is the memory, as the caller says.
                unsafe { $instruction }
            }
        )*
    };
}

pub(super) use {instructions, memory};
