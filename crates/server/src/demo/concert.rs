//! A concert with a seat plan and a waiting room.

use holdfast_core::ticket::event::{CreateEvent, EventDraft};
use holdfast_core::ticket::plan::SeatDraft;
use holdfast_engine::{Engine, Refused};

/// Creates a concert: two expensive rows, and six cheaper ones.
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
