//! Demo rooms in different time zones and with different operating hours.

use holdfast_core::Command;
use holdfast_core::calendar::generation::GenerateSlots;
use holdfast_core::calendar::rebuild::SetOperatingHours;
use holdfast_core::calendar::room::{CreateRoom, Peak, RoomDraft};
use holdfast_core::calendar::{LocalTime, OpenInterval, RoomId, Weekdays};
use holdfast_engine::{Answer, Engine, Refused};
use jiff::civil::Weekday;

struct DemoRoom {
    name: &'static str,
    time_zone: &'static str,
    country: &'static str,
    currency: &'static str,
    slot_minutes: u32,
    base_price: i64,
    from: &'static str,
    to: &'static str,
    on_weekends: bool,
}

const ROOMS: [DemoRoom; 3] = [
    DemoRoom {
        name: "강남 회의실 A",
        time_zone: "Asia/Seoul",
        country: "KR",
        currency: "KRW",
        slot_minutes: 60,
        base_price: 20_000,
        from: "09:00",
        to: "22:00",
        on_weekends: true,
    },
    DemoRoom {
        name: "Berlin studio",
        time_zone: "Europe/Berlin",
        country: "DE",
        currency: "EUR",
        slot_minutes: 30,
        base_price: 1_500,
        from: "08:00",
        to: "18:00",
        on_weekends: false,
    },
    DemoRoom {
        name: "New York rehearsal room",
        time_zone: "America/New_York",
        country: "US",
        currency: "USD",
        slot_minutes: 90,
        base_price: 4_500,
        from: "18:00",
        to: "03:00",
        on_weekends: true,
    },
];

pub async fn fill(engine: &Engine) -> Result<(), Refused> {
    for room in &ROOMS {
        let id = run(engine, CreateRoom(room.draft())).await?.id;
        run(engine, room.hours(id)).await?;
        while !run(engine, GenerateSlots { room: id, until: None }).await?.done {}
    }
    Ok(())
}

async fn run<C: Command>(engine: &Engine, command: C) -> Result<C::Outcome, Refused> {
    match engine.run(command, None).await? {
        Answer::Fresh(outcome) => Ok(outcome),
        Answer::Recorded(_) | Answer::Replayed(_) => unreachable!("nothing is kept without a key"),
    }
}

impl DemoRoom {
    fn draft(&self) -> RoomDraft {
        let evening = Peak {
            days: [Weekday::Friday, Weekday::Saturday].into_iter().collect::<Weekdays>(),
            from: time("18:00"),
            to: time("24:00"),
            percent: 50,
        };
        RoomDraft {
            name: Some(self.name.into()),
            time_zone: Some(self.time_zone.into()),
            country: Some(self.country.into()),
            currency: Some(self.currency.into()),
            slot_minutes: Some(self.slot_minutes),
            base_price: Some(self.base_price),
            peak: Some(vec![evening]),
            holiday_percent: Some(30),
            active: None,
        }
    }

    fn hours(&self, room: RoomId) -> SetOperatingHours {
        let open = vec![OpenInterval { from: time(self.from), to: time(self.to) }];
        let weekend = if self.on_weekends { open.clone() } else { Vec::new() };
        let [mon, tue, wed, thu] = std::array::from_fn(|_| open.clone());
        SetOperatingHours { room, weekly: [mon, tue, wed, thu, open, weekend.clone(), weekend], exceptions: Vec::new() }
    }
}

fn time(text: &str) -> LocalTime {
    LocalTime::parse_end(text).expect("times of the demo are valid")
}
