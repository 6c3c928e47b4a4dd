//! What people call a booking.

use super::booking::BookingId;

/// What a booking is called among people: `BK-` and a few letters and digits that are not mistaken for one another. It tells
/// nobody how many bookings there are, and no two bookings have the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookingNumber(pub BookingId);

impl BookingNumber {
    const LETTERS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    /// Six letters for the first thousand million, eleven for all others. Multiplying by an odd number mixes numbers of
    /// so many bits and loses none.
    const SHORT: (u32, u64) = (30, 0x2f5d_9c4b);
    const LONG: (u32, u64) = (55, 0x2f_5d9c_4b7a_61e3);

    /// Knows the booking again, in capitals or not.
    pub fn parse(text: &str) -> Option<Self> {
        let code = text.strip_prefix("BK-").or_else(|| text.strip_prefix("bk-"))?;
        let (bits, factor) = [Self::SHORT, Self::LONG].into_iter().find(|(bits, _)| code.len() as u32 * 5 == *bits)?;
        let mut mixed = 0;
        for letter in code.bytes() {
            let digit = Self::LETTERS.iter().position(|known| *known == letter.to_ascii_uppercase())?;
            mixed = mixed << 5 | digit as u64;
        }
        let id = BookingId::new(mixed.wrapping_mul(inverse(factor)) & ((1 << bits) - 1))?;
        // Small numbers have long names too, which nobody was told.
        (Self(id).to_string().len() == text.len()).then_some(Self(id))
    }
}

/// What undoes a multiplication by an odd number, for any number of bits up to 64.
fn inverse(odd: u64) -> u64 {
    // Each step doubles the bits that are right; the first three are.
    (0..5).fold(odd, |guess, _| guess.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(guess))))
}

impl std::fmt::Display for BookingNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.0.get();
        let (bits, factor) = if id >> Self::SHORT.0 == 0 { Self::SHORT } else { Self::LONG };
        let mixed = id.wrapping_mul(factor);
        f.write_str("BK-")?;
        for place in (0..bits / 5).rev() {
            let letter = Self::LETTERS[(mixed >> (place * 5) & 31) as usize];
            write!(f, "{}", letter as char)?;
        }
        Ok(())
    }
}
