//! Claims in JSON: holds with lines of any types.

use std::collections::BTreeMap;

use jiff::Timestamp;
use jiff::civil::Date;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use crate::calendar::slot::SlotRefBody;
use crate::ids::UserId;
#[cfg(feature = "openapi")]
use crate::ids::{ClaimId, EventId, ProductOptionId, RoomId, RoomTypeId, SeatId, StockSaleId};

#[cfg(feature = "core")]
mod convert;

/// A line, told apart by its fields: `roomTypeId`, `productOptionId`, `eventId` or `roomId` says its type.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewLine))]
pub struct NewLineBody {
    /// Nights of a room type, with `checkIn` and `checkOut`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<RoomTypeId>))]
    pub room_type_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub check_in: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub check_out: Option<String>,
    /// Stock of a product option, with `quantity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<ProductOptionId>))]
    pub product_option_id: Option<u64>,
    /// Number of rooms (1 by default), or of pieces.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub quantity: Option<u32>,
    /// Seats of an event, with `seatIds` or `best`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<EventId>))]
    pub event_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<SeatId>>))]
    pub seat_ids: Option<Vec<u64>>,
    /// Number of seats: the best free ones are taken.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub best: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Slots of a room, with `date` and `times`, or with `slots`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<RoomId>))]
    pub room_id: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = Date))]
    pub date: Option<String>,
    /// `HH:MM`
    #[serde(skip_serializing_if = "Option::is_none")]
    pub times: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub slots: Option<Vec<SlotRefBody>>,
}

/// Lines that a claim needs: all of them, or each that is available.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ClaimMode {
    #[default]
    All,
    Each,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = NewClaim))]
pub struct NewClaimBody {
    /// Optional if a header or token names the caller.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 100))]
    #[serde(deserialize_with = "crate::bounded::<_, _, 101>")]
    pub lines: Vec<NewLineBody>,
    /// By default the shortest of the lines' own defaults, which is also the longest that a user may choose.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub ttl_seconds: Option<i64>,
    /// The caller's own id; not unique.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(min_length = 1, max_length = 200))]
    pub reference: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mode: Option<ClaimMode>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = AvailabilityRequest))]
pub struct AvailabilityBody {
    /// User whose limits count; optional.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[cfg_attr(feature = "openapi", schema(min_items = 1, max_items = 100))]
    #[serde(deserialize_with = "crate::bounded::<_, _, 101>")]
    pub lines: Vec<NewLineBody>,
}

/// Either `seconds` or `until`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Extension))]
pub struct ExtensionBody {
    /// Counted from the present end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(minimum = 1))]
    pub seconds: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "openapi", schema(format = DateTime))]
    pub until: Option<String>,
}

/// Omitted fields stay as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase", default)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ClaimChange))]
pub struct ClaimChangeBody {
    /// New owner; for operators.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub user_id: Option<UserId>,
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::<_, _, 101>")]
    pub add: Vec<NewLineBody>,
    /// Indexes of lines.
    #[serde(skip_serializing_if = "Vec::is_empty", deserialize_with = "crate::bounded::<_, _, 101>")]
    pub remove: Vec<u16>,
    /// `null` removes it.
    #[serde(skip_serializing_if = "Option::is_none", deserialize_with = "crate::present")]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, max_length = 200))]
    pub reference: Option<Option<String>>,
    /// Replaces all pairs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<BTreeMap<String, String>>,
}

/// Lines to confirm; all by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ClaimConfirmation))]
pub struct ClaimConfirmationBody {
    /// Indexes of lines.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lines: Option<Vec<u16>>,
}

/// Lines to cancel; all by default.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ClaimCancellation))]
pub struct ClaimCancellationBody {
    /// Indexes of lines.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub lines: Option<Vec<u16>>,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(max_length = 500))]
    pub reason: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = Claim))]
