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
