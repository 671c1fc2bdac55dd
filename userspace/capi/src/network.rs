//! A loaded program and its buffers, as C sees them.
//!
//! C code reaches into the structure, by macros and by hand, so its layout is as fixed as the functions' names. What it
//! could have changed there is looked at anew with every call; only where buffers are mapped is taken from it as it is.

use std::ffi::c_void;
use std::io;
use std::mem::offset_of;
use std::os::fd::{IntoRawFd, RawFd};
use std::path::Path;
use std::{ptr, slice};

use ane_uapi::hw::td::operands::BarSet;
use ane_uapi::ioctl::drm_ane::{CMD_GRAN, FIFO_NID, Submit};
use zerocopy::FromZeros;

use crate::anec::{self, Anec, BARS, Image};
use crate::call;
use crate::node::{self, Buffer};
use crate::surface::Surface;

/// The network as the functions of the C library take it.
#[derive(Debug)]
#[repr(C)]
pub struct Network {
    pub fd: RawFd,
    /// The payload, as it is in the file.
    pub data: *mut c_void,
    pub anec: Anec,
    pub chans: [Buffer; BARS],
    /// The first task, under the network id of the driver.
    pub btsp_chan: Buffer,
    pub bind: Bind,
    /// Bytes of a tile in `anec`, as a shift.
    pub tile_shift: u32,
    /// The BARs whose elements are bytes, a bit for each.
    pub byte_bars: u32,
}

/// The BARs of inputs and of outputs; behind the last of each, [`Bind::NONE`].
#[derive(Debug)]
#[repr(C)]
pub struct Bind {
    pub src: [u8; BARS],
    pub dst: [u8; BARS],
}

impl Bind {
    /// The number of no BAR.
    pub const NONE: u8 = u8::MAX;

    fn list(bars: BarSet) -> [u8; BARS] {
        let mut list = [Self::NONE; BARS];
        list.iter_mut().zip(bars.iter()).for_each(|(place, bar)| *place = bar);
        list
    }
}

const _: () = {
    assert!(offset_of!(Network, anec) == 0x10);
    assert!(offset_of!(Network, chans) == 0x6b8);
    assert!(size_of::<Buffer>() == 0x20);
    assert!(offset_of!(Network, btsp_chan) == 0x6b8 + BARS * 0x20);
    assert!(offset_of!(Network, bind) == 0xad8 && size_of::<Bind>() == 0x40);
    assert!(offset_of!(Network, tile_shift) == 0xb18);
    // It lies in what was padding, so that the structure is as long as clients know it.
    assert!(offset_of!(Network, byte_bars) == 0xb1c && size_of::<Network>() == 0xb20);
};

// SAFETY: the buffers are mapped for the whole process, and the descriptor is its own; no thread is different from another.
unsafe impl Send for Network {}

/// The byte of a task's header that has the network id (td 3.1).
const NETWORK_ID_AT: usize = 2;

impl Network {
    /// Opens the device, loads a program, and makes its buffers. `shift` is as for [`anec::read`].
    pub fn open(path: &Path, device: usize, shift: Option<u32>) -> io::Result<Box<Self>> {
        let image = anec::read(path, shift)?;
        let node = node::open(device)?;
        let mut network = Box::new(Self {
            fd: node.into_raw_fd(),
            data: ptr::null_mut(),
            anec: image.anec,
            chans: [Buffer::NONE; BARS],
            btsp_chan: Buffer::NONE,
            bind: Bind { src: Bind::list(image.roles.inputs), dst: Bind::list(image.roles.outputs) },
            tile_shift: image.shift,
            byte_bars: image.byte_bars,
        });
        match network.load(&image) {
            Ok(()) => Ok(network),
            Err(why) => {
                network.close();
                Err(why)
            }
        }
    }

    fn load(&mut self, image: &Image) -> io::Result<()> {
        let nowhere = || io::Error::from_raw_os_error(libc::EIO);
        // SAFETY: a length goes in, memory of that length or null comes out.
        self.data = unsafe { libc::malloc(image.payload.len()) };
        if self.data.is_null() {
            return Err(io::Error::from_raw_os_error(libc::ENOMEM));
        }
        // SAFETY: it was just made that long, and nobody else knows of it.
        unsafe { ptr::copy_nonoverlapping(image.payload.as_ptr(), self.data.cast(), image.payload.len()) };
        for (bar, buffer) in self.chans.iter_mut().enumerate() {
            let size = image.anec.bytes(bar, image.shift);
            if size > 0 {
                *buffer = Buffer::new(self.fd, size)?;
            }
        }
        let first = image.anec.td_size.get();
        self.btsp_chan = Buffer::new(self.fd, u64::from(first).next_multiple_of(1 << anec::TILE_SHIFT))?;

        let task = image.payload.get(..first as usize).ok_or_else(nowhere)?;
        let is_loaded = with_bytes(self.chans.first(), |commands| fill(commands, &image.payload))
            && with_bytes(Some(&self.btsp_chan), |bootstrap| {
                let is_filled = fill(bootstrap, task);
                // It is 0x40.
                bootstrap.get_mut(NETWORK_ID_AT).map(|id| *id = FIFO_NID as u8).is_some() && is_filled
            });
        if is_loaded { Ok(()) } else { Err(nowhere()) }
    }

