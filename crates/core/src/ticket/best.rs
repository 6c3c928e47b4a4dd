//! Which free seats are the best. Seats side by side are better than seats apart, earlier ones better than later ones, and
//! no single free seat should be left between others, where nobody would buy it.
//!
//! This is geometry: it knows the plan and which seats are taken, and nothing of holds, users or time.

use std::collections::HashMap;
use std::sync::Arc;

use super::PlannedSeat;

/// Seats that stand side by side: of one section, with the same text before consecutive numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatRow {
    pub section: Option<Arc<str>>,
    /// Places in the plan, counted from 0, from the lowest number to the highest.
    pub places: Vec<u32>,
}

/// The rows of a plan, in the order in which the plan first mentions them. It need not list the seats of a row together,
/// nor in order. A seat whose label ends in no number stands alone.
pub fn rows_of(seats: &[PlannedSeat]) -> Vec<SeatRow> {
    /// Number and place of a seat.
    type Numbered = (u64, u32);
    let mut alone = Vec::new();
    let mut groups: HashMap<(Option<&str>, &str), Vec<Numbered>> = HashMap::new();
    for (place, seat) in (0..).zip(seats) {
        match split_number(&seat.label) {
            Some((text, number)) => {
                groups.entry((seat.section.as_deref(), text)).or_default().push((number, place));
            }
            None => alone.push(vec![place]),
        }
    }
    let mut runs = alone;
    for (_, mut numbered) in groups {
        numbered.sort_unstable();
        let next_to = |left: &Numbered, right: &Numbered| left.0 + 1 == right.0;
        let side_by_side = numbered.chunk_by(next_to);
        runs.extend(side_by_side.map(|run| run.iter().map(|(_, place)| *place).collect::<Vec<u32>>()));
    }
    runs.sort_unstable_by_key(|run| run.iter().copied().min());
    runs.into_iter().map(|places| SeatRow { section: seats[places[0] as usize].section.clone(), places }).collect()
}

/// The best `count` free seats of these rows, as places of the plan in ascending order; `None` if fewer are free.
///
/// - Side by side if possible: the first block in the order of rows that leaves no single free seat beside it, else the
///   first there is.
/// - Else in as few pieces as possible, that is in the largest there are, the last of them chosen like a block.
pub fn choose<'a>(
    rows: impl Iterator<Item = &'a SeatRow>,
    is_taken: impl Fn(u32) -> bool,
    count: usize,
) -> Option<Vec<u32>> {
    let mut gaps: Vec<&[u32]> = rows.flat_map(|row| gaps_of(&row.places, &is_taken)).collect();
    if gaps.iter().map(|gap| gap.len()).sum::<usize>() < count {
        return None;
    }
    let mut chosen = Vec::with_capacity(count);
    while chosen.len() < count {
        let rest = count - chosen.len();
        if let Some(block) = block_in(&gaps, rest) {
            chosen.extend_from_slice(block);
        } else {
            // The first of the largest: `max_by_key` would give the last.
            let largest = (0..gaps.len()).rev().max_by_key(|index| gaps[*index].len())?;
            chosen.extend_from_slice(gaps.remove(largest));
        }
    }
    chosen.sort_unstable();
    Some(chosen)
}

/// A block of `count` at the beginning of a gap. Anywhere else in the gap would be no better: what is left of a gap is
/// one piece this way, and a single seat only if the gap is larger by just one.
fn block_in<'a>(gaps: &[&'a [u32]], count: usize) -> Option<&'a [u32]> {
    let fits = |gap: &&&[u32]| gap.len() >= count;
    let orphans_none = |gap: &&&[u32]| gap.len() != count + 1;
    let gap = gaps.iter().filter(fits).find(orphans_none).or_else(|| gaps.iter().find(fits))?;
    Some(&gap[..count])
}

