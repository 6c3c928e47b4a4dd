//! A golf club with a few mornings to book.

use holdfast_core::tee::StartTime;
use holdfast_core::tee::course::CreateCourse;
use holdfast_core::tee::slot::{CreateSlots, SlotDraft};
use holdfast_engine::{Answer, Engine, Refused};

/// Number of days for which slots are generated.
const DAYS: i32 = 14;
const STARTS: [&str; 4] = ["08:00", "08:10", "08:20", "08:30"];
pub(super) const SLOTS: usize = DAYS as usize * STARTS.len();

pub(super) async fn fill(engine: &Engine) -> Result<(), Refused> {
    let create = CreateCourse { name: "한강 파크골프장".into(), time_zone: None };
    let Answer::Fresh(course) = engine.run(create, None).await? else { return Err(Refused::Internal) };
    let now = engine.query(|_, at| Ok(at.now)).await?;
    let today = course.zone.today(now);
    let mut slots = Vec::new();
    for days in 1..=DAYS {
        for start in STARTS {
            slots.push(SlotDraft {
                date: today.saturating_add(jiff::Span::new().days(days)),
                start: StartTime::parse(start).ok_or(Refused::Internal)?,
                max_players: 4,
                price: 12_000,
                currency: None,
            });
        }
    }
    engine.run(CreateSlots { course: course.id, slots }, None).await?;
    Ok(())
}
