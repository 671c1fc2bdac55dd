//! The whole device, driven through its registers as a driver does.

mod checking;
mod failures;
mod hostile;
mod machine;
mod registers;
mod submission;
