//! Client library of the virtual Apple Neural Engine.
//!
//! * [`build`]: programs made from a description, without a compiler.
//! * [`container`]: the files in which compiled programs come, `.hwx` and `.anec`.
//! * [`task`]: the task descriptors of a program, walked and built.
//! * [`decode`]: a program as a report that names every word; what `ane decode` prints.
//! * [`embedded`]: a device in this process, behind the driver's bus.

pub mod build;
pub mod container;
pub mod decode;
pub mod embedded;
pub mod task;
