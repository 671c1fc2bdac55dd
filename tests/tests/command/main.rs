//! `ane` as its users run it, command by command.

mod bad_input;
mod building;
mod daemon;
mod demo;
mod differences;
mod inspection;
mod long_programs;
mod outputs;
mod pages;
mod run;
mod running;
mod scratch;
