//! Names of number sequences.

use crate::id::Sequence;

pub fn name(sequence: Sequence) -> &'static str {
    match sequence {
        Sequence::RoomType => "room_type",
        Sequence::StayReservation => "stay_reservation",
        Sequence::User => "users",
        Sequence::Product => "product",
        Sequence::ProductOption => "product_option",
        Sequence::InventoryReservation => "inventory_reservation",
        Sequence::Order => "orders",
        Sequence::StockSale => "stock_sale",
        Sequence::Room => "room",
        Sequence::RoomReservation => "room_reservation",
        Sequence::Generation => "slot_generation_log",
        Sequence::TicketEvent => "ticket_event",
        Sequence::SeatReservation => "seat_reservation",
        Sequence::Course => "courses",
        Sequence::TeeSlot => "game_time_slots",
        Sequence::Booking => "bookings",
        Sequence::Notification => "notification",
        Sequence::Webhook => "webhook",
        Sequence::WebhookDelivery => "webhook_delivery",
    }
}
