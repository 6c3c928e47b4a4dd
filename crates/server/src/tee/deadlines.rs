//! Deadlines of bookings: a booking whose saga takes too long fails.

use std::time::Duration;

use futures_util::future::join_all;
use holdfast_core::schema::tee;
use holdfast_core::tee::saga::TimeOutBooking;
use holdfast_core::tee::{Booking, BookingStatus};
use holdfast_engine::Answer;

use crate::app::App;
use crate::problem::Problem;

/// Bookings per page of the sweep.
const SWEEP_PAGE: usize = 500;

/// Fails bookings whose saga has passed its deadline.
pub(super) async fn sweep(app: App, every: Duration) {
    let mut due = tokio::time::interval(every);
    loop {
        tokio::select! {
            () = app.stopped() => return,
            _ = due.tick() => {}
        }
        if let Err(error) = time_out_all(&app).await {
            tracing::warn!(
                code = error.code.as_str(),
                "[SagaScheduler] overdue bookings could not be read; the sweep is repeated"
            );
        }
    }
}

async fn time_out_all(app: &App) -> Result<(), Problem> {
    let now = app.query(|_, at| Ok(at.now)).await?;
    let mut after = None;
    loop {
        let page: Vec<Booking> = app.list(tee::bookings(None, Some(BookingStatus::Pending), after, SWEEP_PAGE)).await?;
        let overdue = page.iter().filter(|booking| booking.deadline <= now);
        let failing = overdue.map(|booking| app.engine().run(TimeOutBooking { id: booking.id }, None));
        for failed in join_all(failing).await {
            if let Ok(Answer::Fresh(Some(booking))) = failed {
                tracing::info!(bookingId = booking.id.get(), "[SagaScheduler] timed out");
            }
        }
        match page.last() {
            Some(last) if page.len() == SWEEP_PAGE => after = Some(last.id),
            _ => return Ok(()),
        }
    }
}
