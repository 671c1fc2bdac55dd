//! `ane campaign`: what it counts, and that nothing that happens to it makes it count otherwise.

mod interrupted;
mod limits;
mod rig;
mod slurm;
mod verdicts;
