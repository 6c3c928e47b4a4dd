//! Choice of the best free seats. Adjacent seats are better than separate ones, earlier ones better than later ones,
//! and a single free seat between taken ones is avoided, because it is hard to sell.
//!
//! This is geometry on the plan and the taken seats; it does not depend on holds, users or time.

use std::collections::HashMap;
use std::sync::Arc;

use super::PlannedSeat;

/// Adjacent seats: the same section and label prefix, with consecutive numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeatRow {
    pub section: Option<Arc<str>>,
    /// Indexes in the plan, from 0, ordered by seat number.
    pub places: Vec<u32>,
}

/// Returns the rows of a plan, in the order of their first seat in the plan. The seats of a row may be anywhere in the
/// plan, in any order. A seat whose label ends in no number is a row of its own.
pub fn rows_of(seats: &[PlannedSeat]) -> Vec<SeatRow> {
    /// Number in the label, and index of a seat.
    type Numbered = (u64, u32);
    let mut single_seats = Vec::new();
    let mut groups: HashMap<(Option<&str>, &str), Vec<Numbered>> = HashMap::new();
    for (index, seat) in (0..).zip(seats) {
        match split_number(&seat.label) {
            Some((text, number)) => {
                groups.entry((seat.section.as_deref(), text)).or_default().push((number, index));
            }
            None => single_seats.push(vec![index]),
        }
    }
    let mut runs = single_seats;
    for (_, mut numbered) in groups {
        numbered.sort_unstable();
        let is_adjacent = |left: &Numbered, right: &Numbered| left.0 + 1 == right.0;
        let adjacent = numbered.chunk_by(is_adjacent);
        runs.extend(adjacent.map(|run| run.iter().map(|(_, index)| *index).collect::<Vec<u32>>()));
    }
    runs.sort_unstable_by_key(|run| run.iter().copied().min());
    runs.into_iter().map(|places| SeatRow { section: seats[places[0] as usize].section.clone(), places }).collect()
}

/// Returns the best `count` free seats of these rows, as ascending indexes in the plan; `None` if fewer are free.
///
/// - Adjacent if possible: the first block in the order of rows that leaves no single free seat beside it, or else the
///   first block.
/// - Otherwise in the fewest blocks, so in the largest ones; the last of them is chosen like an adjacent block.
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
        let remaining = count - chosen.len();
        if let Some(block) = block_in(&gaps, remaining) {
            chosen.extend_from_slice(block);
        } else {
            // The first of the largest: `max_by_key` would return the last.
            let largest = (0..gaps.len()).rev().max_by_key(|index| gaps[*index].len())?;
            chosen.extend_from_slice(gaps.remove(largest));
        }
    }
    chosen.sort_unstable();
    Some(chosen)
}

/// Returns a block of `count` seats at the start of a gap. A block elsewhere in the gap is no better: this way the
/// rest of the gap stays adjacent, and is a single seat only if the gap has one seat more.
fn block_in<'a>(gaps: &[&'a [u32]], count: usize) -> Option<&'a [u32]> {
    let fits = |gap: &&&[u32]| gap.len() >= count;
    let leaves_no_single = |gap: &&&[u32]| gap.len() != count + 1;
    let gap = gaps.iter().filter(fits).find(leaves_no_single).or_else(|| gaps.iter().find(fits))?;
    Some(&gap[..count])
}

/// Returns the maximal runs of free seats in a row.
fn gaps_of<'a>(places: &'a [u32], is_taken: &impl Fn(u32) -> bool) -> Vec<&'a [u32]> {
    places.split(|place| is_taken(*place)).filter(|gap| !gap.is_empty()).collect()
}

