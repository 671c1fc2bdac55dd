//! Client library of the virtual Apple Neural Engine.
//!
//! * [`build`]: programs made from a description, without a compiler.
//! * [`campaign`]: many programs in many modes, and what held.
//! * [`container`]: the files in which compiled programs come, `.hwx` and `.anec`.
//! * [`task`]: the task descriptors of a program, walked and built.
//! * [`decode`]: a program as a report that names every word; what `ane decode` prints.
//! * [`model`] and [`session`]: a program to be run, and one on a device; [`device`]: the device.
//! * [`patch`]: registers and constants of a program, edited in its file.
//! * [`report`]: a program as one page for a browser.
//! * [`refusals`]: which tasks the engine does not execute, and which register is to blame.
//! * [`diff`]: programs, arrays and timelines compared.
//! * [`sram`]: what a program does with the chip's memory, and how long it would take there.
//! * [`tensor`]: dense arrays, `.npy` files, and the engine's layout in memory.
//! * [`timeline`]: what the engine did, summed up.
//! * [`inspect`]: driver and device looked into.
//! * [`count`]: numbers of things in words.
//! * [`doctor`]: is everything there?
//! * [`root`]: a made-up root folder, for tools that look for the driver of a real engine.
//! * [`mover`]: transfer scripts for firmware authors.
//! * [`embedded`]: a device in this process, behind the driver's bus.
//! * [`daemon`]: such a device that serves other processes.
//! * [`vm`]: virtual machines that have the device.

pub mod build;
pub mod campaign;
pub mod container;
pub mod count;
pub mod daemon;
pub mod decode;
pub mod device;
pub mod diff;
pub mod doctor;
pub mod embedded;
pub mod inspect;
pub mod model;
pub mod mover;
pub mod patch;
pub mod refusals;
pub mod report;
pub mod root;
pub mod session;
pub mod sram;
pub mod task;
pub mod tensor;
pub mod timeline;
pub mod vm;
