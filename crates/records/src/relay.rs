//! Schema of the outbox relay.

use holdfast_core::audit::Audit;
use holdfast_core::relay::{Partition, Relay, Trouble, TroubleId};

use crate::cell::{Cells, FromCell, Taken, ToCell, Value};
use crate::layout::{Layout, big, boolean, int, moment};
use crate::list::{Filter, List};
use crate::record::Record;

impl ToCell for Partition {
    fn to_cell(&self) -> Value<'_> {
        self.get().into()
    }
}

impl FromCell for Partition {
    fn from_cell(cell: Value<'_>) -> Option<Self> {
        Self::new(u32::from_cell(cell)?)
    }
}

impl Record for Relay {
    type Key = Partition;

    const LAYOUT: &'static Layout = &Layout {
        table: "outbox_relay",
        key: &[int("partition_no")],
        fixed: &[],
        changing: &[big("sent_up_to"), big("leased_by"), moment("leased_until")],
        parts: None,
    };

    fn put_key<'a>(key: &'a Partition, cells: &mut Cells<'a>) {
        cells.add(key);
    }

    fn put<'a>(&'a self, _key: &'a Partition, cells: &mut Cells<'a>) {
        cells.add(&self.sent_up_to).add(&self.leased_by).add(&self.leased_until);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(Partition, Self)> {
        let key = cells.take()?;
        Some((key, Self { sent_up_to: cells.take()?, leased_by: cells.take()?, leased_until: cells.take()? }))
    }

    fn show(_key: &Partition, _row: &Self, _audit: &mut Audit) {}
}

impl Record for Trouble {
    type Key = TroubleId;

    const LAYOUT: &'static Layout = &Layout {
        table: "outbox_trouble",
        key: &[big("outbox_id")],
        fixed: &[int("partition_no")],
        changing: &[int("retry_count"), moment("next_try_at"), boolean("failed")],
        parts: None,
    };

    fn put_key<'a>(key: &'a TroubleId, cells: &mut Cells<'a>) {
        cells.add(&key.event);
    }

    fn put<'a>(&'a self, _key: &'a TroubleId, cells: &mut Cells<'a>) {
        cells.add(&self.partition).add(&self.retries).add(&self.next_try_at).add(&self.failed);
    }

    fn take(cells: &mut Taken<'_>, _lines: Vec<Taken<'_>>) -> Option<(TroubleId, Self)> {
        let key = TroubleId { event: cells.take()? };
        let trouble = Self {
            partition: cells.take()?,
            retries: cells.take()?,
            next_try_at: cells.take()?,
            failed: cells.take()?,
        };
        Some((key, trouble))
    }

    fn show(_key: &TroubleId, _row: &Self, _audit: &mut Audit) {}
}

/// Lists failed and waiting events in order of number: all, dead letters only, or others only.
pub fn troubles(failed: Option<bool>, after: Option<TroubleId>, limit: usize) -> List {
    let mut list = List::of::<Trouble>(after.as_ref(), limit);
    list.filters.extend(failed.map(|failed| Filter::Is("failed", Value::Bool(failed))));
    list
}
