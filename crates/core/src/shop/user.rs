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

/// Returns the next number of the sequence or, if an account was created under it, the first unused of the numbers
/// 2^k − 1 above it. The distances grow, so that a few reads find a number beyond a long run of accounts.
fn unused_number(rows: &mut WorkingSet) -> Decision<UserId> {
    let next = rows.next_id(Sequence::User)?;
    let mut candidates = (0..53).filter_map(|power| UserId::new(next - 1 + (1 << power)));
    let first = candidates.next().ok_or(ShopRejection::UserAlreadyExists)?;
    if !rows.shop.users.has_key(&first) {
        request_ahead(rows, next);
    }
    if rows.shop.users.get(&first)?.is_none() {
        return Ok(first);
    }
    let others: Vec<UserId> = candidates.collect();
    for id in &others {
        rows.shop.users.request(id);
    }
    for id in others {
        if rows.shop.users.get(&id)?.is_none() {
            return Ok(id);
        }
    }
    Err(ShopRejection::UserAlreadyExists.into())
}

/// Requests the accounts under the numbers from `next` on, twice as many with each load. So a batch of thousands of these
/// commands, each of which draws the number after that of the command before, needs a few loads.
fn request_ahead(rows: &mut WorkingSet, next: u64) {
    let count = rows.shop.users.key_count().max(AHEAD_MIN) as u64;
    for id in (next..next + count).filter_map(UserId::new) {
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
