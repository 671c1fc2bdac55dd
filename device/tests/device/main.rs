//! The whole device, driven through its registers as a driver does.

mod checking;
mod companions;
mod failures;
mod firmware;
mod hostile;
mod machine;
mod registers;
mod requests;
mod stall;
mod submission;
mod timeline;
mod turns;
