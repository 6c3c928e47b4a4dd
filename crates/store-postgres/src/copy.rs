//! Bulk insertion with COPY in the binary format, faster than a statement for many rows.

use bytes::{BufMut as _, Bytes, BytesMut};
use holdfast_core::schema::{Column, Value};
use tokio_postgres::types::{IsNull, ToSql as _};

use crate::codec::{Col, type_of};

/// Header of the binary format: signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Length that stands for NULL.
const NULL: i32 = -1;
/// Field count that ends the stream.
const END: i16 = -1;

/// Encodes rows of these columns in the binary format.
pub(crate) fn encode(columns: &[Column], rows: &[Vec<Value<'_>>]) -> Bytes {
    let kinds: Vec<_> = columns.iter().map(|column| type_of(column.kind)).collect();
    let mut out = BytesMut::from(HEADER);
    for row in rows {
        assert_eq!(row.len(), kinds.len(), "a row has a value for each column");
        out.put_i16(row.len() as i16);
        for (kind, value) in kinds.iter().zip(row) {
            let at = out.len();
            out.put_i32(NULL);
            if let IsNull::No = Col(value).to_sql(kind, &mut out).expect("rows fit their columns") {
                let length = (out.len() - at - size_of::<i32>()) as i32;
                out[at..at + size_of::<i32>()].copy_from_slice(&length.to_be_bytes());
            }
        }
    }
    out.put_i16(END);
    out.freeze()
}

#[cfg(test)]
mod tests {
    use holdfast_core::schema::Type;

    use super::*;

    #[test]
    fn values_have_lengths_and_nulls_none() {
        let columns = [Column { name: "a", kind: Type::Int }, Column { name: "b", kind: Type::Text }];
        let rows = [vec![Value::Int(258), Value::Null], vec![Value::Int(-1), Value::Text("ab".into())]];
        let encoded = encode(&columns, &rows);
        let rows = encoded.strip_prefix(HEADER).expect("starts with the header");
        assert_eq!(
            rows,
            [
                &[0, 2, 0, 0, 0, 4, 0, 0, 1, 2, 255, 255, 255, 255][..],
                &[0, 2, 0, 0, 0, 4, 255, 255, 255, 255, 0, 0, 0, 2, b'a', b'b'],
                &[255, 255],
            ]
            .concat()
        );
    }
}
