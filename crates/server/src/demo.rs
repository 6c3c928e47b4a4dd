//! Demo data: fills an empty store with a small hotel, a coffee shop, some meeting rooms, a concert and a golf club. Also
//! composes a first request to try.

mod concert;
mod golf;

use std::sync::Arc;
use std::time::{Duration, Instant};

use holdfast_core::calendar::Room;
use holdfast_core::schema::List;
use holdfast_core::shop::coupon::CreateCoupon;
use holdfast_core::shop::product::{CreateProduct, OptionDraft};
use holdfast_core::shop::user::{AddBalance, CreateUser};
use holdfast_core::shop::{CouponCode, Discount, Product, UserAccount};
use holdfast_core::stay::RoomType;
use holdfast_core::stay::room_type::{CreateRoomType, RoomTypeDraft};
use holdfast_core::tee::{TeeSlot, TeeSlotId};
use holdfast_engine::store::{self, Store};
use holdfast_engine::{Answer, Engine, EngineSettings, Refused};
use holdfast_events::stream::Stream;

use crate::app::App;
use crate::calendar;
use crate::tee::bookings;

/// Time within which services learn of each other's slots.
const SLOTS_KNOWN_TIMEOUT: Duration = Duration::from_secs(5);
/// Interval at which that is checked.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// Fills an empty store; leaves any other as it is. Returns whether it was filled.
pub async fn fill(store: Arc<dyn Store>, settings: EngineSettings) -> Result<bool, Refused> {
    if !is_empty(&*store).await? {
        return Ok(false);
    }
    // There are no subscribers yet, but events for the outbox must still be rendered.
    let sink = Arc::new(Stream::new(store.outbox_last().await?, 1, store.is_split()));
    let (engine, thread) = Engine::start(store, sink, settings).map_err(|_| Refused::Internal)?;
    fill_hotel(&engine).await?;
    fill_shop(&engine).await?;
    calendar::demo::fill(&engine).await?;
    concert::fill(&engine).await?;
    golf::fill(&engine).await?;
    drop(engine);
    tokio::task::spawn_blocking(move || thread.join()).await.ok();
    Ok(true)
}

/// Waits until the booking service knows the tee times, at most `SLOTS_KNOWN_TIMEOUT`; a client can then book them at once.
pub async fn until_known(app: &App) -> Result<(), Refused> {
    let slots = app.store().list(List::of::<TeeSlot>(None, golf::SLOTS)).await?;
    let slots: Vec<TeeSlotId> = slots.into_iter().filter_map(|row| Some(row.read::<TeeSlot>()?.0)).collect();
    let began = Instant::now();
    while began.elapsed() < SLOTS_KNOWN_TIMEOUT && !bookings::are_slots_known(app, &slots).await.unwrap_or(false) {
        tokio::time::sleep(LOOK_EVERY).await;
    }
    Ok(())
}

async fn is_empty(store: &dyn Store) -> Result<bool, Refused> {
    let rooms: Vec<RoomType> = store::list(store, List::of::<RoomType>(None, 1)).await?;
    let products: Vec<Product> = store::list(store, List::of::<Product>(None, 1)).await?;
    let users: Vec<UserAccount> = store::list(store, List::of::<UserAccount>(None, 1)).await?;
    let by_the_hour: Vec<Room> = store::list(store, List::of::<Room>(None, 1)).await?;
    Ok(rooms.is_empty() && products.is_empty() && users.is_empty() && by_the_hour.is_empty())
}

async fn fill_hotel(engine: &Engine) -> Result<(), Refused> {
    let rooms = [
        ("스탠다드 더블", "더블 침대 하나, 시내 전망 · One double bed, city side", 12, 90_000),
        ("디럭스 오션뷰", "침대 둘, 바다 전망 · Two beds and the sea", 5, 150_000),
        ("온돌 스위트", "온돌방, 정원 전망 · A heated floor and the garden", 1, 320_000),
    ];
    for (name, description, total_quantity, base_price) in rooms {
        let draft = RoomTypeDraft {
            name: Some(name.into()),
            description: Some(Some(description.into())),
            total_quantity: Some(total_quantity),
            base_price: Some(base_price),
            ..RoomTypeDraft::default()
        };
        engine.run(CreateRoomType(draft), None).await?;
    }
    Ok(())
}

/// Creates products, two users with a balance, and a coupon for the first hundred orders.
async fn fill_shop(engine: &Engine) -> Result<(), Refused> {
    let beans = [
        (
            "에티오피아 예가체프 G1",
            vec![("ETH-HD-200", 21_000, 10), ("ETH-WB-200", 21_000, 8), ("ETH-WB-500", 45_000, 4)],
        ),
        ("콜롬비아 수프리모", vec![("COL-HD-200", 15_000, 20), ("COL-WB-500", 32_000, 16)]),
        ("과테말라 안티구아", vec![("GTM-WB-200", 18_000, 1)]),
    ];
    for (name, options) in beans {
        let options = options.into_iter().map(|(option_code, price, stock_quantity): (&str, i64, u32)| OptionDraft {
            option_code: option_code.into(),
            price,
            stock_quantity,
            is_active: true,
        });
        let create = CreateProduct { name: name.into(), currency: None, options: options.collect() };
        engine.run(create, None).await?;
    }
    for (name, amount) in [("손님 하나", 300_000), ("손님 둘", 50_000)] {
        let account = engine.run(CreateUser { id: None, name: name.into(), currency: None }, None).await?;
        let Answer::Fresh(account) = account else { return Err(Refused::Internal) };
        engine.run(AddBalance { user: account.id, amount }, None).await?;
    }
    let code = CouponCode::parse("code", "WELCOME10").map_err(Refused::Rejected)?;
    let discount = Discount::Percent(10);
    engine.run(CreateCoupon { code, discount, currency: None, max_uses: 100, valid_until: None }, None).await?;
    Ok(())
}

/// Returns a shell command that holds a room for user 42.
pub fn first_hold(url: &str, today: jiff::civil::Date) -> String {
    let day = |days: i32| today.saturating_add(jiff::Span::new().days(days));
    let (check_in, check_out) = (day(7), day(9));
    let key = "6f1c4e1a-8a52-4f6e-9d35-0c8f1f3b7a10";
    let body = format!(r#"{{"roomTypeId":1,"checkIn":"{check_in}","checkOut":"{check_out}","clientHoldKey":"{key}"}}"#);
    format!("curl {url}/v1/holds -H 'X-User-Id: 42' -d '{body}'")
}
