//! `libane`: the functions of the C library that clients of the Linux driver link with (client-abi).
//!
//! `include/ane.h` declares them and says what each does. A null network, an index that the program does not have and a
//! null tensor are answered with nothing done, instead of a crash.
#![expect(unsafe_code, reason = "functions that C calls take pointers")]

use std::ffi::{c_char, c_int, c_void};
use std::{ptr, slice};

use ane_capi::surface::Surface;
use ane_capi::{Network, call};

/// Loads a program on a device; null if that fails, and `errno` says why.
///
/// # Safety
///
/// `path` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ane_init(path: *const c_char, dev_id: c_int) -> *mut Network {
    // SAFETY: the caller's path ends with a zero.
    unsafe { call::open(path, dev_id, None) }.map_or(ptr::null_mut(), Box::into_raw)
}

/// Loads a program whose buffers are counted in tiles of 2 to the power of `tile_shift` bytes.
///
/// # Safety
///
/// `path` is null or ends with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ane_init_shift(
    path: *const c_char,
    dev_id: c_int,
    tile_shift: u32,
) -> *mut Network {
    // SAFETY: the caller's path ends with a zero.
    unsafe { call::open(path, dev_id, Some(tile_shift)) }.map_or(ptr::null_mut(), Box::into_raw)
}

/// Gives a program back.
///
/// # Safety
///
/// `nn` is null, or came from [`__ane_init`] and was not given back.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ane_free(nn: *mut Network) {
    if !nn.is_null() {
        // SAFETY: it came from a box and is the caller's to give up.
        unsafe { Box::from_raw(nn) }.close();
    }
}

/// Runs a program: 0, or -1 and `errno`.
///
/// # Safety
///
/// `nn` is null or a program that was loaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ane_exec(nn: *mut Network) -> c_int {
    // SAFETY: the caller's program.
    let nn = unsafe { nn.as_ref() };
    call::answer(nn.ok_or_else(call::invalid).and_then(Network::execute))
}

/// Runs a program several times, with an output as an input of the next time: 0, or -1 and `errno`.
///
/// # Safety
///
/// `nn` is null or a program that was loaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ane_exec_loop(
    nn: *mut Network,
    iterations: u32,
    state_src_idx: u32,
    state_dst_idx: u32,
) -> c_int {
    // SAFETY: the caller's program.
    let nn = unsafe { nn.as_ref() };
    let (input, output) = (state_src_idx as usize, state_dst_idx as usize);
    call::answer(nn.ok_or_else(call::invalid).and_then(|nn| nn.execute_loop(iterations, input, output)))
}

/// Bytes that constants may take; 0 if there is no program.
///
/// # Safety
///
/// `nn` is null or a program that was loaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ane_kernel_capacity(nn: *mut Network) -> u64 {
    // SAFETY: the caller's program.
    unsafe { nn.as_ref() }.map_or(0, Network::constant_room)
}

/// Puts constants in the place of the program's: 0, or -1 and `errno`.
///
/// # Safety
///
/// `nn` is null or a program that was loaded; `from` is null or has so many bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ane_bind_kernel(nn: *mut Network, from: *const c_void, size: u64) -> c_int {
    // SAFETY: the caller's program.
    let nn = unsafe { nn.as_ref() };
    // SAFETY: the caller has the bytes.
    did(nn.is_some_and(|nn| unsafe { nn.set_constants(from, size) }))
}

/// Says how the tensor behind a BAR lies in its buffer, where the file does not.
///
/// # Safety
///
/// `nn` is null or a program that was loaded; `nchw` is null or has six numbers.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ane_set_oracle_nchw(nn: *mut Network, ch: u32, nchw: *const u64) {
    // SAFETY: the caller's program, and nobody else uses it meanwhile.
    let place = unsafe { nn.as_mut() }.and_then(|nn| nn.anec.nchw.get_mut(ch as usize));
    // SAFETY: the caller's numbers.
    if let (Some(place), Some(numbers)) = (place, unsafe { nchw.cast::<[u64; 6]>().as_ref() }) {
        *place = numbers.map(Into::into);
    }
}

/// 0, or -1 and `EINVAL`.
fn did(is_done: bool) -> c_int {
    call::answer(is_done.then_some(()).ok_or_else(call::invalid))
}

