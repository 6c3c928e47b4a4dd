//! Handlers of the calendar: rooms by the hour.
//!
//! | module | contents |
//! | --- | --- |
//! | [`rooms`], [`hours`] | rooms, their hours, holidays |
//! | [`generation`] | slot generation and its log |
//! | [`slots`], [`blocks`] | slots, availability, statistics; blocking and repricing |
//! | [`locks`], [`reservations`] | lock, confirm, release, cancel |
//! | [`work`] | work that takes several commands |
//! | [`job`] | background job: generates, rebuilds and deletes slots |
//! | [`demo`] | demo rooms |

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
