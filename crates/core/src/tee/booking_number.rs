//! Booking numbers, as customers see them.

use super::booking::BookingId;

/// Public number of a booking: `BK-` and letters and digits that are hard to confuse. It is unique, and does not reveal
/// the number of bookings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BookingNumber(pub BookingId);

impl BookingNumber {
    const ALPHABET: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    /// Bits and factor of the two lengths: six characters for ids below 2^30, eleven for all others. Multiplication by
    /// an odd number permutes the numbers of that many bits.
    const SHORT: (u32, u64) = (30, 0x2f5d_9c4b);
    const LONG: (u32, u64) = (55, 0x2f_5d9c_4b7a_61e3);

    /// Parses a booking number, in upper or lower case.
    pub fn parse(text: &str) -> Option<Self> {
        let code = text.strip_prefix("BK-").or_else(|| text.strip_prefix("bk-"))?;
        let (bits, factor) = [Self::SHORT, Self::LONG].into_iter().find(|(bits, _)| code.len() as u32 * 5 == *bits)?;
        let mut mixed = 0;
        for letter in code.bytes() {
            let digit = Self::ALPHABET.iter().position(|candidate| *candidate == letter.to_ascii_uppercase())?;
            mixed = mixed << 5 | digit as u64;
        }
        let id = BookingId::new(mixed.wrapping_mul(inverse(factor)) & ((1 << bits) - 1))?;
        // Small ids also have a long form, which is never issued.
        (Self(id).to_string().len() == text.len()).then_some(Self(id))
    }
}

/// Returns the inverse of an odd number modulo 2^64.
fn inverse(odd: u64) -> u64 {
    // Each step doubles the number of correct bits, starting with three.
    (0..5).fold(odd, |guess, _| guess.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(guess))))
}

impl std::fmt::Display for BookingNumber {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let id = self.0.get();
        let (bits, factor) = if id >> Self::SHORT.0 == 0 { Self::SHORT } else { Self::LONG };
        let mixed = id.wrapping_mul(factor);
        f.write_str("BK-")?;
        for digit_index in (0..bits / 5).rev() {
            let letter = Self::ALPHABET[(mixed >> (digit_index * 5) & 31) as usize];
            write!(f, "{}", letter as char)?;
        }
        Ok(())
    }
}
