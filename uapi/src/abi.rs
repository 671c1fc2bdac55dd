//! Structures and constants that C sees, as data.
//!
//! A structure is declared once, with `abi!`. That gives the Rust type, which converts to and from bytes
//! without a copy and cannot have padding, and a [`StructLayout`], from which the C header, its comments and
//! the tests are made. Constants are declared once, with `constants!`, and enumerations with
//! [`codes!`](crate::codes). A [`Section`] is a heading with what stands under it, in the order of the header.
//!
//! Field offsets are those of C: a constant assertion in each declaration refuses a field that is not
//! aligned as C would align it, also where the Rust type, being little-endian on every host, is aligned less.

/// A structure as C sees it.
#[derive(Clone, Copy, Debug)]
pub struct StructLayout {
    pub rust_name: &'static str,
    /// Tag of the C structure.
    pub c_name: &'static str,
    pub doc: &'static str,
    /// Bytes.
    pub size: usize,
    /// Alignment in C.
    pub align: usize,
    pub fields: &'static [FieldLayout],
}

/// A field of a structure as C sees it.
#[derive(Clone, Copy, Debug)]
pub struct FieldLayout {
    /// Name, the same in both languages.
    pub name: &'static str,
    /// C type, of one element where the field is an array.
    pub c_type: &'static str,
    /// Number of elements, where the field is an array.
    pub count: Option<usize>,
    /// Bytes from the start of the structure.
    pub offset: usize,
    /// Bytes of the whole field.
    pub size: usize,
    /// The structure that the field, or each element of it, is.
    pub inner: Option<&'static StructLayout>,
    pub doc: &'static str,
}

impl FieldLayout {
    /// True if the field has no meaning yet and has to be zero.
    pub fn is_reserved(&self) -> bool {
        self.name == "pad" || self.name.starts_with("reserved")
    }
}

impl StructLayout {
    /// The first reserved field that is not zero in `bytes`, which hold the structure.
    ///
    /// Bytes behind the structure are not looked at, nor are fields that `bytes` end before.
    pub fn first_reserved_set(&self, bytes: &[u8]) -> Option<&'static FieldLayout> {
        self.fields.iter().find_map(|field| {
            let part = bytes.get(field.offset..field.offset.checked_add(field.size)?)?;
            if field.is_reserved() {
                return part.iter().any(|byte| *byte != 0).then_some(field);
            }
            let inner = field.inner?;
            part.chunks_exact(inner.size.max(1)).find_map(|element| inner.first_reserved_set(element))
        })
    }
}

/// A structure of the ABI.
pub trait AbiStruct: zerocopy::FromBytes + zerocopy::IntoBytes + zerocopy::Immutable {
    const LAYOUT: StructLayout;

    /// The first reserved field that is not zero.
    fn first_reserved_set(&self) -> Option<&'static FieldLayout> {
        Self::LAYOUT.first_reserved_set(self.as_bytes())
    }
}

/// A type that has a name in C.
pub trait CType {
    /// The name; of an array, that of its elements.
    const NAME: &'static str;
    const ALIGN: usize = size_of::<Self::Element>();
    /// Number of elements of an array.
    const COUNT: Option<usize> = None;
    /// The structure that the type, or its element, is.
    const INNER: Option<&'static StructLayout> = None;
    /// The type itself, or the element of an array.
    type Element;
}

macro_rules! c_types {
    ($( $rust:ty => $c:literal ),* $(,)?) => { $(
        impl CType for $rust {
            const NAME: &'static str = $c;
            type Element = Self;
        }
    )* };
}

c_types! {
    u8 => "__u8",
    u16 => "__u16",
    u32 => "__u32",
    u64 => "__u64",
    i32 => "__s32",
    i64 => "__s64",
    zerocopy::little_endian::U16 => "__le16",
    zerocopy::little_endian::U32 => "__le32",
    zerocopy::little_endian::U64 => "__le64",
}

impl<T: CType, const N: usize> CType for [T; N] {
    const ALIGN: usize = T::ALIGN;
    const COUNT: Option<usize> = {
        assert!(T::COUNT.is_none(), "arrays of arrays have no C declaration here");
        Some(N)
    };
    const INNER: Option<&'static StructLayout> = T::INNER;
    const NAME: &'static str = T::NAME;
    type Element = T;
}

/// A number with a name in C.
#[derive(Clone, Copy, Debug)]
pub struct Constant {
    pub c_name: &'static str,
    pub value: u64,
    /// Bits of the Rust type.
    pub bits: u32,
    /// True if the source writes it in hexadecimal.
    pub hex: bool,
    /// The meaning of the value, and the reason for it.
    pub doc: &'static str,
}

/// An enumeration with a name in C: the prefix before each value's own name.
#[derive(Clone, Copy, Debug)]
pub struct Enumeration {
    /// Prefix of the macros, with its last underscore.
    pub c_prefix: &'static str,
    pub doc: &'static str,
    pub codes: &'static [crate::register::Code],
}

