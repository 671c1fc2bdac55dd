//! The three declarations that everything about a register is made from.

/// Declares a typed register word: its fields, from bit 0 upwards.
///
/// Each field is a method of the word, and a constant of type [`Bits`](crate::register::Bits) that names its bits. Bits that no source
/// explains are fields named `__`. After the type a field may say how to print its
/// number (`=> Show::Half`) and its own grade (`; Predicted`) where that is not the register's.
#[macro_export]
macro_rules! layout {
    (
        $( #[doc = $doc:literal] )*
        pub struct $name:ident {
            $(
                $( #[doc = $fdoc:literal] )*
                #[bits($bits:literal)] $field:ident : $ty:ident $( => $show:expr )? $( ; $grade:ident )?
            ),* $(,)?
        }
    ) => {
        $( #[doc = $doc] )*
        #[bitfield_struct::bitfield(u32)]
        #[derive(PartialEq, Eq, Hash)]
        pub struct $name {
            $(
                $( #[doc = $fdoc] )*
                #[bits($bits)]
                pub $field: $ty,
            )*
        }

        impl $name {
            $( $crate::layout!(@bits $name, $field, $bits); )*
        }

        impl $crate::register::Word for $name {
            const FIELDS: &'static [$crate::register::Field] = {
                const FIELDS: &[$crate::register::Field] = &$crate::register::Field::place([
                    $( $crate::register::Field::unplaced(
                        stringify!($field),
                        $bits,
                        concat!($( $fdoc, "\n", )*),
                        $crate::layout!(@show $( $show )?),
                        $crate::layout!(@grade $( $grade )?),
                    ) ),*
                ]);
                FIELDS
            };

            const NAME: &'static str = stringify!($name);

            fn from_word(word: u32) -> Self {
                Self::from_bits(word)
            }

            fn word(self) -> u32 {
                self.into_bits()
            }

            fn typed(self, name: &str) -> Option<u32> {
                let _ = name;
                $( $crate::layout!(@typed self, name, $field); )*
                None
            }
        }
    };

    (@bits $name:ident, __, $bits:literal) => {};
    (@bits $name:ident, $field:ident, $bits:literal) => {
        pastey::paste! {
            #[doc = concat!("The bits of [`", stringify!($field), "`](Self::", stringify!($field), ").")]
            pub const [<$field:upper>]: $crate::register::Bits<Self> =
                $crate::register::Bits::of(Self::[<$field:upper _OFFSET>], $bits);
        }
    };
    (@show) => { $crate::register::Show::Decimal };
    (@show $show:expr) => { $show };
    (@grade) => { None };
    (@grade $grade:ident) => { Some($crate::register::Grade::$grade) };
    (@typed $self:ident, $name:ident, __) => {};
    (@typed $self:ident, $name:ident, $field:ident) => {
        if $name == stringify!($field) {
            return Some(u32::from($self.$field()));
        }
    };
}

/// Declares the named values of an enumerated field.
#[macro_export]
macro_rules! codes {
    (
        $( #[$meta:meta] )*
        pub enum $name:ident : $repr:ident, $what:literal {
            $(
                $( #[doc = $doc:literal] )*
                $variant:ident = $value:literal, $label:literal;
            )*
        }
    ) => {
        $( #[$meta] )*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr($repr)]
        pub enum $name {
            $(
                $( #[doc = $doc] )*
                $variant = $value,
            )*
        }

        impl $name {
            /// Every value, in the order of its number.
            pub const ALL: &'static [Self] = &[ $( Self::$variant, )* ];

            /// The values with their names, for tables.
            pub const CODES: &'static [$crate::register::Code] = &[
                $( $crate::register::Code {
                    value: $value,
                    ident: stringify!($variant),
                    name: $label,
                    doc: concat!($( $doc, "\n", )*),
                }, )*
            ];

            /// The name that dumps print.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $label, )*
                }
            }
        }

        impl TryFrom<$repr> for $name {
            type Error = $crate::register::UnknownCode;

            fn try_from(value: $repr) -> Result<Self, Self::Error> {
                match value {
                    $( $value => Ok(Self::$variant), )*
                    _ => Err($crate::register::UnknownCode { what: $what, value: value as u32 }),
                }
            }
        }

        impl core::fmt::Display for $name {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }
    };
}

/// Declares a block of registers: a typed constant for each, and the table `REGISTERS` of them all.
///
/// A register is `NAME "hardware name" @ address: Word, access, grade, "source"`, with `[count; stride]`
/// after the address of an array and `= value` at the end where the reset value is not zero.
#[macro_export]
macro_rules! registers {
    (
        $( #[doc = $bdoc:literal] )*
        pub block $block:ident $bname:literal, base $base:expr, $start:literal + $len:literal;
        $(
            $( #[doc = $doc:literal] )*
            $reg:ident $name:literal @ $offset:literal $( [ $count:literal ; $stride:literal ] )? :
                $word:ty, $access:ident, $grade:ident, $source:literal $( = $reset:expr )?;
        )*
    ) => {
        $(
            $( #[doc = $doc] )*
            #[doc = ""]
            #[doc = concat!("`", $name, "` at `", stringify!($offset), "`; ", $source, ".")]
            pub const $reg: $crate::register::Reg<$word> =
                $crate::register::Reg::new($crate::register::Register {
                    name: $name,
                    offset: $offset,
                    count: $crate::registers!(@or 1 $( $count )?),
                    stride: $crate::registers!(@or 4 $( $stride )?),
                    access: $crate::register::Access::$access,
                    reset: $crate::registers!(@or 0 $( $reset )?),
                    fields: <$word as $crate::register::Word>::FIELDS,
                    unknown: $crate::register::Field::unknown(<$word as $crate::register::Word>::FIELDS),
                    layout: <$word as $crate::register::Word>::NAME,
                    doc: concat!($( $doc, "\n", )*),
                    grade: $crate::register::Grade::$grade,
                    source: $source,
                });
        )*

        /// The registers of the block, for a `match` that the compiler holds to be complete.
        #[expect(non_camel_case_types, reason = "a variant is spelled as the constant of its register")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        pub enum RegisterId {
            $( $( #[doc = $doc] )* $reg, )*
        }

        impl RegisterId {
            /// Every register, by rising address.
            pub const ALL: &'static [Self] = &[ $( Self::$reg, )* ];

            /// The register and instance at `offset`, in the block's numbering.
            pub fn find(offset: u32) -> Option<(Self, u16)> {
                let place = $block.place(offset)?;
                Some((*Self::ALL.get(usize::from(place.row))?, place.index))
            }

            /// The row of the block's table.
            pub const fn register(self) -> &'static $crate::register::Register {
                match self {
                    $( Self::$reg => &$reg.info, )*
                }
            }
        }

        /// Every register of the block, by rising address.
        pub const REGISTERS: &[&$crate::register::Register] = &[ $( &$reg.info, )* ];

        $( #[doc = $bdoc] )*
        pub static $block: $crate::register::Block = $crate::register::Block {
            name: $bname,
            doc: concat!($( $bdoc, "\n", )*),
            base: $base,
            start: $start,
            len: $len,
            registers: REGISTERS,
            places: &$crate::register::places::<{ $len / 4 }>($start, REGISTERS),
            check: |raw| {
                $( if let Some(field) = $crate::register::word_disagrees::<$word>(raw) {
                    return Some($crate::register::Disagreement { register: $name, field });
                } )*
                None
            },
        };
    };
    (@or $default:expr) => { $default };
    (@or $default:expr, $value:expr) => { $value };
    (@or $default:literal $value:expr) => { $value };
}
