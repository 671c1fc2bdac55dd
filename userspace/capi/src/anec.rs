//! The ANEC header, as C code reads it, and files that have one.
//!
//! Numbers and offsets are td 2.2's. The header takes 0x800 or 0x1000 bytes; what the payload leaves of the file tells.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::mem::offset_of;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use ane_uapi::hw::dart::aperture;
use ane_uapi::hw::td::header;
use ane_uapi::hw::td::operands::Roles;
use ane_uapi::ioctl::drm_ane::{CMD_GRAN, TILE_COUNT};
use zerocopy::little_endian::{U32, U64};
use zerocopy::{FromBytes, FromZeros, Immutable, IntoBytes, KnownLayout, Unaligned};

use crate::surface::Surface;

pub const BARS: usize = TILE_COUNT as usize;

/// BAR of the first output or input. Other outputs and then inputs follow (client-abi), unless tasks are bound otherwise.
pub const FIRST_SURFACE: usize = 4;

/// Bytes of a tile, the unit in which buffers are counted, as a shift.
pub const TILE_SHIFT: u32 = 14;

/// A tile of more bytes is no tile (Chosen): the engine cannot address 32 bits of larger ones by far.
const SHIFT_MAX: u32 = 31;

/// The same of a newer converter (delta C12).
const SMALL_SHIFT: u32 = 9;

/// The named part of the header. It lies in the structure that C code reaches into, under the same names there.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout, Unaligned)]
#[repr(C)]
pub struct Anec {
    /// Bytes of the payload: the tasks, rounded up to 16, and the constants.
    pub size: U64,
    /// Bytes of the first task.
    pub td_size: U32,
    pub td_count: U32,
    pub tsk_size: U64,
    pub krn_size: U64,
    pub src_count: U32,
    pub dst_count: U32,
    /// The tiles of each BAR's buffer.
    pub tiles: [U32; BARS],
    /// The shape of each BAR: batches, channels, rows, columns, and bytes from plane to plane and from row to row.
    pub nchw: [[U64; 6]; BARS],
}

const _: () = {
    assert!(offset_of!(Anec, tiles) == 0x28);
    assert!(offset_of!(Anec, nchw) == 0xa8);
    assert!(size_of::<Anec>() == 0x6a8 && align_of::<Anec>() == 1);
};

/// The lengths that a header may take.
const HEADERS: [u64; 2] = [0x800, 0x1000];

/// Ends a file that says more of its model behind the payload; before it stands how many bytes of text that is (the `ane`
/// library's `container/anec/trailer.rs`).
const MARK: &[u8; 8] = b"ANEMODEL";

/// Largest buffer: more the engine cannot address.
const BUFFER_MAX: u64 = aperture::SIZE;

impl Anec {
    /// The BARs of outputs and inputs, by the tasks, or by the header if the tasks do not show them.
    fn roles(&self, payload: &[u8]) -> Roles {
        let (outputs, inputs) = (self.dst_count.get() as usize, self.src_count.get() as usize);
        let (first, first_bytes, count) = (FIRST_SURFACE as u8, self.td_size.get(), self.td_count.get());
        let tasks = usize::try_from(self.tsk_size.get()).ok().and_then(|bytes| payload.get(..bytes));
        let told = tasks.and_then(|tasks| Roles::of_tasks(tasks, first_bytes, count, first, outputs, inputs));
        told.unwrap_or_else(|| Roles::in_order(first, outputs, inputs))
    }

    /// Bytes of a buffer, whose tiles have 2 to the power of `shift` bytes each.
    pub fn bytes(&self, bar: usize, shift: u32) -> u64 {
        let tiles = self.tiles.get(bar).map_or(0, |tiles| u64::from(tiles.get()));
        tiles.checked_shl(shift).unwrap_or(0)
    }

    /// Counts the buffers in pages, if the file counts them in 512 bytes: C code reaches into the numbers.
    ///
    /// A newer converter counts so (delta C12). The buffer of BAR 0 holds the payload and nothing else, so that it is
    /// less than a tile longer than that in the right unit.
    fn count_in_pages(&mut self) {
        let count = |bar: &U32| u64::from(bar.get());
        let needed = self.size.get().max(self.tsk_size.get().saturating_add(1));
        let is_snug = |shift: u32| {
            let bytes = self.tiles.first().map_or(0, count) << shift;
            bytes.checked_sub(needed).is_some_and(|spare| spare <= 1 << shift)
        };
        let fits = |shift: u32| self.tiles.iter().all(|bar| count(bar) << shift <= BUFFER_MAX);
        if is_snug(SMALL_SHIFT) && !(is_snug(TILE_SHIFT) && fits(TILE_SHIFT)) {
            for bar in &mut self.tiles {
                // 32 bits of half a KiB are fewer pages.
                *bar = U32::new((count(bar) << SMALL_SHIFT).div_ceil(1 << TILE_SHIFT) as u32);
            }
        }
    }

