//! The real process: starting, stopping, being killed, and what it leaves behind.

mod crash;
mod running;
mod support;
mod verify;
