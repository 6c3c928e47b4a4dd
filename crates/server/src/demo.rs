//! Something to look at: a small hotel and a concert in an empty store, and requests that work as printed.

mod concert;

use std::sync::Arc;

use holdfast_core::stay::RoomType;
use holdfast_core::stay::room_type::{CreateRoomType, RoomTypeDraft};
use holdfast_engine::store::{self, Store};
use holdfast_engine::{Engine, EngineSettings, NoSink, Refused};
use holdfast_records::List;

/// Fills an empty store; leaves any other as it is. Says whether it did.
pub async fn fill(store: Arc<dyn Store>, settings: EngineSettings) -> Result<bool, Refused> {
    let taken: Vec<RoomType> = store::list(&*store, List::of::<RoomType>(None, 1)).await?;
    if !taken.is_empty() {
        return Ok(false);
    }
    let (engine, thread) = Engine::start(store, Arc::new(NoSink), settings).map_err(|_| Refused::Internal)?;
    let rooms = [
        ("스탠다드 더블", "One double bed, city side.", 12, 90_000),
        ("디럭스 오션뷰", "Two beds and the sea.", 5, 150_000),
        ("온돌 스위트", "A heated floor and a view of the garden.", 1, 320_000),
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
    concert::fill(&engine).await?;
    drop(engine);
    tokio::task::spawn_blocking(move || thread.join()).await.ok();
    Ok(true)
}

/// A handful of requests, each of which can be pasted into a shell.
pub fn requests(url: &str, today: jiff::civil::Date) -> String {
    let day = |days: i32| today.saturating_add(jiff::Span::new().days(days));
    let (check_in, check_out) = (day(7), day(9));
    let concert = concert::requests(url);
    format!(
        r#"  # what there is, and what of it is free
  curl '{url}/v1/room-types'
  curl '{url}/v1/room-types/1/availability?checkIn={check_in}&checkOut={check_out}'

  # hold a room for user 42: ten minutes to pay
  curl -X POST '{url}/v1/holds' -H 'X-User-Id: 42' -H 'Content-Type: application/json' \
    -d '{{"roomTypeId":1,"checkIn":"{check_in}","checkOut":"{check_out}","clientHoldKey":"6f1c4e1a-8a52-4f6e-9d35-0c8f1f3b7a10"}}'

  # hold another and confirm it at once
  curl -X POST "{url}/v1/holds/$(curl -s -X POST '{url}/v1/holds' -H 'X-User-Id: 43' \
    -d '{{"roomTypeId":1,"checkIn":"{check_in}","checkOut":"{check_out}","clientHoldKey":"0f0e8f3c-35a4-4c39-8f0a-2f1f5a9d7e11"}}' \
    | grep -o '"holdId":"[^"]*"' | cut -d'"' -f4)/confirm" -H 'X-User-Id: 43'

{concert}
  # watch what happens, from another shell
  curl -N '{url}/v1/stream'
"#
    )
}
