//! Products, each with one or more options. An option is the item that a cart contains.

use std::sync::Arc;

use super::stock::{self, Inventory, StockView};
use super::{PRODUCT_OPTIONS_MAX, STOCK_MAX};
use crate::command::{Command, Context, Decision, writes};
use crate::id::{Sequence, number_id};
use crate::money::{Currency, check_price, parse_currency};
use crate::rejection::{Fault, Rejection, ShopRejection};
use crate::table::Row;
use crate::text::check_name;
use crate::working_set::WorkingSet;

number_id!(
    /// Number of a product.
    ProductId
);

number_id!(
    /// Number of a product option.
    ProductOptionId
);

/// A product. Its options are created with it, under consecutive numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Product {
    pub id: ProductId,
    pub name: Arc<str>,
    pub currency: Currency,
    pub first_option: ProductOptionId,
    pub option_count: u32,
}

impl Row for Product {}

impl Product {
    /// Returns the numbers of its options, ascending.
    pub fn options(&self) -> impl Iterator<Item = ProductOptionId> {
        let first = self.first_option.get();
        let numbers = first..first + u64::from(self.option_count);
        numbers.map(|number| ProductOptionId::new(number).expect("sequence numbers are valid ids"))
    }
}

/// One variant of a product. Fields of the product are copied into it, so that a cart needs no other row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductOption {
    pub id: ProductOptionId,
    pub product: ProductId,
    pub product_name: Arc<str>,
    pub option_code: Arc<str>,
    pub price: i64,
    pub currency: Currency,
    /// Inactive options may be in carts, but cannot be reserved.
    pub is_active: bool,
}

impl Row for ProductOption {}

/// Fields of a new option.
#[derive(Clone, Debug)]
pub struct OptionDraft {
    pub option_code: String,
    pub price: i64,
    pub stock_quantity: u32,
    pub is_active: bool,
}

/// Creates a product with all its options.
#[derive(Clone, Debug)]
pub struct CreateProduct {
    pub name: String,
    pub currency: Option<String>,
    pub options: Vec<OptionDraft>,
}

impl Command for CreateProduct {
    type Outcome = ProductView;
    const NAME: &'static str = "shop.product.create";
    type Writes = writes::Durable;

    fn decide(&self, rows: &mut WorkingSet, _at: &Context<'_>) -> Decision<ProductView> {
        rows.ids.request(&Sequence::Product);
        rows.ids.request(&Sequence::ProductOption);
        let name: Arc<str> = check_name("name", &self.name)?.into();
        let currency = parse_currency("currency", self.currency.as_deref())?;
        self.check_options()?;
        let id = ProductId::new(rows.next_id(Sequence::Product)?).expect("sequence numbers are valid ids");
        let first = rows.next_ids(Sequence::ProductOption, self.options.len())?;
        let first_option = ProductOptionId::new(first).expect("sequence numbers are valid ids");
        let product = Product { id, name, currency, first_option, option_count: self.options.len() as u32 };
        rows.shop.products.insert(id, product.clone());
        let mut options = Vec::with_capacity(self.options.len());
        for (id, draft) in product.options().zip(&self.options) {
            let option = draft.to_option(id, &product);
            let inventory = Inventory { received: draft.stock_quantity, sold: 0 };
            rows.shop.options.insert(id, option.clone());
            rows.shop.inventory.insert(id, inventory);
            options.push(StockView { option, inventory, held: 0, available: draft.stock_quantity });
        }
        Ok(ProductView { product, options })
    }

    fn weight(&self) -> usize {
        1 + self.options.len().min(PRODUCT_OPTIONS_MAX) / 8
    }
}

impl CreateProduct {
    fn check_options(&self) -> Result<(), Rejection> {
        if self.options.is_empty() {
            return Err(Rejection::invalid("options", Fault::Missing));
        }
        if self.options.len() > PRODUCT_OPTIONS_MAX {
            return Err(Rejection::invalid("options", Fault::TooManyItems { max: PRODUCT_OPTIONS_MAX }));
        }
        for draft in &self.options {
            check_name("optionCode", &draft.option_code)?;
            check_price("price", draft.price)?;
            if draft.stock_quantity > STOCK_MAX {
                return Err(Rejection::invalid("stockQuantity", stock::out_of_range(STOCK_MAX)));
            }
        }
        Ok(())
    }
}

impl OptionDraft {
    fn to_option(&self, id: ProductOptionId, product: &Product) -> ProductOption {
        ProductOption {
            id,
            product: product.id,
            product_name: product.name.clone(),
            option_code: self.option_code.as_str().into(),
            price: self.price,
            currency: product.currency,
            is_active: self.is_active,
        }
    }
}

/// A product and all its options, ascending, with their stock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProductView {
    pub product: Product,
    pub options: Vec<StockView>,
}

/// Returns the current state of a product.
pub fn view(rows: &mut WorkingSet, at: &Context<'_>, id: ProductId) -> Decision<ProductView> {
    let product = rows.shop.products.get(&id)?.cloned().ok_or(ShopRejection::ProductNotFound)?;
    for option in product.options() {
        stock::request_rows(rows, option);
    }
    let options = product.options().map(|option| stock::view(rows, at, option)).collect::<Decision<_>>()?;
    Ok(ProductView { product, options })
}

/// Returns the option, or rejects an unknown one.
pub fn find_option(rows: &mut WorkingSet, id: ProductOptionId) -> Decision<ProductOption> {
    Ok(rows.shop.options.get(&id)?.cloned().ok_or(ShopRejection::ProductOptionNotFound)?)
}