    pub fn execute(&self) -> io::Result<()> {
        self.submit(None)
    }

    /// Runs the program so many times. The state that an output carries is an input of the next time: the buffers of the two
    /// change places with every second time, and nothing is copied.
    ///
    /// # Errors
    ///
    /// `EINVAL` for no time at all, and if there is no such input or output, or their buffers differ in size.
    pub fn execute_loop(&self, times: u32, input: usize, output: usize) -> io::Result<()> {
        let bars = self.source_bar(input).zip(self.destination_bar(output));
        let is_state = |&(from, to): &(usize, usize)| self.bytes(from) == self.bytes(to);
        let bars = bars.filter(is_state).filter(|_| times > 0).ok_or_else(call::invalid)?;
        (0..times).try_for_each(|time| self.submit((time % 2 == 1).then_some(bars)))
    }

    /// Runs the program once, with the buffers of two BARs exchanged if there are two.
    fn submit(&self, exchanged: Option<(usize, usize)>) -> io::Result<()> {
        let mut submit = Submit {
            tsk_size: self.anec.tsk_size.get(),
            td_count: self.anec.td_count.get(),
            td_size: self.anec.td_size.get(),
            btsp_handle: self.btsp_chan.handle,
            ..Submit::new_zeroed()
        };
        for (handle, buffer) in submit.handles.iter_mut().zip(&self.chans) {
            *handle = buffer.handle;
        }
        if let Some((one, other)) = exchanged {
            submit.handles.swap(one, other);
        }
        node::submit(self.fd, &mut submit)
    }

    /// The BAR of an input; `None` if the program has not that many.
    pub fn source_bar(&self, index: usize) -> Option<usize> {
        nth(&self.bind.src, index, self.anec.src_count.get())
    }

    /// The BAR of an output; `None` if the program has not that many.
    pub fn destination_bar(&self, index: usize) -> Option<usize> {
        nth(&self.bind.dst, index, self.anec.dst_count.get())
    }

    /// Bytes of a BAR's buffer.
    pub fn bytes(&self, bar: usize) -> u64 {
        self.anec.bytes(bar, self.tile_shift)
    }

    /// Bytes of the first buffer that constants may take.
    pub fn constant_room(&self) -> u64 {
        let tasks = self.anec.tsk_size.get().checked_next_multiple_of(CMD_GRAN.into());
        let bytes = self.chans.first().map_or(0, |buffer| buffer.size);
        tasks.map_or(0, |tasks| bytes.saturating_sub(tasks))
    }

    /// Puts constants in the place of the program's. False if there is no room for as many.
    ///
    /// # Safety
    ///
    /// `from` is null or has so many bytes.
    pub unsafe fn set_constants(&self, from: *const c_void, bytes: u64) -> bool {
        let room = self.constant_room();
        let (Ok(bytes), Ok(room)) = (usize::try_from(bytes), usize::try_from(room)) else { return false };
        if from.is_null() || bytes > room {
            return false;
        }
        with_bytes(self.chans.first(), |buffer| {
            let Some(place) = buffer.len().checked_sub(room).and_then(|at| buffer.get_mut(at..)) else {
                return false;
            };
            // SAFETY: the caller has that many bytes there, and there is room for them; the buffer is the network's own.
            unsafe { ptr::copy(from.cast(), place.as_mut_ptr(), bytes) };
            true
        })
    }

    /// Batches, channels, rows and columns of the dense tensor that is copied for a BAR; zeros where only its buffer is known.
    pub fn shape(&self, bar: usize) -> [u64; 4] {
        let numbers = self.anec.nchw.get(bar).filter(|_| self.surface(bar).is_some());
        numbers.map_or([0; 4], |[n, c, h, w, ..]| [n, c, h, w].map(|extent| extent.get()))
    }

    /// How the tensor behind a BAR lies in its buffer; `None` if that is not known.
    fn surface(&self, bar: usize) -> Option<Surface> {
        self.anec.surface(bar, self.tile_shift, self.byte_bars)
    }

