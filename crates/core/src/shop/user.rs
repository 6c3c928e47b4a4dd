//! Accounts of users and their balances. Only the shop requires users to have an account.

use std::sync::Arc;

use crate::command::{Command, Context, Decision, writes};
use crate::id::{Sequence, UserId};
use crate::money::{AMOUNT_MAX, Currency, check_amount, parse_currency};
use crate::rejection::ShopRejection;
use crate::table::Row;
use crate::text::check_name;
use crate::working_set::WorkingSet;

/// Minimum number of accounts that are read ahead of a drawn number.
const AHEAD_MIN: usize = 16;
/// Number of accounts read ahead per account that the batch has requested.
const AHEAD_FACTOR: usize = 3;
/// Maximum number of accounts that are read ahead at once.
const AHEAD_MAX: usize = 8_192;
/// Distances from a drawn number to those tried in turn. All but the first are so long that they pass a run of accounts with
/// chosen ids, and that the sequence reaches these numbers late.
pub(super) const DISTANCES: [u64; 10] =
    [0, 1 << 20, 1 << 24, 1 << 28, 1 << 32, 1 << 36, 1 << 40, 1 << 44, 1 << 48, 1 << 52];

/// A user's account. `balance` is the unspent part of the deposits: it never exceeds `charged`, so a refund never
/// overflows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UserAccount {
    pub id: UserId,
    pub name: Arc<str>,
    pub balance: i64,
    /// Sum of all deposits.
    pub charged: i64,
    pub currency: Currency,
}

impl Row for UserAccount {}

/// Creates an account with a balance of zero.
#[derive(Clone, Debug)]
pub struct CreateUser {
    /// `None`: the account gets a number.
    pub id: Option<UserId>,
    pub name: String,
    pub currency: Option<String>,
}

impl Command for CreateUser {
    type Outcome = UserAccount;
    const NAME: &'static str = "shop.user.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<UserAccount> {
        let name = check_name("name", &self.name)?.into();
        let currency = parse_currency("currency", self.currency.as_deref())?;
        let id = match &self.id {
            Some(id) if rows.shop.users.get(id)?.is_some() => return Err(ShopRejection::UserAlreadyExists.into()),
            Some(id) => id.clone(),
            None => unused_number(rows)?,
        };
        let account = UserAccount { id: id.clone(), name, balance: 0, charged: 0, currency };
        rows.shop.users.put(id, account.clone());
        Ok(account)
    }
}

/// Returns the next number of the sequence or, if an account was created under it, the first unused number at one of
/// [`DISTANCES`] from it.
fn unused_number(rows: &mut WorkingSet) -> Decision<UserId> {
    let next = rows.next_id(Sequence::User)?;
    for id in DISTANCES.iter().filter_map(|distance| UserId::new(next + distance)) {
        if !rows.shop.users.has_key(&id) {
            request_ahead(rows, &id);
        }
        if rows.shop.users.get(&id)?.is_none() {
            return Ok(id);
        }
    }
    Err(ShopRejection::UserAlreadyExists.into())
}

/// Requests the accounts under this number and those after it, several times as many with each load. So a batch of
/// thousands of these commands, each of which draws the number after that of the command before, needs a few loads.
fn request_ahead(rows: &mut WorkingSet, from: &UserId) {
    let from = from.number().expect("accounts are numbered from a sequence");
    let count = (rows.shop.users.key_count() * AHEAD_FACTOR).clamp(AHEAD_MIN, AHEAD_MAX) as u64;
    for id in (from..from + count).filter_map(UserId::new) {
        rows.shop.users.request(&id);
    }
}

/// Adds a deposit to the balance.
#[derive(Clone, Debug)]
pub struct AddBalance {
    pub user: UserId,
    pub amount: i64,
}

impl Command for AddBalance {
    type Outcome = UserAccount;
    const NAME: &'static str = "shop.user.add_balance";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<UserAccount> {
        check_amount("amount", self.amount, AMOUNT_MAX)?;
        let old = find(rows, &self.user)?;
        check_amount("amount", self.amount, AMOUNT_MAX - old.charged)?;
        let new = UserAccount { balance: old.balance + self.amount, charged: old.charged + self.amount, ..old };
        rows.shop.users.put(new.id.clone(), new.clone());
        Ok(new)
    }
}

/// Returns the account, or rejects an unknown user.
pub fn find(rows: &mut WorkingSet, id: &UserId) -> Decision<UserAccount> {
    Ok(rows.shop.users.get(id)?.cloned().ok_or(ShopRejection::UserNotFound)?)
}
