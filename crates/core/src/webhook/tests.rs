//! Life of webhooks and deliveries, on complete tables in memory.

use super::attempt::{ClaimDeliveries, Claimed, RETRY_AFTER_MAX, ReportAttempt, Tried};
use super::delivery::{ForgetDeliveries, RetryDelivery};
use super::enqueue::{Candidate, EnqueueDeliveries, Mark};
use super::subscription::{CreateWebhook, DeleteWebhook, EnableWebhook};
use super::*;
use crate::audit::Audit;
use crate::rejection::{Rejection, WebhookRejection};
use crate::relay::{LeaseRelays, Partition};
use crate::testing::World;
use crate::time::Timestamp;

const LEASE: Span = Span::from_secs(45);

fn create(world: &mut World, types: &str) -> Webhook {
    let command = CreateWebhook {
        url: "https://example.com".into(),
        types: EventTypes::parse(types),
        secret: "whsec_x".into(),
        outbox_last: 0,
    };
    world.run(&command).unwrap()
}

fn event(number: u64, event_type: &str) -> Candidate {
    Candidate {
        name: EventName(number.to_string().into()),
        event_type: event_type.into(),
        at: Timestamp::from_millis(1),
        data: "{}".into(),
        number: Some(number),
    }
}

fn fan_out(world: &mut World, events: &[Candidate]) -> usize {
    world.run(&EnqueueDeliveries { events: events.to_vec(), mark: None }).unwrap()
}

fn all_due(world: &World) -> Vec<DueId> {
    let mut due: Vec<DueId> = world.memory.webhook.due.rows().map(|(id, _)| *id).collect();
    due.sort_unstable();
    due
}

/// Claims all due deliveries.
fn claim(world: &mut World) -> Vec<Claimed> {
    let due = all_due(world);
    world.run(&ClaimDeliveries { due, lease: LEASE }).unwrap().ready
}

fn report(world: &mut World, claimed: &Claimed, tried: Tried) -> Option<DeliveryStatus> {
    let (delivery, attempt) = (claimed.delivery, claimed.attempt);
    world.run(&ReportAttempt { delivery, attempt, tried, jitter: 0 }).unwrap()
}

fn failed() -> Tried {
    refused_until(None)
}

fn refused_until(retry_after: Option<Span>) -> Tried {
    Tried::Failed { status: Some(500), error: "answered 500".into(), retry_after }
}

fn delivery(world: &World, number: u64) -> Option<Delivery> {
    let id = DeliveryId::new(number).unwrap();
    world.ask(|rows, _| Ok(rows.webhook.deliveries.get(&id)?.cloned())).unwrap()
}

/// Audits all rows.
fn check(world: &World) {
    let mut audit = Audit::new(world.now);
    let tables = &world.memory.webhook;
    tables.events.rows().for_each(|(name, event)| audit.webhook.event(name, event));
    tables.deliveries.rows().for_each(|(_, delivery)| audit.webhook.delivery(delivery));
    tables.due.rows().for_each(|(due, _)| audit.webhook.due(*due));
    assert_eq!(audit.finish(), [""; 0]);
}

#[test]
fn event_is_delivered_once_per_subscription() {
    let mut world = World::new();
    create(&mut world, "order.");
    create(&mut world, "");
    create(&mut world, "booking.confirmed");
    let events = [event(1, "order.paid"), event(2, "seat.reserved")];
    assert_eq!(fan_out(&mut world, &events), 3);
    assert_eq!(fan_out(&mut world, &events), 0, "they were fanned out before");
    let log: Vec<_> = (1..=3).map(|number| delivery(&world, number).unwrap()).collect();
    let actual: Vec<_> = log.iter().map(|it| (it.webhook.get(), &*it.event.0, it.status())).collect();
    assert_eq!(
        actual,
        [1, 2, 2].iter().zip(["1", "1", "2"]).map(|(w, e)| (*w, e, DeliveryStatus::Pending)).collect::<Vec<_>>()
    );
    check(&world);
}

#[test]
fn webhook_gets_no_events_before_its_creation() {
    let mut world = World::new();
    let command = CreateWebhook {
        url: "https://example.com".into(),
        types: EventTypes::default(),
        secret: "whsec_x".into(),
        outbox_last: 7,
    };
    world.run(&command).unwrap();
    assert_eq!(fan_out(&mut world, &[event(7, "order.paid"), event(8, "order.paid")]), 1);
    assert_eq!(&*delivery(&world, 1).unwrap().event.0, "8");
}

