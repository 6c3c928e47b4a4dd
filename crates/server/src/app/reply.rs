//! Successful answers, in the form in which idempotency records keep them.

use axum::response::{IntoResponse, Response};
use holdfast_engine::Answer;
use http::{HeaderName, HeaderValue, StatusCode, header};

use crate::problem::Problem;

/// Header that marks an answer replayed under the same idempotency key.
pub const REPLAYED: HeaderName = HeaderName::from_static("idempotent-replayed");

/// Successful answer that can be kept in an idempotency record and replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    status: StatusCode,
    body: Vec<u8>,
    records: Vec<u64>,
    pub(super) is_replayed: bool,
}

/// Bit of the status in an idempotency record that is set if numbers of records follow. HTTP statuses are below it.
const HAS_RECORDS: u16 = 1 << 15;

impl Reply {
    pub fn json(status: StatusCode, body: &impl serde::Serialize) -> Self {
        Self::written(status, serde_json::to_vec(body).expect("wire types serialize to JSON"))
    }

    /// Makes a reply from a body that is already JSON.
    pub fn written(status: StatusCode, body: Vec<u8>) -> Self {
        Self { status, body, records: Vec::new(), is_replayed: false }
    }

    pub fn no_content() -> Self {
        Self::written(StatusCode::NO_CONTENT, Vec::new())
    }

    /// Keeps the numbers of the records that the reply shows beside it, for a handler that goes on with them after a replay.
    #[must_use]
    pub fn about(self, records: impl IntoIterator<Item = u64>) -> Self {
        Self { records: records.into_iter().collect(), ..self }
    }

    pub fn records(&self) -> &[u64] {
        &self.records
    }

    /// Replaces the body, for a newer state of the same record.
    #[must_use]
    pub fn with_json(self, body: &impl serde::Serialize) -> Self {
        Self { body: Self::json(self.status, body).body, ..self }
    }

    /// Encodes the status, the number of records and each of them if there are any, and the body.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let status = self.status.as_u16();
        if self.records.is_empty() {
            return [&status.to_le_bytes(), &self.body[..]].concat();
        }
        let mut bytes = (status | HAS_RECORDS).to_le_bytes().to_vec();
        bytes.extend((self.records.len() as u32).to_le_bytes());
        bytes.extend(self.records.iter().flat_map(|record| record.to_le_bytes()));
        bytes.extend(&self.body);
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (status, mut body) = bytes.split_first_chunk()?;
        let status = u16::from_le_bytes(*status);
        let mut records = Vec::new();
        if status & HAS_RECORDS != 0 {
            let (count, rest) = body.split_first_chunk()?;
            let (numbers, rest) = rest.split_at_checked(u32::from_le_bytes(*count) as usize * size_of::<u64>())?;
            let (numbers, _) = numbers.as_chunks();
            records.extend(numbers.iter().copied().map(u64::from_le_bytes));
            body = rest;
        }
        let status = StatusCode::from_u16(status & !HAS_RECORDS).ok()?;
        Some(Self { status, body: body.to_vec(), records, is_replayed: false })
    }
}

impl IntoResponse for Reply {
    fn into_response(self) -> Response {
        let mut response = if self.body.is_empty() {
            self.status.into_response()
        } else {
            let json = HeaderValue::from_static("application/json");
            (self.status, [(header::CONTENT_TYPE, json)], self.body).into_response()
        };
        if self.is_replayed {
            response.headers_mut().insert(REPLAYED, HeaderValue::from_static("true"));
        }
        response
    }
}

/// Returns the reply to a command that ran under an idempotency key.
pub(super) fn kept_reply<T>(answer: Answer<T>) -> Result<Reply, Problem> {
    let (bytes, is_replayed) = match answer {
        Answer::Fresh(_) => unreachable!("every answer under a key is kept"),
        Answer::Recorded(bytes) => (bytes, false),
        Answer::Replayed(bytes) => (bytes, true),
    };
    let reply = Reply::from_bytes(&bytes).ok_or_else(Problem::internal)?;
    Ok(Reply { is_replayed, ..reply })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reply_is_restored_from_its_bytes() {
        for records in [&[][..], &[7], &[1, u64::MAX, 0]] {
            for body in [&b""[..], b"{\"id\":7}"] {
                let reply = Reply::written(StatusCode::CREATED, body.to_vec()).about(records.iter().copied());
                assert_eq!(Reply::from_bytes(&reply.to_bytes()), Some(reply));
            }
        }
        let cut = Reply::no_content().about([7]).to_bytes();
        assert!((0..cut.len()).all(|len| Reply::from_bytes(&cut[..len]).is_none()));
    }
}
