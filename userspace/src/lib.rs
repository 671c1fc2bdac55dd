//! Client library of the virtual Apple Neural Engine.
//!
//! * [`build`]: programs made from a description, without a compiler.
//! * [`container`]: the files in which compiled programs come, `.hwx` and `.anec`.
//! * [`task`]: the task descriptors of a program, walked and built.
//! * [`decode`]: a program as a report that names every word; what `ane decode` prints.
//! * [`model`] and [`session`]: a program to be run, and one on a device; [`device`]: the device.
//! * [`diff`]: programs, arrays and timelines compared.
//! * [`tensor`]: dense arrays, `.npy` files, and the engine's layout in memory.
//! * [`timeline`]: what the engine did, summed up.
//! * [`embedded`]: a device in this process, behind the driver's bus.
//! * [`vm`]: virtual machines that have the device.

pub mod build;
pub mod container;
pub mod decode;
pub mod device;
pub mod diff;
pub mod embedded;
pub mod model;
pub mod session;
pub mod task;
pub mod tensor;
pub mod vm;
pub mod timeline;