#[test]
fn outbox_position_requires_the_lease() {
    let mut world = World::new();
    create(&mut world, "");
    let lease =
        LeaseRelays { server: 5, wanted: vec![Partition::WEBHOOKS], is_alone: false, yields: false, ends_own: false };
    world.run(&lease).unwrap();
    let read = |server, up_to, numbers: &[u64]| EnqueueDeliveries {
        events: numbers.iter().map(|number| event(*number, "order.paid")).collect(),
        mark: Some(Mark { server, up_to }),
    };
    assert_eq!(world.run(&read(5, 2, &[1, 2])), Ok(2));
    assert_eq!(world.run(&read(6, 3, &[3])), Err(Rejection::LeaseLost));
    assert_eq!(delivery(&world, 3), None, "the rejected command has no effect");
    assert_eq!(world.run(&read(5, 3, &[2, 3])), Ok(1));
    assert_eq!(world.run(&lease).unwrap().held[0].1.sent_up_to, 3);
}

#[test]
fn claim_excludes_other_servers_until_it_ends() {
    let mut world = World::new();
    create(&mut world, "");
    fan_out(&mut world, &[event(1, "order.paid")]);
    let due = all_due(&world);
    let first = claim(&mut world).remove(0);
    let late = world.run(&ClaimDeliveries { due, lease: LEASE }).unwrap();
    assert_eq!((late.ready.len(), late.dropped), (0, 0), "another server was first");
    assert_eq!(claim(&mut world).len(), 0, "it is not due");
    world.wait(LEASE);
    let second = claim(&mut world).remove(0);
    assert_eq!((first.attempt, second.attempt), (1, 2));
    assert_eq!(report(&mut world, &first, failed()), None, "the claim had ended");
    assert_eq!(report(&mut world, &second, Tried::Accepted { status: 200 }), Some(DeliveryStatus::Delivered));
    assert_eq!(report(&mut world, &second, failed()), None, "it is delivered");
    assert_eq!(delivery(&world, 1).unwrap().last_status, Some(200));
    check(&world);
}

#[test]
fn failed_delivery_is_retried_then_fails() {
    let mut world = World::new();
    world.limits.webhook.retry_after = vec![Span::from_secs(5), Span::from_secs(300)].into();
    let webhook = create(&mut world, "").id;
    fan_out(&mut world, &[event(1, "order.paid")]);
    let id = DeliveryId::new(1).unwrap();
    let retry = RetryDelivery { webhook, id };
    let pending = WebhookRejection::WebhookDeliveryNotFailed { status: DeliveryStatus::Pending };
    assert_eq!(world.run(&retry), Err(pending.into()));
    for round in [0, 3] {
        for (failures, wait) in [(1, 5), (2, 300)] {
            let claimed = claim(&mut world).remove(0);
            assert_eq!(claimed.attempt, round + failures);
            assert_eq!(report(&mut world, &claimed, failed()), Some(DeliveryStatus::Pending));
            let due = world.now + Span::from_secs(wait);
            assert_eq!(delivery(&world, 1).unwrap().next_attempt_at(), Some(due));
            world.wait(Span::from_secs(wait));
        }
        let claimed = claim(&mut world).remove(0);
        assert_eq!(report(&mut world, &claimed, failed()), Some(DeliveryStatus::Failed));
        assert_eq!(all_due(&world), []);
        check(&world);
        assert_eq!(world.run(&retry).unwrap().status(), DeliveryStatus::Pending);
    }
    let of_other_webhook = RetryDelivery { webhook: create(&mut world, "").id, id };
    assert_eq!(world.run(&of_other_webhook), Err(WebhookRejection::WebhookDeliveryNotFound.into()));
    check(&world);
}

#[test]
fn jitter_adds_up_to_a_fifth() {
    let mut world = World::new();
    create(&mut world, "");
    fan_out(&mut world, &[event(1, "order.paid")]);
    let claimed = claim(&mut world).remove(0);
    let (delivery_id, attempt) = (claimed.delivery, claimed.attempt);
    world.run(&ReportAttempt { delivery: delivery_id, attempt, tried: failed(), jitter: 9_999 }).unwrap();
    assert_eq!(delivery(&world, 1).unwrap().next_attempt_at(), Some(world.now + Span::from_millis(6_000)));
}