#[derive(Clone, Copy, Debug)]
pub enum Item {
    Constants(&'static [Constant]),
    Enumeration(Enumeration),
    Struct(&'static StructLayout),
}

impl Item {
    /// An enumeration, of which `doc` says what the values are of.
    pub(crate) const fn enumeration(
        c_prefix: &'static str,
        doc: &'static str,
        codes: &'static [crate::register::Code],
    ) -> Self {
        Self::Enumeration(Enumeration { c_prefix, doc, codes })
    }
}

/// A heading of a C header, and what stands under it.
#[derive(Clone, Copy, Debug)]
pub struct Section {
    pub title: &'static str,
    /// A paragraph below it.
    pub doc: &'static str,
    /// The entries, in order: nothing is used before it is declared.
    pub items: &'static [Item],
}

pub fn structs(sections: &[Section]) -> impl Iterator<Item = &'static StructLayout> {
    sections.iter().flat_map(|section| section.items).filter_map(|item| match item {
        Item::Struct(layout) => Some(*layout),
        Item::Constants(_) | Item::Enumeration(_) => None,
    })
}

pub(crate) const fn is_hex(text: &str) -> bool {
    matches!(text.as_bytes(), [b'0', b'x', ..])
}

/// True if C would lay `fields` out without padding, in `size` bytes.
pub(crate) const fn lies_as_in_c(
    fields: &[FieldLayout],
    aligns: &[usize],
    size: usize,
    align: usize,
) -> bool {
    let mut end = 0;
    let mut i = 0;
    while i < fields.len() {
        if fields[i].offset != end || !fields[i].offset.is_multiple_of(aligns[i]) || aligns[i] > align {
            return false;
        }
        end += fields[i].size;
        i += 1;
    }
    end == size && size.is_multiple_of(align)
}

pub(crate) const fn largest(aligns: &[usize]) -> usize {
    let mut largest = 1;
    let mut i = 0;
    while i < aligns.len() {
        if aligns[i] > largest {
            largest = aligns[i];
        }
        i += 1;
    }
    largest
}

/// Declares a structure that C sees: the type, its conversions, and its [`StructLayout`].
macro_rules! abi {
    (
        $( #[doc = $doc:literal] )*
        $( #[derive($( $derive:path ),* $(,)?)] )?
        pub struct $name:ident, $c_name:literal {
            $(
                $( #[doc = $fdoc:literal] )*
                pub $field:ident : $ty:ty
            ),* $(,)?
        }
    ) => {
        $( #[doc = $doc] )*
        #[doc = ""]
        #[doc = concat!("In C: `struct ", $c_name, "`.")]
        #[derive(
            Clone, Copy, Debug, PartialEq, Eq,
            zerocopy::FromBytes, zerocopy::IntoBytes, zerocopy::Immutable, zerocopy::KnownLayout,
        )]
        $( #[derive($( $derive ),*)] )?
        #[repr(C)]
        pub struct $name {
            $(
                $( #[doc = $fdoc] )*
                pub $field: $ty,
            )*
        }

        impl Default for $name {
            fn default() -> Self {
                zerocopy::FromZeros::new_zeroed()
            }
        }

        impl $crate::abi::AbiStruct for $name {
            const LAYOUT: $crate::abi::StructLayout = {
                const FIELDS: &[$crate::abi::FieldLayout] = &[ $(
                    $crate::abi::FieldLayout {
                        name: stringify!($field),
                        c_type: <$ty as $crate::abi::CType>::NAME,
                        count: <$ty as $crate::abi::CType>::COUNT,
                        offset: core::mem::offset_of!($name, $field),
                        size: size_of::<$ty>(),
                        inner: <$ty as $crate::abi::CType>::INNER,
                        doc: concat!($( $fdoc, "\n", )*),
                    },
                )* ];
                const ALIGNS: &[usize] = &[ $( <$ty as $crate::abi::CType>::ALIGN, )* ];
                const ALIGN: usize = $crate::abi::largest(ALIGNS);
                assert!(
                    $crate::abi::lies_as_in_c(FIELDS, ALIGNS, size_of::<$name>(), ALIGN),
                    "C would lay the structure out differently"
                );
                $crate::abi::StructLayout {
                    rust_name: stringify!($name),
                    c_name: $c_name,
                    doc: concat!($( $doc, "\n", )*),
                    size: size_of::<$name>(),
                    align: ALIGN,
                    fields: FIELDS,
                }
            };
        }

        impl $crate::abi::CType for $name {
            const ALIGN: usize = <$name as $crate::abi::AbiStruct>::LAYOUT.align;
            const INNER: Option<&'static $crate::abi::StructLayout> =
                Some(&<$name as $crate::abi::AbiStruct>::LAYOUT);
            const NAME: &'static str = concat!("struct ", $c_name);
            type Element = Self;
        }
    };
}

/// Declares numbers that C sees: a Rust constant for each, and the table of them.
macro_rules! constants {
    (
        $table:ident;
        $(
            $( #[doc = $doc:literal] )*
            pub const $name:ident : $ty:ty = $value:literal, $c_name:literal;
        )*
    ) => {
        $(
            $( #[doc = $doc] )*
            #[doc = ""]
            #[doc = concat!("In C: `", $c_name, "`.")]
            pub const $name: $ty = $value;
        )*

        pub(crate) const $table: &[$crate::abi::Constant] = &[ $(
            $crate::abi::Constant {
                c_name: $c_name,
                value: $name as u64,
                bits: <$ty>::BITS,
                hex: $crate::abi::is_hex(stringify!($value)),
                doc: concat!($( $doc, "\n", )*),
            },
        )* ];
    };
}

pub(crate) use {abi, constants};