/// The longest runs of free seats in a row.
fn gaps_of<'a>(places: &'a [u32], is_taken: &impl Fn(u32) -> bool) -> Vec<&'a [u32]> {
    places.split(|place| is_taken(*place)).filter(|gap| !gap.is_empty()).collect()
}

/// `A-12` is 12 after `A-`.
fn split_number(label: &str) -> Option<(&str, u64)> {
    let text = label.trim_end_matches(|char: char| char.is_ascii_digit());
    // Digits too many for a number are a name, not a number.
    let number = label[text.len()..].parse().ok().filter(|number| *number < u64::MAX)?;
    Some((text, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    /// Labels, each after its section and a stroke if it has one.
    fn plan(labels: &[&str]) -> Vec<PlannedSeat> {
        let seat = |text: &&str| {
            let (section, label) = text.rsplit_once('/').unwrap_or(("", text));
            let section = (!section.is_empty()).then(|| section.into());
            PlannedSeat { label: label.into(), section, price: 1 }
        };
        labels.iter().map(seat).collect()
    }

    #[test]
    fn seats_stand_side_by_side_if_section_and_text_are_the_same_and_numbers_follow() {
        let check = |labels: &[&str], expected: &[&[u32]]| {
            let rows: Vec<Vec<u32>> = rows_of(&plan(labels)).into_iter().map(|row| row.places).collect();
            assert_eq!(rows, expected, "{labels:?}");
        };
        check(&["A1", "A2", "A3"], &[&[0, 1, 2]]);
        check(&["A1", "A2", "B3"], &[&[0, 1], &[2]]);
        check(&["A1", "A2", "A4"], &[&[0, 1], &[2]]);
        check(&["A09", "A10"], &[&[0, 1]]);
        check(&["1", "2", "3"], &[&[0, 1, 2]]);
        check(&["X/1", "Y/2", "3"], &[&[0], &[1], &[2]]);
        check(&["box", "lodge", "A1", "lodge 1"], &[&[0], &[1], &[2], &[3]]);
        // The plan need not be in order: the row is, and it counts from where it is first mentioned.
        check(&["B1", "A3", "A1", "A2", "B2"], &[&[0, 4], &[2, 3, 1]]);
        // The same number twice is not side by side with itself.
        check(&["A1", "A01", "A2"], &[&[0], &[1, 2]]);
        check(&["열1", "열2"], &[&[0, 1]]);
        check(&["A99999999999999999999999", "A18446744073709551615"], &[&[0], &[1]]);
    }

    /// Rows as text, `.` free and `#` taken; in the answer the chosen seats are `o`.
    fn check(rows: &str, count: usize, expected: Option<&str>) {
        let chosen = chosen(rows, count);
        let drawn = chosen.map(|chosen| {
            let mut place = 0;
            let mut draw = |char: char| {
                if char == ' ' {
                    return char;
                }
                place += 1;
                if chosen.contains(&(place - 1)) { 'o' } else { char }
            };
            rows.chars().map(&mut draw).collect::<String>()
        });
        assert_eq!(drawn.as_deref(), expected, "{count} of {rows}");
    }

    fn chosen(rows: &str, count: usize) -> Option<Vec<u32>> {
        let taken: Vec<bool> = rows.chars().filter(|char| *char != ' ').map(|char| char == '#').collect();
        let mut place = 0;
        let rows: Vec<SeatRow> = rows
            .split(' ')
            .map(|row| {
                let places = (place..place + row.len() as u32).collect();
                place += row.len() as u32;
                SeatRow { section: None, places }
            })
            .collect();
        choose(rows.iter(), |place| taken[place as usize], count)
    }

    #[test]
    fn the_first_block_that_leaves_no_single_seat_is_the_best() {
        check("....", 2, Some("oo.."));
        check("....", 4, Some("oooo"));
        check("#...", 3, Some("#ooo"));
        check("... ....", 2, Some("... oo.."));
        check("... ..", 2, Some("... oo"));
        check("..#..", 2, Some("oo#.."));
        check("...#..", 2, Some("...#oo"));
        check(".. .", 1, Some(".. o"));
    }

    #[test]
    fn where_every_block_leaves_a_single_seat_the_first_is_taken() {
        check("...", 2, Some("oo."));
        check("... ...", 2, Some("oo. ..."));
        check("..", 1, Some("o."));
    }

    #[test]
    fn seats_apart_are_taken_in_the_fewest_and_largest_pieces() {
        check("..#.. .", 3, Some("oo#.. o"));
        check("..#.. #", 3, Some("oo#o. #"));
        check(".#.#.", 2, Some("o#o#."));
        check(". .. ...", 5, Some(". oo ooo"));
        check(". .. ...", 4, Some("o .. ooo"));
        check(".. ... ..", 5, Some("oo ooo .."));
        check("# . # .", 2, Some("# o # o"));
    }

    #[test]
    fn fewer_free_seats_than_wanted_are_none() {
        check("..#", 3, None);
        check("###", 1, None);
        check(". . .", 3, Some("o o o"));
    }

    /// How good a choice is, smaller is better: pieces, then single seats it leaves.
    fn badness(rows: &[Vec<bool>], choice: &[u32]) -> (usize, usize) {
        let (mut place, mut pieces, mut orphans) = (0, 0, 0);
        for row in rows {
            let chosen: Vec<bool> = (place..place + row.len() as u32).map(|place| choice.contains(&place)).collect();
            place += row.len() as u32;
            let is_free = |index: Option<usize>| index.is_some_and(|index| row.get(index) == Some(&false));
            let is_chosen = |index: Option<usize>| index.is_some_and(|index| chosen.get(index) == Some(&true));
            for (index, is_chosen_itself) in chosen.iter().enumerate() {
                let (left, right) = (index.checked_sub(1), Some(index + 1));
                pieces += usize::from(*is_chosen_itself && !is_chosen(left));
                let is_left = |index| is_free(index) && !is_chosen(index);
                let beside = is_chosen(left) || is_chosen(right);
                orphans += usize::from(is_left(Some(index)) && beside && !is_left(left) && !is_left(right));
            }
        }
        (pieces, orphans)
    }

    #[test]
    fn no_other_choice_is_better_than_the_one_made() {
        for seed in 1..400 {
            let mut dice = Dice::new(seed);
            let mut left = 12;
            let mut rows: Vec<Vec<bool>> = Vec::new();
            while left > 0 {
                let seats = (1 + dice.roll(6)).min(left);
                left -= seats;
                rows.push((0..seats).map(|_| dice.roll(3) == 0).collect());
            }
            let text: Vec<String> =
                rows.iter().map(|row| row.iter().map(|taken| if *taken { '#' } else { '.' }).collect()).collect();
            let text = text.join(" ");
            let taken: Vec<bool> = rows.iter().flatten().copied().collect();
            let count = 1 + dice.roll(5) as usize;
            let all = (0_u32..1 << taken.len()).filter(|set| set.count_ones() as usize == count);
            let choices = all.map(|set| (0..taken.len() as u32).filter(|place| set & (1 << place) != 0).collect());
            let possible = choices.filter(|choice: &Vec<u32>| choice.iter().all(|place| !taken[*place as usize]));
            let best = possible.map(|choice| badness(&rows, &choice)).min();
            let made = chosen(&text, count);
            if let Some(made) = &made {
                assert!(made.len() == count && made.is_sorted() && made.iter().all(|place| !taken[*place as usize]));
            }
            let made = made.map(|made| badness(&rows, &made));
            match (made, best) {
                // Side by side: nothing is better. Apart: nothing is in fewer pieces.
                (Some((1, orphans)), best) => assert_eq!(Some((1, orphans)), best, "{count} of {text}"),
                (made, best) => {
                    assert_eq!(made.map(|made| made.0), best.map(|best| best.0), "{count} of {text}");
                }
            }
        }
    }
}
