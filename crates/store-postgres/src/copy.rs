//! Many rows in one stream: PostgreSQL takes them faster than from a statement.

use bytes::{BufMut as _, Bytes, BytesMut};
use holdfast_records::{Column, Value};
use tokio_postgres::types::{IsNull, ToSql as _};

use crate::codec::{Col, type_of};

/// What a stream in the binary format begins with: its name, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
/// Where the length of a value stands that there is none of.
const NULL: i32 = -1;
/// Where the number of values stands after the last row.
const END: i16 = -1;

/// Rows of such columns in the binary format.
pub(crate) fn encode(columns: &[Column], rows: &[Vec<Value<'_>>]) -> Bytes {
    let kinds: Vec<_> = columns.iter().map(|column| type_of(column.kind)).collect();
    let mut out = BytesMut::from(HEADER);
    for row in rows {
        assert_eq!(row.len(), kinds.len(), "a row has a cell for each column");
        out.put_i16(row.len() as i16);
        for (kind, cell) in kinds.iter().zip(row) {
            let at = out.len();
            out.put_i32(NULL);
            if let IsNull::No = Col(cell).to_sql(kind, &mut out).expect("rows fit their columns") {
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
    use holdfast_records::Type;

    use super::*;

    #[test]
    fn values_are_told_with_their_lengths_and_what_is_not_there_without() {
        let columns = [Column { name: "a", kind: Type::Int }, Column { name: "b", kind: Type::Text }];
        let rows = [vec![Value::Int(258), Value::Null], vec![Value::Int(-1), Value::Text("ab".into())]];
        let encoded = encode(&columns, &rows);
        let rows = encoded.strip_prefix(HEADER).expect("begins as it should");
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