#[test]
fn retry_after_prolongs_a_wait_within_bounds() {
    let mut world = World::new();
    world.limits.webhook.retry_after = vec![Span::from_secs(300); 3].into();
    create(&mut world, "");
    fan_out(&mut world, &[event(1, "order.paid")]);
    let (shorter, longer, endless) = (Span::from_secs(1), Span::from_hours(5), Span::from_hours(24 * 365));
    for (asked, wait) in [(shorter, Span::from_secs(300)), (longer, longer), (endless, RETRY_AFTER_MAX)] {
        let claimed = claim(&mut world).remove(0);
        assert_eq!(report(&mut world, &claimed, refused_until(Some(asked))), Some(DeliveryStatus::Pending));
        assert_eq!(delivery(&world, 1).unwrap().next_attempt_at(), Some(world.now + wait));
        world.wait(wait);
    }
    let claimed = claim(&mut world).remove(0);
    let last = report(&mut world, &claimed, refused_until(Some(longer)));
    assert_eq!(last, Some(DeliveryStatus::Failed), "it adds no attempt to the schedule");
}

#[test]
fn gone_receiver_gets_nothing_until_enabled() {
    let mut world = World::new();
    let webhook = create(&mut world, "").id;
    fan_out(&mut world, &[event(1, "order.paid"), event(2, "order.paid")]);
    let claimed = claim(&mut world);
    assert_eq!(report(&mut world, &claimed[0], Tried::Gone { status: 410 }), Some(DeliveryStatus::Failed));
    world.wait(LEASE);
    assert_eq!(claim(&mut world), [], "its other deliveries fail");
    assert_eq!(delivery(&world, 2).unwrap().status(), DeliveryStatus::Failed);
    assert_eq!(fan_out(&mut world, &[event(3, "order.paid")]), 0);
    let retry = RetryDelivery { webhook, id: DeliveryId::new(2).unwrap() };
    assert_eq!(world.run(&retry), Err(WebhookRejection::WebhookDisabled.into()));
    assert_eq!(world.run(&EnableWebhook { id: webhook }).unwrap().disabled_at, None);
    assert_eq!(world.run(&retry).unwrap().status(), DeliveryStatus::Pending);
    assert_eq!(fan_out(&mut world, &[event(4, "order.paid")]), 1);
    check(&world);
}

#[test]
fn deliveries_of_deleted_webhook_are_removed() {
    let mut world = World::new();
    let deleted = create(&mut world, "").id;
    create(&mut world, "");
    fan_out(&mut world, &[event(1, "order.paid")]);
    world.run(&DeleteWebhook { id: deleted }).unwrap();
    assert_eq!(world.run(&DeleteWebhook { id: deleted }), Err(WebhookRejection::WebhookNotFound.into()));
    assert_eq!(claim(&mut world).len(), 1);
    assert_eq!(delivery(&world, 1), None);
    check(&world);
}

#[test]
fn old_deliveries_and_their_events_are_purged() {
    let mut world = World::new();
    create(&mut world, "");
    create(&mut world, "");
    fan_out(&mut world, &[event(1, "order.paid")]);
    let claimed = claim(&mut world);
    report(&mut world, &claimed[0], Tried::Accepted { status: 200 });
    world.wait(Span::from_hours(1));
    let purge = |world: &mut World| {
        let ids = [1, 2].map(|number| DeliveryId::new(number).unwrap()).to_vec();
        let created_before = world.now;
        world.run(&ForgetDeliveries { ids, created_before }).unwrap()
    };
    assert_eq!(purge(&mut world), 1, "the other is still pending");
    check(&world);
    let claimed = claim(&mut world);
    report(&mut world, &claimed[0], Tried::Accepted { status: 200 });
    assert_eq!(purge(&mut world), 1);
    assert_eq!(world.memory.webhook.events.rows().count(), 0);
    check(&world);
}

#[test]
fn number_of_webhooks_is_bounded() {
    let mut world = World::new();
    for _ in 0..WEBHOOKS_MAX {
        create(&mut world, "");
    }
    let command = CreateWebhook {
        url: "https://example.com".into(),
        types: EventTypes::default(),
        secret: "whsec_x".into(),
        outbox_last: 0,
    };
    let rejection = WebhookRejection::TooManyWebhooks { max: WEBHOOKS_MAX };
    assert_eq!(world.run(&command), Err(rejection.into()));
    assert_eq!(fan_out(&mut world, &[event(1, "order.paid")]), WEBHOOKS_MAX);
    check(&world);
}

#[test]
fn claiming_many_takes_few_load_rounds() {
    let mut world = World::new();
    create(&mut world, "");
    let events: Vec<_> = (1..=100).map(|number| event(number, "order.paid")).collect();
    fan_out(&mut world, &events);
    assert_eq!(claim(&mut world).len(), 100);
    assert!(world.loads.get() <= 4, "{}", world.loads.get());
}
