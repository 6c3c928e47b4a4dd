//! Errors of the API (RFC 9457): the table of codes, and the body of an error response.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Body of an error response.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ProblemBody {
    pub status: u16,
    /// Stable; match on this.
    pub code: String,
    pub detail: String,
    /// Exact cause of invalid input in `field`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    #[serde(default)]
    pub request_id: String,
    /// Further members: `field`, `available`, `reservationId`, …
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl std::fmt::Display for ProblemBody {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}: {}", self.status, self.code, self.detail)?;
        self.reason.iter().try_for_each(|reason| write!(f, " {reason}"))
    }
}

macro_rules! error_codes {
    ($($name:ident $status:literal $code:literal $korean:literal $english:literal;)+) => {
        /// Stable code of an error.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum ErrorCode {
            $($name),+
        }

        impl ErrorCode {
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// Code on the wire.
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$name => $code),+
                }
            }

            /// HTTP status.
            pub const fn status(self) -> u16 {
                match self {
                    $(Self::$name => $status),+
                }
            }

            /// Detail in Korean. `{name}` stands for the member `name` of the body.
            pub const fn korean(self) -> &'static str {
                match self {
                    $(Self::$name => $korean),+
                }
            }

            /// Detail in English. `{name}` stands for the member `name` of the body.
            pub const fn english(self) -> &'static str {
                match self {
                    $(Self::$name => $english),+
                }
            }
        }
    };
}

impl ErrorCode {
    /// Parses a code on the wire.
    pub fn parse(code: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|known| known.as_str() == code)
    }

    /// Converts the code to words: `ROOM_NOT_AVAILABLE` is titled "Room not available".
    pub fn title(self) -> String {
        let words = self.as_str().replace('_', " ").to_lowercase();
        let mut chars = words.chars();
        chars.next().map(|first| first.to_ascii_uppercase().to_string() + chars.as_str()).unwrap_or_default()
    }
}

