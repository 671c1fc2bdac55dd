//! Enumerations with names, and lists of names, as errors show what there is.

use core::fmt;

/// Writes names with commas between them.
pub(super) fn list(f: &mut fmt::Formatter<'_>, names: impl Iterator<Item = &'static str>) -> fmt::Result {
    for (i, name) in names.enumerate() {
        if i != 0 {
            f.write_str(", ")?;
        }
        f.write_str(name)?;
    }
    Ok(())
}

/// Declares an enumeration whose values have names for people.
#[macro_export]
macro_rules! named {
    (
        $( #[$meta:meta] )*
        pub enum $type:ident { $( $( #[$inner:meta] )* $variant:ident $name:literal, )* }
    ) => {
        $( #[$meta] )*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type { $( $( #[$inner] )* $variant, )* }

        impl $type {
            /// Every value, in the order of its declaration.
            pub const ALL: [Self; [$( $name ),*].len()] = [ $( Self::$variant ),* ];

            pub const fn name(self) -> &'static str {
                match self { $( Self::$variant => $name, )* }
            }
        }

        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}
