//! The mover: the worked vectors of its specification, and what stands behind them.

mod hostile;
mod metadata;
mod queue;
mod rig;
mod seed;
mod transfers;
mod xmov;