    /// How the tensor behind a BAR lies in its buffer; `None` if there is none, or none that fits. The bits of `byte_bars` are
    /// the BARs whose elements are bytes.
    pub fn surface(&self, bar: usize, shift: u32, byte_bars: u32) -> Option<Surface> {
        let numbers = self.nchw.get(bar)?.map(|number| number.get());
        let surface = Surface::new(numbers, byte_bars >> bar & 1 != 0);
        surface.filter(|surface| surface.bytes() as u64 <= self.bytes(bar, shift))
    }

    /// The file says nothing of the tensor behind a BAR: its buffer is copied as a whole.
    fn is_raw(&self, bar: usize) -> bool {
        self.nchw.get(bar).is_some_and(|numbers| numbers.iter().all(|number| number.get() == 0))
    }

    /// Whether the numbers of the tasks and the buffers agree with each other, and a driver would take them.
    fn is_whole(&self, shift: u32) -> bool {
        let (tasks, first) = (self.tsk_size.get(), u64::from(self.td_size.get()));
        let payload = tasks
            .checked_next_multiple_of(CMD_GRAN.into())
            .and_then(|at| at.checked_add(self.krn_size.get()));
        let surfaces = u64::from(self.src_count.get()) + u64::from(self.dst_count.get());
        let is_program =
            first > 0 && first <= tasks && self.td_count.get() > 0 && payload == Some(self.size.get());
        let fits = self.size.get() <= self.bytes(0, shift) && tasks < self.bytes(0, shift);
        let has_bars = surfaces <= (BARS - FIRST_SURFACE) as u64;
        let buffers_fit = (0..BARS).all(|bar| self.bytes(bar, shift) <= BUFFER_MAX);
        is_program && fits && has_bars && buffers_fit
    }

    /// Whether each tensor fits its buffer.
    fn surfaces_fit(&self, shift: u32, byte_bars: u32) -> bool {
        let surfaces = self.src_count.get().saturating_add(self.dst_count.get());
        let is_sound = |bar| self.is_raw(bar) || self.surface(bar, shift, byte_bars).is_some();
        (FIRST_SURFACE..BARS).take(surfaces as usize).all(is_sound)
    }
}

/// The BARs that tasks move as bytes, a bit for each. One that other tasks move as halves is copied as halves: its elements have no
/// one size.
fn byte_bars(roles: &Roles) -> u32 {
    let bytes = roles.bytes.iter().filter(|&bar| !roles.halves.contains(bar));
    bytes.fold(0, |bars, bar| bars | 1 << bar)
}

#[derive(Debug)]
pub struct Image {
    pub anec: Anec,
    pub payload: Vec<u8>,
    /// Bytes of a tile in `anec`, as a shift.
    pub shift: u32,
    /// The BARs of outputs and of inputs.
    pub roles: Roles,
    /// Those whose elements are bytes, a bit for each.
    pub byte_bars: u32,
}

/// Reads an ANEC; as little of what is none as tells. Its tiles have 2 to the power of `shift` bytes, if the caller knows.
/// Otherwise the file shows it, and its buffers are counted in pages.
///
/// # Errors
///
/// Reads a file. The error is the system's, or [`io::ErrorKind::InvalidData`] if it is no such file.
pub fn read(path: &Path, shift: Option<u32>) -> io::Result<Image> {
    let invalid = || io::Error::from(io::ErrorKind::InvalidData);
    if shift.is_some_and(|shift| shift > SHIFT_MAX) {
        return Err(invalid());
    }
    // A pipe that nobody writes would not let go of who opens it.
    let mut file = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path)?;
    let length = file.metadata()?.len();
    let mut anec = Anec::new_zeroed();
    file.read_exact(anec.as_mut_bytes())?;
    let shift = shift.unwrap_or_else(|| {
        anec.count_in_pages();
        TILE_SHIFT
    });
    let size = anec.size.get();
    let header = |length: u64| length.checked_sub(size).filter(|header| HEADERS.contains(header));
    let header = match header(length) {
        Some(header) => Some(header),
        None => trailer_bytes(&mut file)?.and_then(|behind| header(length.checked_sub(behind)?)),
    };
    let header = header.filter(|_| anec.is_whole(shift)).ok_or_else(invalid)?;
    file.seek(SeekFrom::Start(header))?;
    let size = usize::try_from(size).map_err(|_| invalid())?;
    let mut payload = Vec::new();
    // A file can claim more than there is memory.
    payload.try_reserve_exact(size).map_err(|_| io::Error::from_raw_os_error(libc::ENOMEM))?;
    file.take(size as u64).read_to_end(&mut payload)?;
    if payload.len() != size || !begins_with_a_task(&payload) {
        return Err(invalid());
    }
    let roles = anec.roles(&payload);
    let byte_bars = byte_bars(&roles);
    if !anec.surfaces_fit(shift, byte_bars) {
        return Err(invalid());
    }
    Ok(Image { anec, payload, shift, roles, byte_bars })
}