pub struct ClaimView {
    #[cfg_attr(feature = "openapi", schema(value_type = ClaimId))]
    pub claim_id: Uuid,
    pub user_id: UserId,
    /// Endpoint that placed the claim.
    pub origin: ClaimOrigin,
    pub status: ClaimStatusView,
    /// Rises with every change.
    pub version: u32,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub created_at: Timestamp,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub expires_at: Timestamp,
    pub reference: Option<String>,
    pub metadata: BTreeMap<String, String>,
    pub lines: Vec<ClaimLineView>,
    /// Sum of the lines that are neither released nor cancelled.
    pub total_price: i64,
    pub currency: String,
    /// Lines that were left out, with the error of each; only in the answer that placed the claim.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<Vec<Object>>))]
    pub refused: Option<Vec<Map<String, Value>>>,
    /// Refund of the lines that this call cancelled.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub refund: Option<RefundView>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum ClaimOrigin {
    Stay,
    Cart,
    Seats,
    Lock,
    Claim,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ClaimStatus))]
pub enum ClaimStatusView {
    Held,
    Confirming,
    Confirmed,
    Cancelled,
    Replaced,
    Expired,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LineStatus {
    Held,
    Confirming,
    Confirmed,
    Cancelled,
    Replaced,
    Expired,
    Released,
}

/// A line; fields of other types are left out.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ClaimLine))]
pub struct ClaimLineView {
    /// Position in the request; it never changes.
    pub index: u16,
    pub status: LineStatus,
    pub price: i64,
    #[serde(flatten)]
    pub item: LineItemView,
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub record: Option<RecordView>,
}

/// Claim of a line, by `type`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(tag = "type", rename_all = "lowercase", rename_all_fields = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
pub enum LineItemView {
    Stay {
        #[cfg_attr(feature = "openapi", schema(value_type = RoomTypeId))]
        room_type_id: u64,
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
        check_in: Date,
        #[cfg_attr(feature = "openapi", schema(value_type = String, format = Date))]
        check_out: Date,
        quantity: u32,
    },
    Stock {
        #[cfg_attr(feature = "openapi", schema(value_type = ProductOptionId))]
        product_option_id: u64,
        product_name: String,
        option_code: String,
        quantity: u32,
        unit_price: i64,
    },
    Seat {
        #[cfg_attr(feature = "openapi", schema(value_type = EventId))]
        event_id: u64,
        #[cfg_attr(feature = "openapi", schema(value_type = Vec<SeatId>))]
        seat_ids: Vec<u64>,
        seats: Vec<crate::ticket::TakenSeatView>,
    },
    Slot {
        #[cfg_attr(feature = "openapi", schema(value_type = RoomId))]
        room_id: u64,
        slots: Vec<crate::calendar::lock::LineView>,
    },
}

/// Record of a confirmed line: at its own endpoint under this id.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ClaimRecord))]
pub struct RecordView {
    /// `stay.reservation`, `stock.sale`, `seat.reservation`, `room.reservation` or `shop.order`.
    pub r#type: String,
    pub id: u64,
}

/// Sum of the refunds of cancelled lines, and each of them.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = ClaimRefund))]
pub struct RefundView {
    pub amount: i64,
    pub lines: Vec<LineRefundView>,
}

#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = LineRefund))]
pub struct LineRefundView {
    pub index: u16,
    pub percent: u8,
    pub amount: i64,
    /// Tier that applies, such as `7d:100`; `null` below the last.
    pub rule: Option<String>,
}

/// Sale of stock to a claim.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema), schema(as = StockSale))]
pub struct StockSaleView {
    #[cfg_attr(feature = "openapi", schema(value_type = StockSaleId))]
    pub sale_id: u64,
    #[cfg_attr(feature = "openapi", schema(value_type = ClaimId))]
    pub claim_id: Uuid,
    pub user_id: UserId,
    #[cfg_attr(feature = "openapi", schema(value_type = ProductOptionId))]
    pub product_option_id: u64,
    pub quantity: u32,
    pub price: i64,
    pub currency: String,
    pub status: crate::stay::ReservationStatus,
    #[serde(serialize_with = "crate::time")]
    #[cfg_attr(feature = "openapi", schema(value_type = String, format = DateTime))]
    pub sold_at: Timestamp,
    #[serde(serialize_with = "crate::optional_time", skip_serializing_if = "Option::is_none", default)]
    #[cfg_attr(feature = "openapi", schema(value_type = Option<String>, format = DateTime))]
    pub cancelled_at: Option<Timestamp>,
}
