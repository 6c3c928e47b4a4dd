//! Sales of stock to claims.

use axum::extract::{Path, State};
use axum::response::{IntoResponse as _, Response};
use holdfast_api::claim::StockSaleView;
use holdfast_api::params::{StockSalePath, UserHeader, UserQuery};
use holdfast_core::shop::{StockSaleId, sale};
use http::StatusCode;

use crate::app::{App, Reply};
use crate::caller::Caller;
use crate::problem::Problem;
use crate::request::{Params, parse_id};

/// Returns a sale of stock, which a confirmed line of a claim became.
#[utoipa::path(get, path = "/v1/stock-sales/{id}", tag = "shop",
    params(StockSalePath, UserQuery, UserHeader),
    responses((status = 200, body = StockSaleView), (status = 403, description = "`FORBIDDEN`"),
        (status = 404, description = "`STOCK_SALE_NOT_FOUND`")))]
pub async fn get(
    State(app): State<App>,
    caller: Caller,
    Path(StockSalePath { id }): Path<StockSalePath>,
    params: Params,
) -> Result<Response, Problem> {
    let (id, actor) = (parse_id("id", &id, StockSaleId::new)?, caller.actor(params.user()?)?);
    let sale = app.query(|rows, _| sale::find(rows, id, &actor)).await?;
    Ok(Reply::json(StatusCode::OK, &StockSaleView::new(&sale)).into_response())
}