// A cause with a detail of its own names it where the server makes the problem.
error_codes! {
    AmountChanged 409 "AMOUNT_CHANGED"
        "결제 금액이 변경되었습니다. ({amount})"
        "The amount to pay is {amount}.";
    BookingNotCancellable 409 "BOOKING_NOT_CANCELLABLE"
        "티오프 이후에는 취소할 수 없습니다."
        "Players have teed off; only an operator can cancel now.";
    BookingNotFound 404 "BOOKING_NOT_FOUND"
        "예약을 찾을 수 없습니다."
        "There is no such booking.";
    CapacityInUse 409 "CAPACITY_IN_USE"
        "이미 예약된 수량보다 적게 줄일 수 없습니다. ({inUse})"
        "{inUse} are reserved; the stock cannot go below that.";
    CartEmpty 400 "CART_EMPTY"
        "장바구니가 비어 있습니다."
        "The cart is empty; put something into it first.";
    ClaimAlreadyProcessed 409 "CLAIM_ALREADY_PROCESSED"
        "이미 확정되었거나 취소된 선점입니다."
        "The claim is already confirmed or cancelled.";
    ClaimExpired 409 "CLAIM_EXPIRED"
        "선점이 만료되었거나 다른 선점으로 대체되었습니다."
        "The claim has expired or was replaced; place a new one.";
    ClaimNotChangeable 409 "CLAIM_NOT_CHANGEABLE"
        "이 선점은 여기에서 변경할 수 없습니다."
        "This claim cannot be changed in parts here; use the endpoint that placed it, or place a new claim.";
    ClaimNotFound 404 "CLAIM_NOT_FOUND"
        "선점 정보를 찾을 수 없습니다."
        "The claim does not exist.";
    CouponAlreadyExists 409 "COUPON_ALREADY_EXISTS"
        "이미 존재하는 쿠폰 코드입니다."
        "There is a coupon of that code already.";
    CouponAlreadyIssued 409 "COUPON_ALREADY_ISSUED"
        "이미 발급받은 쿠폰입니다."
        "This user has the coupon already.";
    CouponNotFound 404 "COUPON_NOT_FOUND"
        "쿠폰을 찾을 수 없습니다."
        "There is no such coupon.";
    CouponNotUsable 409 "COUPON_NOT_USABLE"
        "사용할 수 없는 쿠폰입니다."
        "The coupon is unknown, not this user's, used, expired, or in another currency.";
    CouponSoldOut 409 "COUPON_SOLD_OUT"
        "쿠폰이 모두 소진되었습니다."
        "All of these coupons have been issued.";
    CourseNotFound 404 "COURSE_NOT_FOUND"
        "코스를 찾을 수 없습니다."
        "There is no such course.";
    DuplicateReservation 409 "DUPLICATE_RESERVATION"
        "이미 진행 중인 주문 예약이 있습니다."
        "There is a live reservation already; pay for it, release it, or replace it with replace=true.";
    EventNotFound 404 "EVENT_NOT_FOUND"
        "공연을 찾을 수 없습니다."
        "There is no such event.";
    ExtensionLimit 409 "EXTENSION_LIMIT"
        "더 이상 연장할 수 없습니다."
        "The claim cannot be extended that often or that long; `maxUntil` is the latest end.";
    Forbidden 403 "FORBIDDEN"
        "권한이 없습니다."
        "The resource belongs to another user, or the operation needs an admin.";
    IdempotencyKeyReused 422 "IDEMPOTENCY_KEY_REUSED"
        "같은 멱등 키가 다른 요청에 이미 사용되었습니다."
        "This idempotency key was used for another request; take a new one.";
    InsufficientAvailableStock 409 "INSUFFICIENT_AVAILABLE_STOCK"
        "가용 재고가 부족합니다. (상품 옵션 ID: {productOptionId})"
        "Only {available} of product option {productOptionId} are available.";
    InsufficientBalance 409 "INSUFFICIENT_BALANCE"
        "잔액이 부족합니다. (잔액 {balance}, 필요 {needed})"
        "The balance is {balance}; {needed} is needed.";
    InternalServerError 500 "INTERNAL_SERVER_ERROR"
        "서버 내부 오류가 발생했습니다."
        "Internal error; nothing was changed. The server log has the details under this requestId.";
    InvalidInput 400 "INVALID_INPUT"
        "입력값이 올바르지 않습니다."
        "The input is not valid.";
    InvalidStateTransition 409 "INVALID_STATE_TRANSITION"
        "{from} 상태에서 {to} 상태로 변경할 수 없습니다."
        "A booking that is {from} cannot become {to}.";
    LockNotFound 404 "LOCK_NOT_FOUND"
        "잠금을 찾을 수 없습니다."
        "There is no such lock.";
    LockTimeout 409 "LOCK_TIMEOUT"
        "요청이 몰려 처리하지 못했습니다. 다시 시도해 주세요."
        "The command waited too long for its turn; nothing was changed. Try again.";
    MethodNotAllowed 405 "METHOD_NOT_ALLOWED"
        "이 경로에서 지원하지 않는 메서드입니다."
        "This path does not take this method; see /docs.";
    NotAvailable 409 "NOT_AVAILABLE"
        "선점할 수 없는 항목이 있습니다."
        "Some lines are not available; nothing was held. `lines` has the reason of each.";
    NotEnoughSeats 409 "NOT_ENOUGH_SEATS"
        "남은 좌석이 부족합니다. (잔여 {available}석)"
        "Only {available} seats are free there.";
    NotFound 404 "NOT_FOUND"
        "그런 경로가 없습니다."
        "There is no such path; see /docs.";
    NotInQueue 404 "NOT_IN_QUEUE"
        "대기열에 없습니다."
        "Not in the queue, or no longer; join it first.";
    NotYourTurn 409 "NOT_YOUR_TURN"
        "아직 입장 순서가 아닙니다."
        "It is not your turn yet; you keep your position. Poll until the status is ready.";
    OrderAlreadyCancelled 409 "ORDER_ALREADY_CANCELLED"
        "이미 취소된 주문입니다."
        "The order was cancelled before.";
    OrderNotFound 404 "ORDER_NOT_FOUND"
        "주문을 찾을 수 없습니다."
        "There is no such order.";
    Overloaded 429 "OVERLOADED"
        "요청이 많아 잠시 후 다시 시도해 주세요."
        "Too many requests are waiting; try again shortly.";
    PayloadTooLarge 413 "PAYLOAD_TOO_LARGE"
        "요청 본문이 너무 큽니다."
        "The body is too large.";
    PaymentRequired 409 "PAYMENT_REQUIRED"
        "결제해야 확정되는 예약입니다."
        "A cart reservation is confirmed by paying for it: POST /api/order.";
    ProductNotFound 404 "PRODUCT_NOT_FOUND"
        "상품을 찾을 수 없습니다."
        "There is no such product.";
    ProductOptionInactive 400 "PRODUCT_OPTION_INACTIVE"
        "비활성화된 상품 옵션이 포함되어 있습니다."
        "Product option {productOptionId} is not for sale; take it out of the cart.";
    ProductOptionNotFound 404 "PRODUCT_OPTION_NOT_FOUND"
        "상품 옵션을 찾을 수 없습니다."
        "There is no such product option.";
    QueueDisabled 409 "QUEUE_DISABLED"
        "대기열을 사용하지 않는 공연입니다."
        "This event has no queue; hold or reserve seats directly.";
    QueueTokenRequired 403 "QUEUE_TOKEN_REQUIRED"
        "대기열을 통해 입장한 뒤 이용할 수 있습니다."
        "Enter through the queue first; an entry is needed to hold or reserve seats.";
    RequestTimeout 408 "REQUEST_TIMEOUT"
        "요청을 제때 받지 못했습니다."
        "The request took too long to arrive.";
    ReservationAlreadyCancelled 409 "RESERVATION_ALREADY_CANCELLED"
        "이미 취소된 예약입니다."
        "The reservation was cancelled before.";
    ReservationExpired 400 "RESERVATION_EXPIRED"
        "주문 예약이 만료되었습니다."
        "The reservation has expired; reserve again.";
    ReservationHoldAlreadyProcessed 409 "RESERVATION_HOLD_ALREADY_PROCESSED"
        "이미 처리된 가계약입니다."
        "The hold was confirmed or cancelled before.";
    ReservationHoldExpired 400 "RESERVATION_HOLD_EXPIRED"
        "가계약이 만료되었습니다."
        "The hold has expired or was replaced; place a new one.";
    ReservationHoldKeyConflict 409 "RESERVATION_HOLD_KEY_CONFLICT"
        "clientHoldKey가 이미 다른 가계약에 사용되고 있습니다."
        "This clientHoldKey belongs to another live hold on the same dates; take a new key.";
    ReservationHoldNotFound 404 "RESERVATION_HOLD_NOT_FOUND"
        "가계약을 찾을 수 없습니다."
        "There is no such hold, or it ended more than a day ago.";
    ReservationNotCancellable 409 "RESERVATION_NOT_CANCELLABLE"
        "체크인 당일부터는 취소할 수 없습니다."
        "From the day of check-in on a reservation cannot be cancelled.";
    ReservationNotFound 404 "RESERVATION_NOT_FOUND"
        "예약을 찾을 수 없습니다."
        "There is no such reservation.";
    RoomNotAvailable 409 "ROOM_NOT_AVAILABLE"
        "예약 가능한 객실이 없습니다. ({date})"
        "No room is free on {date}.";
    RoomNotFound 404 "ROOM_NOT_FOUND"
        "공간을 찾을 수 없습니다."
        "There is no such room.";
    RoomTypeNotFound 404 "ROOM_TYPE_NOT_FOUND"
        "객실 타입을 찾을 수 없습니다."
        "There is no such room type.";
    SalesNotOpen 409 "SALES_NOT_OPEN"
        "아직 판매가 시작되지 않았습니다."
        "Sales have not opened yet; they open at the time in `opensAt`.";
    SeatAlreadyReserved 409 "SEAT_ALREADY_RESERVED"
        "이미 예매된 좌석"
        "Seat {seatId} is reserved; choose another.";
    SeatHeldByAnother 409 "SEAT_HELD_BY_ANOTHER"
        "다른 사용자가 선택 중"
        "Another user holds seat {seatId}; choose another, or try again later.";
    SeatHoldAlreadyProcessed 409 "SEAT_HOLD_ALREADY_PROCESSED"
        "이미 처리된 좌석 선점입니다."
        "The hold was confirmed or cancelled before.";
    SeatHoldExpired 409 "SEAT_HOLD_EXPIRED"
        "좌석 선점 시간이 만료되었습니다."
        "The hold has expired or was replaced; hold the seats again.";
    SeatHoldNotFound 404 "SEAT_HOLD_NOT_FOUND"
        "좌석 선점 정보를 찾을 수 없습니다."
        "There is no such seat hold.";
    SeatLimitReached 409 "SEAT_LIMIT_REACHED"
        "한 사용자는 최대 {max}석까지 예매할 수 있습니다."
        "One user may have at most {max} seats of this event, held and reserved together.";
    SeatNotFound 404 "SEAT_NOT_FOUND"
        "좌석을 찾을 수 없습니다. (좌석 ID: {seatId})"
        "The event has no seat {seatId}.";
    ServiceUnavailable 503 "SERVICE_UNAVAILABLE"
        "담당 서비스가 응답하지 않습니다. 잠시 후 다시 시도해 주세요."
        "The service is unavailable; nothing was changed.";
    SlotExists 409 "SLOT_EXISTS"
        "이미 존재하는 타임슬롯입니다. ({date} {startTime})"
        "There is a slot on {date} at {startTime} already; no slot was created.";
    SlotNotAvailable 409 "SLOT_NOT_AVAILABLE"
        "예약할 수 없는 타임슬롯입니다. ({date} {time})"
        "The slot at {date} {time} is not available.";
    SlotNotFound 404 "SLOT_NOT_FOUND"
        "해당 타임슬롯이 없습니다. ({date} {time})"
        "There is no slot at {date} {time}.";
    SlotNotLocked 409 "SLOT_NOT_LOCKED"
        "잠금이 없거나 만료되었거나 이미 처리되었습니다."
        "There is no such lock, or it has expired, or was confirmed or released before.";
    SoldOut 409 "SOLD_OUT"
        "매진"
        "All seats are reserved.";
    StockSaleNotFound 404 "STOCK_SALE_NOT_FOUND"
        "판매 내역을 찾을 수 없습니다."
        "There is no such stock sale.";
    StoreUnavailable 503 "STORE_UNAVAILABLE"
        "저장소에 연결할 수 없습니다. 잠시 후 다시 시도해 주세요."
        "The store is unavailable; nothing was changed.";
    TooManyHolds 429 "TOO_MANY_HOLDS"
        "한 사용자는 동시에 최대 {max}개까지 잡아 둘 수 있습니다."
        "One user may have at most {max} live holds of a kind; confirm or release some first.";
    Unauthenticated 401 "UNAUTHENTICATED"
        "인증이 필요합니다."
        "Send a bearer token in the Authorization header.";
    UserAlreadyExists 409 "USER_ALREADY_EXISTS"
        "이미 존재하는 사용자 ID입니다."
        "There is a user of that id already.";
    UserNotFound 404 "USER_NOT_FOUND"
        "사용자를 찾을 수 없습니다."
        "There is no such user.";
    VersionMismatch 412 "VERSION_MISMATCH"
        "그 사이에 변경되었습니다. 다시 조회해 주세요. (현재 버전 {version})"
        "It has changed since; its version is {version}. Read it again.";
    WebhookDeliveryNotFailed 409 "WEBHOOK_DELIVERY_NOT_FAILED"
        "실패한 전송만 다시 시도할 수 있습니다."
        "Only a failed delivery can be retried.";
    WebhookDeliveryNotFound 404 "WEBHOOK_DELIVERY_NOT_FOUND"
        "웹훅 전송 기록을 찾을 수 없습니다."
        "There is no such delivery.";
    WebhookDisabled 409 "WEBHOOK_DISABLED"
        "수신 측이 410 Gone으로 응답하여 중지된 웹훅입니다. 먼저 다시 활성화해 주세요."
        "The receiver answered 410 Gone, so the webhook is disabled; enable it first.";
    WebhookLimitReached 409 "WEBHOOK_LIMIT_REACHED"
        "웹훅은 최대 {max}개까지 등록할 수 있습니다."
        "There may be at most {max} webhooks; delete one first.";
    WebhookNotFound 404 "WEBHOOK_NOT_FOUND"
        "웹훅을 찾을 수 없습니다."
        "There is no such webhook.";
}

impl std::fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::ErrorCode;

    #[test]
    fn every_code_parses() {
        assert!(ErrorCode::ALL.iter().all(|code| ErrorCode::parse(code.as_str()) == Some(*code)));
        assert_eq!(ErrorCode::parse("ROOM"), None);
    }

    #[test]
    fn title_is_code_in_words() {
        assert_eq!(ErrorCode::RoomNotAvailable.title(), "Room not available");
    }
}
