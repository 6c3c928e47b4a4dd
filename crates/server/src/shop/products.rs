//! Products, their options, and stock.

use axum::extract::{Path, State};
use axum::response::Response;
use holdfast_api::list::List;
use holdfast_api::params::{IdempotencyHeader, ListParams, ProductOptionPath, ProductPath};
use holdfast_api::shop::{Data, NewProductBody, OptionChangeBody, OptionView, ProductView};
use holdfast_core::Fault;
use holdfast_core::shop::product::{self, CreateProduct, OptionDraft};
use holdfast_core::shop::stock::{self, ChangeOption, StockChange};
use holdfast_core::shop::{Product, ProductId, ProductOptionId};
use http::StatusCode;

use super::{ok, reply};
use crate::app::App;
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Mutation, Params, page, parse_id};

/// Creates a product. Admins only.
#[utoipa::path(post, path = "/api/products", tag = "shop", request_body = NewProductBody,
    params(IdempotencyHeader),
    responses((status = 201, body = Data<ProductView>), (status = 400, description = "`INVALID_INPUT`")))]
pub async fn create(State(app): State<App>, caller: Caller, request: Mutation) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let body: NewProductBody = request.json()?;
    let options = body.options.into_iter().map(|option| OptionDraft {
        option_code: option.option_code,
        price: option.price,
        stock_quantity: option.stock_quantity,
        is_active: option.is_active.unwrap_or(true),
    });
    let command = CreateProduct { name: body.name, currency: body.currency, options: options.collect() };
    app.run(&caller, &request, command, |product| reply(StatusCode::CREATED, ProductView::new(product))).await
}

/// Lists all products.
#[utoipa::path(get, path = "/api/products", tag = "shop",
    params(ListParams),
    responses((status = 200, body = Data<List<ProductView>>)))]
pub async fn list(State(app): State<App>, _caller: Caller, params: Params) -> Result<Response, Problem> {
    let page = page(&params, ProductId::new)?;
    let products = app.list::<Product>(page.of::<Product>()).await?;
    let list = List::new(products, &page, |it| it.id.get(), |it| it.id);
    let ids = list.items;
    let views = app.query(|rows, at| {
        // The rows of all products are requested before the first missing one ends this pass.
        let views: Vec<_> = ids.iter().map(|id| product::view(rows, at, *id)).collect();
        views.into_iter().collect::<Result<Vec<_>, _>>()
    });
    let items = views.await?.iter().map(ProductView::new).collect();
    Ok(ok(List { items, next_cursor: list.next_cursor }))
}

/// Returns a product.
#[utoipa::path(get, path = "/api/products/{id}", tag = "shop",
    params(ProductPath),
    responses((status = 200, body = Data<ProductView>), (status = 404, description = "`PRODUCT_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    _caller: Caller,
    Path(ProductPath { id }): Path<ProductPath>,
) -> Result<Response, Problem> {
    let id = parse_id("id", &id, ProductId::new)?;
    let product = app.query(|rows, at| product::view(rows, at, id)).await?;
    Ok(ok(ProductView::new(&product)))
}

/// Returns a product option, with its stock.
#[utoipa::path(get, path = "/api/product-options/{id}", tag = "shop",
    params(ProductOptionPath),
    responses((status = 200, body = Data<OptionView>), (status = 404, description = "`PRODUCT_OPTION_NOT_FOUND`")))]
pub async fn get_option(
    State(app): State<App>,
    _caller: Caller,
    Path(ProductOptionPath { id }): Path<ProductOptionPath>,
) -> Result<Response, Problem> {
    let id = option_id(&id)?;
    let option = app.query(|rows, at| stock::view(rows, at, id)).await?;
    Ok(ok(OptionView::new(&option)))
}

/// Changes the price, the stock or the active state of a product option. Admins only.
#[utoipa::path(patch, path = "/api/product-options/{id}", tag = "shop", request_body = OptionChangeBody,
    params(ProductOptionPath, IdempotencyHeader),
    responses((status = 200, body = Data<OptionView>), (status = 400, description = "`INVALID_INPUT`"),
        (status = 404, description = "`PRODUCT_OPTION_NOT_FOUND`"), (status = 409, description = "`CAPACITY_IN_USE`")))]
pub async fn change_option(
    State(app): State<App>,
    caller: Caller,
    Path(ProductOptionPath { id }): Path<ProductOptionPath>,
    request: Mutation,
) -> Result<Response, Problem> {
    caller.must_be_admin(app.auth())?;
    let id = option_id(&id)?;
    let body: OptionChangeBody = request.json()?;
    let stock = match (body.stock_quantity, body.stock_delta) {
        (Some(_), Some(_)) => return Err(Problem::invalid("stockDelta", &Fault::UnknownValue)),
        (Some(stock), None) => Some(StockChange::Set(stock)),
        (None, delta) => delta.map(StockChange::Delta),
    };
    let command = ChangeOption { id, price: body.price, is_active: body.is_active, stock };
    app.run(&caller, &request, command, |option| reply(StatusCode::OK, OptionView::new(option))).await
}

fn option_id(text: &str) -> Result<ProductOptionId, Problem> {
    parse_id("id", text, ProductOptionId::new)
}
