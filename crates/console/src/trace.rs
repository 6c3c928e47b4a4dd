//! Lookup of records with a number but no path of their own in the API: shop reservations, events, webhook deliveries.

use holdfast_api::ids;
use holdfast_api::list::List;
use holdfast_core::Timestamp;
use holdfast_core::hold::{ENDED_HOLD_KEPT, HOLD_TTL_MAX, Hold, Status};
use holdfast_core::id::{HoldId, UserId};
use holdfast_core::schema::hold::carts;
use holdfast_core::schema::shop::order_of;
use holdfast_core::shop::{InventoryReservationId, Order, OrderState, StockItem};
use serde_json::{Map, Value, json};

use super::api_reader::ApiReader;
use holdfast_server::app::App;
use holdfast_server::request::decimal;

/// Maximum number of reservations of one moment that are searched: more than fit into a batch.
const MOMENT_MAX: usize = 20_000;

/// Returns a line of a customer's reservation: live, ended or paid for.
pub async fn shop_reservation(app: &App, number: &str) -> Option<Map<String, Value>> {
    let id = InventoryReservationId::new(decimal(number)?)?;
    if let Some(order) = app.list::<Order>(order_of(id)).await.ok()?.pop() {
        let line = order.items.iter().find(|line| line.reservation == id)?;
        let mut thing = line_of(line, &order.user, order.currency.as_str(), "CONFIRMED");
        thing.insert("createdAt".into(), order.hold.made_at().to_jiff().to_string().into());
        thing.insert("orderId".into(), order.id.get().into());
        thing.insert("paidAt".into(), order.created_at.to_jiff().to_string().into());
        if let OrderState::Cancelled { at } = order.state {
            thing.insert("orderCancelledAt".into(), at.to_jiff().to_string().into());
        }
        return Some(thing);
    }
    let now = app.query(|_, at| Ok(at.now)).await.ok()?;
    let hold = held(app, id, now).await?;
    let line = hold.items::<StockItem>().find(|line| line.reservation == id)?;
    let status = match hold.status(now) {
        Status::Held | Status::Prepared => "RESERVED",
        Status::Confirmed => "CONFIRMED",
        Status::Cancelled => "RELEASED",
        Status::Replaced => "REPLACED",
        Status::Expired => "EXPIRED",
    };
    let mut thing = line_of(line, &hold.owner, hold.currency.as_str(), status);
    thing.insert("createdAt".into(), hold.created_at.to_jiff().to_string().into());
    thing.insert("expiresAt".into(), hold.expires_at.to_jiff().to_string().into());
    Some(thing)
}

fn line_of(line: &StockItem, user: &UserId, currency: &str, status: &str) -> Map<String, Value> {
    let thing = json!({
        "reservationId": line.reservation.get(), "userId": ids::UserId::from(user), "status": status, "currency": currency,
        "productOptionId": line.option.get(), "productName": &*line.product_name, "optionCode": &*line.option_code,
        "quantity": line.quantity, "unitPrice": line.unit_price,
    });
    if let Value::Object(thing) = thing { thing } else { Map::new() }
}

/// Returns the hold of a reservation that is not paid for. There is no index for it. But ids begin with the time, and
/// reservation numbers increase with time, so its creation time is found by binary search. Stores that keep holds outside
/// the listed tables return none.
async fn held(app: &App, id: InventoryReservationId, now: Timestamp) -> Option<Hold> {
    let after = async |moment: i64, limit: usize| {
        let earliest = HoldId::earliest_at(Timestamp::from_millis(moment));
        app.list::<Hold>(carts(Some(&earliest), limit)).await.ok()
    };
    // All listed holds were created later than this.
    let mut before = (now - ENDED_HOLD_KEPT - HOLD_TTL_MAX).as_millis();
    let mut end = now.as_millis() + 1;
    while end - before > 1 {
        let middle = before + (end - before) / 2;
        let is_later = match after(middle, 1).await?.first() {
            Some(hold) => hold.items::<StockItem>().all(|line| line.reservation > id),
            None => true,
        };
        if is_later {
            end = middle;
        } else {
            before = middle;
        }
    }
    let found = after(before, MOMENT_MAX).await?;
    found.into_iter().find(|hold| hold.items::<StockItem>().any(|line| line.reservation == id))
}

/// Returns an event of the outbox with its publishing status.
pub async fn outbox_event(api: ApiReader<'_>, number: &str) -> Option<Map<String, Value>> {
    let id = decimal(number)?;
    let mut event = first_after(api, "/v1/admin/outbox", id).await?;
    let payload = event.get("payload").map(Value::to_string).unwrap_or_default();
    event.insert("payload".into(), payload.into());
    Some(event)
}

/// Returns a delivery of any webhook, with the webhook's URL.
pub async fn delivery(api: ApiReader<'_>, number: &str) -> Option<Map<String, Value>> {
    let id = decimal(number)?;
    for webhook in api.all("/v1/webhooks").await.ok()? {
        let path = format!("/v1/webhooks/{}/deliveries", webhook["id"]);
        if let Some(mut delivery) = first_after(api, &path, id).await {
            delivery.insert("url".into(), webhook["url"].clone());
            // On all other pages `eventId` is the event that tickets are sold for.
            let event = delivery.remove("eventId").unwrap_or_default();
            delivery.insert("eventIdOf".into(), event);
            return Some(delivery);
        }
    }
    None
}

/// Returns the entry of a list with this number.
async fn first_after(api: ApiReader<'_>, path: &str, id: u64) -> Option<Map<String, Value>> {
    let before = id.checked_sub(1)?;
    let cursor =
        if before == 0 { String::new() } else { List::<u64>::cursor(before, holdfast_core::schema::Order::Ascending) };
    let mut list = api.get(&format!("{path}?limit=1&cursor={cursor}")).await.ok()?;
    match list["items"].get_mut(0).map(Value::take) {
        Some(Value::Object(found)) if found.get("id")?.as_u64() == Some(id) => Some(found),
        _ => None,
    }
}
