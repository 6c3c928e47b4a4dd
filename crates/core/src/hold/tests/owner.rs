//! Live holds of owners with more holds than fit into one row.

use super::*;
use crate::hold::owner::{self, HOLDS_PER_ROW_MAX};
use crate::table::TableState;
use crate::testing::Dice;

impl Market {
    fn owned(&self, user: &UserId) -> (u32, Vec<HoldId>) {
        let live = self.world.ask(|rows, at| owner::live(rows, Kind::Shop, user, at.now)).unwrap();
        (live, self.world.ask(|rows, at| owner::ids(rows, Kind::Shop, user, at.now)).unwrap())
    }
}

#[test]
fn owner_rows_list_live_holds() {
    for seed in 1..=4 {
        let (mut market, mut dice) = (Market::new(1_000), Dice::new(seed));
        market.world.limits.hold.lifetime_max = Span::from_hours(2);
        let mut holds: Vec<Hold> = Vec::new();
        for step in 0..600 {
            match dice.roll(8) {
                0 => market.world.wait(Span::from_millis(dice.roll(900) as i64)),
                1 if !holds.is_empty() => {
                    let hold = holds.swap_remove(dice.roll(holds.len() as u64) as usize);
                    market.cancel(&hold, &Actor::Admin).unwrap();
                }
                2 if !holds.is_empty() => {
                    let index = dice.roll(holds.len() as u64) as usize;
                    if let Ok(extended) = market.extend(&holds[index], Actor::Admin, NewEnd::Later(Span::from_secs(5)))
                    {
                        holds[index] = extended;
                    }
                }
                _ => {
                    let ttl = Span::from_secs(1 + dice.roll(600) as i64);
                    let (owner, claims) = (user(1), vec![Claim::Stock { option: 0, quantity: 1 }]);
                    holds.push(market.place(Terms { owner, origin: Origin::Claim, ttl, claims }, &[]));
                }
            }
            let now = market.world.now;
            holds.retain(|hold| hold.is_live(now));
            if step % 20 == 0 {
                let mut expected: Vec<HoldId> = holds.iter().map(|hold| hold.id).collect();
                expected.sort_unstable();
                assert_eq!(market.owned(&user(1)), (expected.len() as u32, expected), "seed {seed}, step {step}");
            }
        }
        assert!(holds.len() > 2 * HOLDS_PER_ROW_MAX, "seed {seed} fills more than one row");
        let listed = market.world.memory.owner_holds.rows().map(|(_, row)| row.listed().len()).max();
        assert!(listed.is_some_and(|listed| listed <= HOLDS_PER_ROW_MAX), "seed {seed}: {listed:?}");
        market.world.memory.owner_holds = TableState::complete();
        market.world.memory.held = TableState::complete();
        for hold in &holds {
            market.world.index(hold);
        }
        assert_eq!(market.owned(&user(1)).0, holds.len() as u32, "a start indexes all holds");
        market.world.wait(Span::from_hours(3));
        assert_eq!(market.owned(&user(1)), (0, Vec::new()));
    }
}