/// Words 2 to 6 of a descriptor are never all zero. A file with the longer header of which the last 0x800 bytes are missing would
/// pass for one with the shorter, and its payload would begin with zeros.
fn begins_with_a_task(payload: &[u8]) -> bool {
    payload.iter().take(4 * header::WORDS).any(|&byte| byte != 0)
}

/// Bytes behind the payload of a file that ends with a mark.
fn trailer_bytes(file: &mut File) -> io::Result<Option<u64>> {
    let mut footer = [0; 4 + MARK.len()];
    if file.seek(SeekFrom::End(-(footer.len() as i64))).is_err() {
        return Ok(None);
    }
    file.read_exact(&mut footer)?;
    let (length, mark) = footer.split_at(4);
    let length = <[u8; 4]>::try_from(length).map(u32::from_le_bytes);
    let bytes = length.map(|length| u64::from(length) + footer.len() as u64);
    Ok(bytes.ok().filter(|_| mark == MARK))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn whole() -> Anec {
        let mut anec = Anec::new_zeroed();
        anec.size = U64::new(0x280 + 0x10);
        anec.td_size = U32::new(0x274);
        anec.td_count = U32::new(1);
        anec.tsk_size = U64::new(0x274);
        anec.krn_size = U64::new(0x10);
        (anec.src_count, anec.dst_count) = (U32::new(1), U32::new(1));
        for bar in [0, 4, 5] {
            anec.tiles[bar] = U32::new(1);
        }
        for bar in [4, 5] {
            anec.nchw[bar] = [1, 2, 3, 4, 0x100, 0x40].map(U64::new);
        }
        anec
    }

    fn file(anec: &Anec, header: usize, payload: usize) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut bytes = anec.as_bytes().to_vec();
        bytes.resize(header, 0);
        bytes.resize(header + payload, 7);
        std::fs::write(file.path(), bytes).unwrap();
        file
    }

    #[test]
    fn file_with_either_header_is_read() {
        for header in [0x800, 0x1000] {
            let image = read(file(&whole(), header, 0x290).path(), None).unwrap();
            assert_eq!(image.payload, [7; 0x290]);
            assert!(image.roles.outputs.iter().eq([4]) && image.roles.inputs.iter().eq([5]));
        }
    }

    #[test]
    fn text_behind_the_payload_is_passed_over() {
        for header in [0x800, 0x1000] {
            let file = file(&whole(), header, 0x290);
            let mut bytes = std::fs::read(file.path()).unwrap();
            bytes.extend(b"{}\x02\0\0\0ANEMODEL");
            std::fs::write(file.path(), &bytes).unwrap();
            assert_eq!(read(file.path(), None).unwrap().payload, [7; 0x290]);
            bytes.push(0);
            std::fs::write(file.path(), &bytes).unwrap();
            assert!(read(file.path(), None).is_err());
        }
    }

    #[test]
    fn operands_lie_where_the_tasks_have_them() {
        let mut payload = vec![0; 0x280];
        let mut put =
            |word: usize, value: u32| payload[4 * word..][..4].copy_from_slice(&value.to_le_bytes());
        // Reads BAR 4, writes BAR 5, and both ports run.
        put(8, 4 | 1 << 5 | 5 << 12 | 1 << 17);
        put(10, 0x13800);
        put(11, 1);
        put(12, 0x17800);
        put(13, 1);
        let roles = whole().roles(&payload);
        assert!(roles.outputs.iter().eq([5]) && roles.inputs.iter().eq([4]));
        let roles = whole().roles(&[]);
        assert!(roles.outputs.iter().eq([4]) && roles.inputs.iter().eq([5]));
    }

    #[test]
    fn buffers_counted_in_512_bytes_are_counted_in_pages() {
        let mut small = whole();
        for (bar, tiles) in [(0, 2), (3, 0x21), (4, 2), (5, 2)] {
            small.tiles[bar] = U32::new(tiles);
        }
        let image = read(file(&small, 0x1000, 0x290).path(), None).unwrap();
        assert_eq!([0, 3, 4, 5].map(|bar| image.anec.tiles[bar].get()), [1, 2, 1, 1]);
        let image = read(file(&whole(), 0x1000, 0x290).path(), None).unwrap();
        assert_eq!(image.anec.tiles, whole().tiles);
    }

    #[test]
    fn buffers_keep_the_unit_that_the_caller_names() {
        let mut small = whole();
        for bar in [0, 4, 5] {
            small.tiles[bar] = U32::new(2);
        }
        let small = file(&small, 0x1000, 0x290);
        let image = read(small.path(), Some(9)).unwrap();
        assert_eq!([0, 3, 4, 5].map(|bar| image.anec.bytes(bar, image.shift)), [0x400, 0, 0x400, 0x400]);
        for shift in [8, 32, u32::MAX] {
            assert!(read(small.path(), Some(shift)).is_err(), "{shift}");
        }
    }

    #[test]
    fn surface_of_no_shape_has_a_buffer_and_no_layout() {
        let mut raw = whole();
        raw.nchw[4] = [U64::ZERO; 6];
        let image = read(file(&raw, 0x1000, 0x290).path(), None).unwrap();
        assert_eq!(image.anec.surface(4, image.shift, 0), None);
        assert!(image.anec.surface(5, image.shift, 0).is_some());
    }

    #[test]
    fn file_of_another_length_is_refused() {
        for (header, payload) in [(0x800, 0x28f), (0x900, 0x290), (0x6a8, 0), (0x1000, 0x291)] {
            assert!(read(file(&whole(), header, payload).path(), None).is_err(), "{header:#x} {payload:#x}");
        }
        assert!(read(Path::new("/dev/null"), None).is_err() && read(Path::new("/dev/zero"), None).is_err());
    }

    #[test]
    fn file_with_the_longer_header_whose_end_is_missing_is_refused() {
        let file = file(&whole(), 0x1000, 0x290);
        let bytes = std::fs::read(file.path()).unwrap();
        std::fs::write(file.path(), &bytes[..bytes.len() - 0x800]).unwrap();
        assert!(read(file.path(), None).is_err());
    }

    #[test]
    fn pipe_that_nobody_writes_is_refused_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        assert!(read(&path, None).is_err());
    }

    #[test]
    fn header_whose_numbers_disagree_is_refused() {
        type Change = (&'static str, fn(&mut Anec));
        let changes: [Change; 10] = [
            ("no task", |anec| anec.td_count = U32::ZERO),
            ("first task of nothing", |anec| anec.td_size = U32::ZERO),
            ("first task beyond all tasks", |anec| anec.td_size = U32::new(0x275)),
            ("constants of another length", |anec| anec.krn_size = U64::new(u64::MAX)),
            ("tasks of another length", |anec| anec.tsk_size = U64::MAX_VALUE),
            ("no buffer for the tasks", |anec| anec.tiles[0] = U32::ZERO),
            ("more surfaces than BARs", |anec| anec.src_count = U32::new(28)),
            ("surface without elements", |anec| anec.nchw[4][1] = U64::ZERO),
            ("surface beyond its buffer", |anec| anec.nchw[5][0] = U64::new(1 << 40)),
            ("buffer beyond the aperture", |anec| anec.tiles[3] = U32::MAX_VALUE),
        ];
        for (what, change) in changes {
            let mut anec = whole();
            change(&mut anec);
            assert!(read(file(&anec, 0x1000, 0x290).path(), None).is_err(), "{what}");
        }
    }

    #[test]
    fn rows_of_bytes_are_sound_where_rows_of_halves_would_overlap() {
        let mut anec = whole();
        for bar in [4, 5] {
            anec.nchw[bar] = [1, 1, 3, 0x40, 0xc0, 0x40].map(U64::new);
        }
        assert!(!anec.surfaces_fit(TILE_SHIFT, 0) && !anec.surfaces_fit(TILE_SHIFT, 1 << 4));
        assert!(anec.surfaces_fit(TILE_SHIFT, 1 << 4 | 1 << 5));
        assert!(
            read(file(&anec, 0x1000, 0x290).path(), None).is_err(),
            "tasks that show nothing move halves"
        );
    }
}