/// Bytes of an input's buffer; 0 if there is no such input.
///
/// # Safety
///
/// `nn` is null or a program that was loaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ane_src_size(nn: *mut Network, idx: u32) -> u64 {
    // SAFETY: the caller's program.
    let nn = unsafe { nn.as_ref() };
    nn.and_then(|nn| Some(nn.bytes(nn.source_bar(idx as usize)?))).unwrap_or(0)
}

/// Bytes of an output's buffer; 0 if there is no such output.
///
/// # Safety
///
/// `nn` is null or a program that was loaded.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ane_dst_size(nn: *mut Network, idx: u32) -> u64 {
    // SAFETY: the caller's program.
    let nn = unsafe { nn.as_ref() };
    nn.and_then(|nn| Some(nn.bytes(nn.destination_bar(idx as usize)?))).unwrap_or(0)
}

/// Copies a whole input buffer in.
///
/// # Safety
///
/// `nn` is null or a program that was loaded; `from` is null or has the buffer's bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ane_send(nn: *mut Network, from: *const c_void, idx: u32) {
    // SAFETY: the caller's program.
    if let Some(nn) = unsafe { nn.as_ref() } {
        // SAFETY: the caller has the bytes.
        unsafe { nn.send(from, idx as usize) };
    }
}

/// Copies a whole output buffer out.
///
/// # Safety
///
/// `nn` is null or a program that was loaded; `to` is null or has room for the buffer's bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ane_read(nn: *mut Network, to: *mut c_void, idx: u32) {
    // SAFETY: the caller's program.
    if let Some(nn) = unsafe { nn.as_ref() } {
        // SAFETY: the caller has the room.
        unsafe { nn.read(to, idx as usize) };
    }
}

/// Copies a dense tensor to an input: 0, or -1 and `errno`.
///
/// # Safety
///
/// `nn` is null or a program that was loaded; `from` is null or has the input's elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ane_tile_send(nn: *mut Network, from: *const c_void, idx: u32) -> c_int {
    // SAFETY: the caller's program.
    let nn = unsafe { nn.as_ref() };
    // SAFETY: the caller has the elements.
    did(nn.is_some_and(|nn| unsafe { nn.tile_send(from, idx as usize) }))
}

/// Copies an output to a dense tensor: 0, or -1 and `errno`.
///
/// # Safety
///
/// `nn` is null or a program that was loaded; `to` is null or has room for the output's elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __ane_tile_read(nn: *mut Network, to: *mut c_void, idx: u32) -> c_int {
    // SAFETY: the caller's program.
    let nn = unsafe { nn.as_ref() };
    // SAFETY: the caller has the room.
    did(nn.is_some_and(|nn| unsafe { nn.tile_read(to, idx as usize) }))
}

/// Dense halves to rows of `r` bytes in planes of `p`.
///
/// # Safety
///
/// `data` has n * c * h * w halves; `tile` has room for n * c planes, or up to the last half if planes are shorter.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ane_tile(
    data: *const c_void,
    tile: *mut c_void,
    n: u64,
    c: u64,
    h: u64,
    w: u64,
    p: u64,
    r: u64,
) {
    let surface = Surface::new([n, c, h, w, p, r], false).filter(|_| !data.is_null() && !tile.is_null());
    let Some(surface) = surface else { return };
    // SAFETY: the caller has that many bytes there.
    let data = unsafe { slice::from_raw_parts(data.cast(), surface.dense_bytes()) };
    // SAFETY: the caller has that much room there, and it is apart from the other.
    let tile = unsafe { slice::from_raw_parts_mut(tile.cast(), surface.whole_bytes()) };
    // Both have the lengths that it asks for.
    surface.tile(data, tile);
}

/// Rows of `r` bytes in planes of `p` to dense halves.
///
/// # Safety
///
/// `data` has room for n * c * h * w halves; `tile` has them up to the last in its layout.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ane_untile(
    data: *mut c_void,
    tile: *const c_void,
    n: u64,
    c: u64,
    h: u64,
    w: u64,
    p: u64,
    r: u64,
) {
    let surface = Surface::new([n, c, h, w, p, r], false).filter(|_| !data.is_null() && !tile.is_null());
    let Some(surface) = surface else { return };
    // SAFETY: the caller has that much room there, and it is apart from the other.
    let data = unsafe { slice::from_raw_parts_mut(data.cast(), surface.dense_bytes()) };
    // SAFETY: the caller has that many bytes there.
    let tile = unsafe { slice::from_raw_parts(tile.cast(), surface.bytes()) };
    // Both have the lengths that it asks for.
    surface.untile(tile, data);
}