/// Splits `A-12` into `A-` and 12.
fn split_number(label: &str) -> Option<(&str, u64)> {
    let text = label.trim_end_matches(|char: char| char.is_ascii_digit());
    // Digits that exceed the range are not a number.
    let number = label[text.len()..].parse().ok().filter(|number| *number < u64::MAX)?;
    Some((text, number))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Dice;

    /// Labels, with an optional section before a slash.
    fn plan(labels: &[&str]) -> Vec<PlannedSeat> {
        let seat = |text: &&str| {
            let (section, label) = text.rsplit_once('/').unwrap_or(("", text));
            let section = (!section.is_empty()).then(|| section.into());
            PlannedSeat { label: label.into(), section, price: 1 }
        };
        labels.iter().map(seat).collect()
    }

    #[test]
    fn rows_have_equal_prefix_and_adjacent_numbers() {
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
        // The plan is not ordered: rows are, and start at their first mention.
        check(&["B1", "A3", "A1", "A2", "B2"], &[&[0, 4], &[2, 3, 1]]);
        // Equal numbers are not adjacent.
        check(&["A1", "A01", "A2"], &[&[0], &[1, 2]]);
        check(&["열1", "열2"], &[&[0, 1]]);
        check(&["A99999999999999999999999", "A18446744073709551615"], &[&[0], &[1]]);
    }

    /// Draws rows as text, with `.` for free, `#` for taken and `o` for chosen seats.
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
    fn first_block_leaving_no_single_seat_is_best() {
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
    fn first_block_is_chosen_if_all_leave_a_single() {
        check("...", 2, Some("oo."));
        check("... ...", 2, Some("oo. ..."));
        check("..", 1, Some("o."));
    }

    #[test]
    fn separate_seats_form_fewest_blocks() {
        check("..#.. .", 3, Some("oo#.. o"));
        check("..#.. #", 3, Some("oo#o. #"));
        check(".#.#.", 2, Some("o#o#."));
        check(". .. ...", 5, Some(". oo ooo"));
        check(". .. ...", 4, Some("o .. ooo"));
        check(".. ... ..", 5, Some("oo ooo .."));
        check("# . # .", 2, Some("# o # o"));
    }

    #[test]
    fn too_few_free_seats_yield_none() {
        check("..#", 3, None);
        check("###", 1, None);
        check(". . .", 3, Some("o o o"));
    }

    /// Rates a choice, smaller is better: number of blocks, then number of single free seats left.
    fn rating(rows: &[Vec<bool>], choice: &[u32]) -> (usize, usize) {
        let (mut place, mut blocks, mut singles) = (0, 0, 0);
        for row in rows {
            let chosen: Vec<bool> = (place..place + row.len() as u32).map(|place| choice.contains(&place)).collect();
            place += row.len() as u32;
            let is_free = |index: Option<usize>| index.is_some_and(|index| row.get(index) == Some(&false));
            let is_chosen = |index: Option<usize>| index.is_some_and(|index| chosen.get(index) == Some(&true));
            for (index, is_in_choice) in chosen.iter().enumerate() {
                let (left, right) = (index.checked_sub(1), Some(index + 1));
                blocks += usize::from(*is_in_choice && !is_chosen(left));
                let is_left = |index| is_free(index) && !is_chosen(index);
                let beside = is_chosen(left) || is_chosen(right);
                singles += usize::from(is_left(Some(index)) && beside && !is_left(left) && !is_left(right));
            }
        }
        (blocks, singles)
    }

    #[test]
    fn choice_is_optimal() {
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
            let best = possible.map(|choice| rating(&rows, &choice)).min();
            let best_choice = chosen(&text, count);
            if let Some(best_choice) = &best_choice {
                assert!(
                    best_choice.len() == count
                        && best_choice.is_sorted()
                        && best_choice.iter().all(|place| !taken[*place as usize])
                );
            }
            let best_choice = best_choice.map(|best_choice| rating(&rows, &best_choice));
            match (best_choice, best) {
                // An adjacent choice is optimal; otherwise no choice has fewer blocks.
                (Some((1, singles)), best) => assert_eq!(Some((1, singles)), best, "{count} of {text}"),
                (best_choice, best) => {
                    assert_eq!(
                        best_choice.map(|best_choice| best_choice.0),
                        best.map(|best| best.0),
                        "{count} of {text}"
                    );
                }
            }
        }
    }
}
