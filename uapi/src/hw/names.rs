//! Lists of names, as errors show what there is.

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
