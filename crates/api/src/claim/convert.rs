//! Conversions from and to the types of the rules.

use holdfast_core::Timestamp;
use holdfast_core::claim::ClaimStatus;
use holdfast_core::claim::cancel::CancelledClaim;
use holdfast_core::claim::refund::LineRefund;
use holdfast_core::hold::{Hold, Item, Line, LineState, Origin};
use holdfast_core::shop::{StockSale, StockSaleState};

use super::{
    ClaimLineView, ClaimOrigin, ClaimStatusView, ClaimView, LineItemView, LineRefundView, LineStatus, RecordView,
    RefundView, StockSaleView,
};
use crate::calendar::lock::LineView;
use crate::stay::ReservationStatus;
use crate::ticket::TakenSeatView;

impl ClaimView {
    pub fn new(hold: &Hold, now: Timestamp) -> Self {
        let status = ClaimStatus::of(hold, now);
        Self {
            claim_id: hold.id.0,
            user_id: (&hold.owner).into(),
            origin: hold.origin.into(),
            status: status.into(),
            version: hold.version,
            created_at: hold.created_at.to_jiff(),
            expires_at: hold.ends_at().to_jiff(),
            reference: hold.reference().map(ToString::to_string),
            metadata: hold.metadata().iter().map(|(key, value)| (key.to_string(), value.to_string())).collect(),
            lines: hold.lines.iter().map(|line| ClaimLineView::new(hold, line, status)).collect(),
            total_price: hold.total(),
            currency: hold.currency.as_str().to_owned(),
            refused: None,
            refund: None,
        }
    }

    /// State of the claim when it was placed.
    pub fn placed(hold: &Hold) -> Self {
        Self::new(hold, hold.created_at)
    }

    /// State of a claim right after its records were cancelled, and the refund.
    pub fn cancelled(cancelled: &CancelledClaim) -> Self {
        let lines = cancelled.refunds.iter().map(LineRefundView::new).collect();
        let refund = Some(RefundView { amount: cancelled.amount, lines });
        Self { refund, ..Self::placed(&cancelled.hold) }
    }
}

impl ClaimLineView {
    fn new(hold: &Hold, line: &Line, claim: ClaimStatus) -> Self {
        let record = |number| RecordView { r#type: line.item.record_type(hold.origin).name().to_owned(), id: number };
        let status = match line.state {
            LineState::Released => LineStatus::Released,
            LineState::Confirmed { .. } => LineStatus::Confirmed,
            LineState::Cancelled { .. } => LineStatus::Cancelled,
            LineState::Held => match claim {
                ClaimStatus::Held => LineStatus::Held,
                ClaimStatus::Confirming => LineStatus::Confirming,
                ClaimStatus::Confirmed => LineStatus::Confirmed,
                ClaimStatus::Cancelled => LineStatus::Cancelled,
                ClaimStatus::Replaced => LineStatus::Replaced,
                ClaimStatus::Expired => LineStatus::Expired,
            },
        };
        Self {
            index: line.index,
            status,
            price: line.price,
            item: LineItemView::new(&line.item),
            record: line.state.record().map(record),
        }
    }
}

impl LineItemView {
    pub fn new(item: &Item) -> Self {
        match item {
            Item::Stay(item) => Self::Stay {
                room_type_id: item.room_type.get(),
                check_in: item.dates.check_in,
                check_out: item.dates.check_out,
                quantity: item.quantity,
            },
            Item::Stock(item) => Self::Stock {
                product_option_id: item.option.get(),
                product_name: item.product_name.to_string(),
                option_code: item.option_code.to_string(),
                quantity: item.quantity,
                unit_price: item.unit_price,
            },
            Item::Seats(item) => Self::Seat {
                event_id: item.event.get(),
                seat_ids: item.seats.iter().map(|seat| seat.seat.get()).collect(),
                seats: item.seats.iter().map(TakenSeatView::new).collect(),
            },
            Item::Slots(item) => {
                Self::Slot { room_id: item.room.get(), slots: item.slots.iter().map(LineView::of_locked).collect() }
            }
        }
    }
}

impl LineRefundView {
    fn new(refund: &LineRefund) -> Self {
        let LineRefund { line: index, percent, amount, rule } = *refund;
        Self { index, percent, amount, rule: rule.map(|tier| tier.to_string()) }
    }
}

impl From<Origin> for ClaimOrigin {
    fn from(origin: Origin) -> Self {
        match origin {
            Origin::Stay => Self::Stay,
            Origin::Cart => Self::Cart,
            Origin::Seats => Self::Seats,
            Origin::Lock | Origin::System => Self::Lock,
            Origin::Claim => Self::Claim,
        }
    }
}

impl From<ClaimStatus> for ClaimStatusView {
    fn from(status: ClaimStatus) -> Self {
        match status {
            ClaimStatus::Held => Self::Held,
            ClaimStatus::Confirming => Self::Confirming,
            ClaimStatus::Confirmed => Self::Confirmed,
            ClaimStatus::Cancelled => Self::Cancelled,
            ClaimStatus::Replaced => Self::Replaced,
            ClaimStatus::Expired => Self::Expired,
        }
    }
}

impl StockSaleView {
    pub fn new(sale: &StockSale) -> Self {
        let (status, cancelled_at) = match sale.state {
            StockSaleState::Sold => (ReservationStatus::Confirmed, None),
            StockSaleState::Cancelled { at } => (ReservationStatus::Cancelled, Some(at.to_jiff())),
        };
        Self {
            sale_id: sale.id.get(),
            claim_id: sale.hold.0,
            user_id: (&sale.user).into(),
            product_option_id: sale.option.get(),
            quantity: sale.quantity,
            price: sale.price,
            currency: sale.currency.as_str().to_owned(),
            status,
            sold_at: sale.sold_at.to_jiff(),
            cancelled_at,
        }
    }
}
