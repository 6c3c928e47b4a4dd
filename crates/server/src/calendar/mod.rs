//! Handlers of the calendar: rooms by the hour.
//!
//! | module | what is in it |
//! | --- | --- |
//! | [`rooms`], [`hours`] | rooms, their hours, holidays |
//! | [`generation`] | making slots, and the log of it |
//! | [`slots`], [`blocks`] | what is there, what is free, what is taken off sale, what was sold |
//! | [`locks`], [`reservations`] | locking, confirming, releasing, cancelling |
//! | [`work`] | what takes more than one command |
//! | [`job`] | what happens by itself, every midnight of a room |
//! | [`demo`] | some rooms to look at |

pub mod blocks;
pub mod demo;
pub mod generation;
pub mod hours;
pub mod job;
pub mod locks;
pub mod reservations;
pub mod rooms;
pub mod slots;
pub mod work;

use holdfast_core::calendar::RoomId;

use crate::problem::Problem;
use crate::request::parse_id;

fn room_id(text: &str) -> Result<RoomId, Problem> {
    parse_id("id", text, RoomId::new)
}
