//! Planning: which registers make a pass, which hang the engine, and which are refused, and for what.

mod hangs;
mod refusals;
mod registers;
mod shapes;
