//! A concert with a seat plan and a waiting room.

use holdfast_core::ticket::event::{CreateEvent, EventDraft};
use holdfast_core::ticket::plan::SeatDraft;
use holdfast_engine::{Engine, Refused};

/// A concert: two rows for those who pay more, six for the others.
pub(super) async fn fill(engine: &Engine) -> Result<(), Refused> {
    let rows = [("VIP", 'A'..='B', 10, 150_000), ("R", 'C'..='H', 14, 99_000)];
    let seats = rows.into_iter().flat_map(|(section, letters, length, price)| {
        letters.flat_map(move |letter| {
            (1..=length).map(move |number| SeatDraft {
                label: format!("{letter}{number}"),
                section: Some(section.to_owned()),
                price,
            })
        })
    });
    let draft = EventDraft { name: Some("봄밤 콘서트".into()), max_concurrent: Some(20), ..EventDraft::default() };
    engine.run(CreateEvent { draft, currency: None, seats: seats.collect() }, None).await?;
    Ok(())
}

/// From the seat plan to two seats side by side.
pub(super) fn requests(url: &str) -> String {
    format!(
        r#"  # a concert: look at its seats, stand in line, come in
  curl '{url}/v1/events/1/seats'
  curl -X POST '{url}/v1/events/1/queue' -H 'X-User-Id: 42'
  curl '{url}/v1/events/1/queue' -H 'X-User-Id: 42'
  curl -X POST '{url}/v1/events/1/queue/enter' -H 'X-User-Id: 42'

  # hold the best two seats side by side, then reserve them: five minutes to pay in between
  curl -X POST '{url}/v1/events/1/seats/best' -H 'X-User-Id: 42' -H 'Content-Type: application/json' -d '{{"count":2}}'
  curl -X POST '{url}/v1/events/1/seats/reserve' -H 'X-User-Id: 42' -H 'Content-Type: application/json' \
    -d '{{"seatIds":[1000001,1000002]}}'
"#
    )
}
