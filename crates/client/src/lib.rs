//! A typed client for Holdfast. Its types are those of [`holdfast_api`].
//!
//! ```no_run
//! # async fn demo() -> Result<(), holdfast_client::Error> {
//! use holdfast_client::{Client, NewHold};
//! use jiff::civil::date;
//!
//! let guest = Client::new("http://127.0.0.1:8080").as_user(42);
//! let hold = guest
//!     .place_hold(&NewHold::new(1, date(2027, 5, 1), date(2027, 5, 3), uuid::Uuid::from_u128(7)))
//!     .await?;
//! let reservation = guest.confirm_hold(hold.hold_id).await?;
//! println!("reserved as number {}", reservation.reservation_id);
//! # Ok(())
//! # }
//! ```
//!
//! Every rejection is an [`Error::Problem`]; match on its `code`.

mod calendar;
mod error;
mod queue;
mod shop;
mod stay;
mod ticket;

pub use calendar::{
    Generated, Lock, LockStatus, LockedSlot, NewRoom, Room, RoomReservation, RoomReservationStatus, Slot,
    SlotAvailability, SlotAvailabilityResult, SlotStatus,
};
pub use error::{Error, Problem};
pub use queue::{QueueEntry, QueuePlace, QueueStats, QueueStatus};
pub use shop::{
    Account, Cart, CartItem, Coupon, DiscountType, InventoryReservation, InventoryReservationStatus, NewCoupon,
    NewProduct, NewProductOption, Order, OrderItem, OrderReservation, OrderStatus, Payment, Product, ProductOption,
    ProductOptionChange,
};
pub use stay::{
    Availability, BatchLine, Hold, HoldStatus, NewHold, NewRoomType, Night, Reservation, ReservationStatus, RoomType,
    RoomTypeChange,
};
pub use ticket::{
    Event, EventChange, NewEvent, NewSeat, Seat, SeatHold, SeatReservation, SeatReservationStatus, SeatStatus,
    TakenSeat,
};

use std::time::Duration;

pub use holdfast_api::ids::UserId;
pub use holdfast_api::list::List;
pub use reqwest::Method;
use reqwest::RequestBuilder;
use serde::de::DeserializeOwned;

/// Servers answer within five seconds; no answer arrives after this time.
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(30);

/// Client of one server, on behalf of one caller. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    url: String,
    user: Option<UserId>,
    token: Option<String>,
    language: Option<String>,
    idempotency_key: Option<String>,
    timeout: Option<Duration>,
}

impl Client {
    /// `url` is the server's base address, like `http://127.0.0.1:8080`.
    pub fn new(url: impl Into<String>) -> Self {
        let url = url.into().trim_end_matches('/').to_owned();
        Self {
            http: reqwest::Client::new(),
            url,
            user: None,
            token: None,
            language: None,
            idempotency_key: None,
            timeout: None,
        }
    }

    /// Names the caller, for servers without authentication: an integer, or a text.
    #[must_use]
    pub fn as_user(&self, user: impl Into<UserId>) -> Self {
        Self { user: Some(user.into()), ..self.clone() }
    }

    /// Sends a bearer token, for servers with authentication.
    #[must_use]
    pub fn with_token(&self, token: impl Into<String>) -> Self {
        Self { token: Some(token.into()), ..self.clone() }
    }

    /// Sets the language of explanations: `ko` or `en`.
    #[must_use]
    pub fn in_language(&self, language: impl Into<String>) -> Self {
        Self { language: Some(language.into()), ..self.clone() }
    }

    /// Makes calls safe to repeat: the first success under a key is replayed. Use a new key for each new request.
    #[must_use]
    pub fn with_idempotency_key(&self, key: impl Into<String>) -> Self {
        Self { idempotency_key: Some(key.into()), ..self.clone() }
    }

    /// Sets the timeout of a call; the default is 30 s. A call that timed out may or may not have been carried out.
    #[must_use]
    pub fn with_timeout(&self, time: Duration) -> Self {
        Self { timeout: Some(time), ..self.clone() }
    }

    /// Builds a request as this caller, for routes without a method here. It has no timeout unless
    /// [`with_timeout`](Self::with_timeout) sets one.
    pub fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.url));
        if let Some(user) = &self.user {
            request = request.header("x-user-id", user.to_string());
        }
        if let Some(token) = &self.token {
            request = request.bearer_auth(token);
        }
        if let Some(language) = &self.language {
            request = request.header("accept-language", language);
        }
        if let Some(key) = &self.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        if let Some(time) = self.timeout {
            request = request.timeout(time);
        }
        request
    }

    /// Builds a request with a timeout.
    fn call(&self, method: Method, path: &str) -> RequestBuilder {
        self.request(method, path).timeout(self.timeout.unwrap_or(DEFAULT_TIMEOUT))
    }

    async fn get<T: DeserializeOwned>(&self, path: &str, query: &[(&str, String)]) -> Result<T, Error> {
        read(self.call(Method::GET, path).query(query)).await
    }

    async fn post<T: DeserializeOwned>(&self, path: &str, body: &(impl serde::Serialize + Sync)) -> Result<T, Error> {
        read(self.call(Method::POST, path).json(body)).await
    }
}

/// Sends a request and parses the response as `T`, or as the problem it is.
async fn read<T: DeserializeOwned>(request: RequestBuilder) -> Result<T, Error> {
    let response = request.send().await?;
    let status = response.status();
    let body = response.bytes().await?;
    if !status.is_success() {
        return Err(Error::problem(status.as_u16(), &body));
    }
    let body: &[u8] = if body.is_empty() { b"null" } else { &body };
    serde_json::from_slice(body).map_err(Error::Unreadable)
}