    pub fn source(&self, index: usize) -> Option<&Buffer> {
        self.chans.get(self.source_bar(index)?)
    }

    pub fn destination(&self, index: usize) -> Option<&Buffer> {
        self.chans.get(self.destination_bar(index)?)
    }

    /// Copies a whole input buffer in. False if there is no such input.
    ///
    /// # Safety
    ///
    /// `from` is null or has as many bytes as the buffer.
    pub unsafe fn send(&self, from: *const c_void, index: usize) -> bool {
        with_bytes(self.source(index).filter(|_| !from.is_null()), |buffer| {
            // SAFETY: the caller has that many bytes there; the buffer is the network's own.
            unsafe { ptr::copy(from.cast(), buffer.as_mut_ptr(), buffer.len()) };
            true
        })
    }

    /// Copies a whole output buffer out. False if there is no such output.
    ///
    /// # Safety
    ///
    /// `to` is null or has room for as many bytes as the buffer has.
    pub unsafe fn read(&self, to: *mut c_void, index: usize) -> bool {
        with_bytes(self.destination(index).filter(|_| !to.is_null()), |buffer| {
            // SAFETY: the caller has room for that many bytes there; the buffer is the network's own.
            unsafe { ptr::copy(buffer.as_ptr(), to.cast(), buffer.len()) };
            true
        })
    }

    /// Copies a dense tensor to an input. False if there is no such input, or its shape does not fit its buffer.
    ///
    /// # Safety
    ///
    /// `from` is null or has as many 16-bit numbers as the input has elements.
    pub unsafe fn tile_send(&self, from: *const c_void, index: usize) -> bool {
        let Some(surface) = self.source_bar(index).and_then(|bar| self.surface(bar)) else { return false };
        with_bytes(self.source(index).filter(|_| !from.is_null()), |buffer| {
            // SAFETY: the caller has that many bytes there, and nobody writes them meanwhile.
            let dense = unsafe { slice::from_raw_parts(from.cast(), surface.dense_bytes()) };
            surface.tile(dense, buffer)
        })
    }

    /// Copies an output to a dense tensor. False if there is no such output, or its shape does not fit its buffer.
    ///
    /// # Safety
    ///
    /// `to` is null or has room for as many 16-bit numbers as the output has elements.
    pub unsafe fn tile_read(&self, to: *mut c_void, index: usize) -> bool {
        let Some(surface) = self.destination_bar(index).and_then(|bar| self.surface(bar)) else {
            return false;
        };
        with_bytes(self.destination(index).filter(|_| !to.is_null()), |buffer| {
            // SAFETY: the caller has room for that many bytes there, which nobody else uses meanwhile; numbers that were
            // never written are bytes all the same.
            let dense = unsafe { slice::from_raw_parts_mut(to.cast(), surface.dense_bytes()) };
            surface.untile(buffer, dense)
        })
    }

    pub fn close(&mut self) {
        for buffer in self.chans.iter().chain([&self.btsp_chan]) {
            buffer.free(self.fd);
        }
        self.chans = [Buffer::NONE; BARS];
        self.btsp_chan = Buffer::NONE;
        // SAFETY: it is null or came from `malloc`, and is forgotten here.
        unsafe { libc::free(self.data) };
        self.data = ptr::null_mut();
        // SAFETY: the descriptor is the network's own, and is forgotten here.
        unsafe { libc::close(self.fd) };
        self.fd = -1;
    }
}

/// The BAR of an operand by its number, of which there are so many as the header says.
fn nth(bars: &[u8; BARS], index: usize, count: u32) -> Option<usize> {
    let bar = bars.get(index).filter(|_| index < count as usize)?;
    Some(usize::from(*bar)).filter(|&bar| bar < BARS)
}

/// Works on the bytes of a buffer, which the engine does not touch while no program of this file runs. False if there is
/// no such buffer, or the work says so.
fn with_bytes(buffer: Option<&Buffer>, work: impl FnOnce(&mut [u8]) -> bool) -> bool {
    let Some(buffer) = buffer.filter(|buffer| !buffer.map.is_null()) else { return false };
    let Ok(bytes) = usize::try_from(buffer.size) else { return false };
    // SAFETY: the buffer is mapped with that length for as long as the network has it, and the borrow ends with the
    // work; C calls a network's functions one after the other.
    work(unsafe { slice::from_raw_parts_mut(buffer.map.cast(), bytes) })
}

/// Copies to the front of a buffer; false if it is too short.
fn fill(buffer: &mut [u8], from: &[u8]) -> bool {
    buffer.get_mut(..from.len()).map(|front| front.copy_from_slice(from)).is_some()
}
