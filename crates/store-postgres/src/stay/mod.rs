//! SQL of stays.
//!
//! | module | what is in it |
//! | --- | --- |
//! | `load` | rows by key and by range |
//! | `write` | what a batch changed |
//! | `lists` | lists, audit, tidying, live holds |
//! | `seen` | versions of what was read, for servers that share the database |

mod lists;
mod load;
mod seen;
mod write;

pub(crate) use lists::{audit_durable, audit_holds, live_holds, reservations, room_types, tidy};
pub(crate) use load::{Asked, ask_confirmed, confirmed};
pub(crate) use seen::Seen;
pub(crate) use write::{has_durable_changes, write, write_holds};

pub(crate) const READS: &[&str] = load::STATEMENTS;
pub(crate) const WRITES: &[&str] = write::STATEMENTS;
pub(crate) const LOCKS: &[&str] = seen::STATEMENTS;
pub(crate) const TIDIES: &[&str] = lists::TIDIES;

/// Columns of each table, in the order in which they are read and written. The version comes last and is only read.
macro_rules! room_type {
    ($rest:literal) => {
        concat!(
            "SELECT id, name, description, total_quantity, base_price, currency, time_zone, version FROM room_type ",
            $rest
        )
    };
}
macro_rules! night {
    ($rest:literal) => {
        concat!("SELECT room_type_id, target_date, total_quantity, reserved_count, closed, version FROM ", $rest)
    };
}
macro_rules! hold {
    ($rest:literal) => {
        concat!(
            "SELECT id, user_id, room_type_id, check_in, check_out, client_key, price, currency, created_at, ",
            "expires_at, state, reservation_id, replaced_by FROM stay_hold ",
            $rest
        )
    };
}
macro_rules! reservation {
    ($rest:literal) => {
        concat!(
            "SELECT id, hold_id, user_id, room_type_id, check_in, check_out, price, currency, confirmed_at, ",
            "cancelled_at, version FROM stay_reservation ",
            $rest
        )
    };
}
pub(crate) use {hold, night, reservation, room_type};
