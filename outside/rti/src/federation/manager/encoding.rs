//! Values as the data types of the management object model encode them (IEEE 1516.2, encodings of the
//! predefined types).

use paceline_hla::Bytes;

use crate::time::LogicalTime;

/// HLAinteger32BE, as which HLAcount and the enumerations are sent.
pub(super) fn integer(number: u32) -> Bytes {
    Bytes::copy_from_slice(&number.to_be_bytes())
}

/// HLAcount of things that there are.
pub(super) fn count(things: usize) -> Bytes {
    integer(u32::try_from(things).unwrap_or(u32::MAX))
}

/// HLAboolean and HLAswitch.
pub(super) fn boolean(value: bool) -> Bytes {
    integer(value.into())
}

/// HLAunicodeString: the number of its UTF-16 units, and these.
pub(super) fn text(text: &str) -> Bytes {
    let units: Vec<u16> = text.encode_utf16().collect();
    let mut bytes = (units.len() as u32).to_be_bytes().to_vec();
    units.into_iter().for_each(|unit| bytes.extend(unit.to_be_bytes()));
    bytes.into()
}

/// An array of bytes: their number, and these.
fn opaque(data: &[u8]) -> Bytes {
    let mut bytes = (data.len() as u32).to_be_bytes().to_vec();
    bytes.extend_from_slice(data);
    bytes.into()
}

/// HLAhandle: the number of its bytes, and these.
pub(super) fn handle(handle: u32) -> Bytes {
    opaque(&handle.to_be_bytes())
}

/// HLAhandleList.
pub(super) fn handles(handles: impl ExactSizeIterator<Item = u32>) -> Bytes {
    let number = handles.len() as u32;
    list(handles.map(handle), number)
}

/// An array of texts, such as HLAsynchPointList.
pub(super) fn texts<'a>(texts: impl ExactSizeIterator<Item = &'a str>) -> Bytes {
    let number = texts.len() as u32;
    list(texts.map(text), number)
}

/// An array of records of a handle and a number, such as HLAinteractionCounts.
pub(super) fn numbered(rows: &[(u32, u32)]) -> Bytes {
    let record = |(of, number): &(u32, u32)| -> Bytes {
        let mut bytes = handle(*of).to_vec();
        bytes.extend(number.to_be_bytes());
        bytes.into()
    };
    list(rows.iter().map(record), rows.len() as u32)
}

/// An array of this many elements, each of which begins at a multiple of four bytes.
fn list(elements: impl Iterator<Item = Bytes>, number: u32) -> Bytes {
    let mut bytes = number.to_be_bytes().to_vec();
    for element in elements {
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.extend(element);
    }
    bytes.into()
}

/// HLAlogicalTime and HLAtimeInterval: as the federation's times are sent, with the number of bytes before
/// them; none if there is no time.
pub(super) fn time(time: Option<LogicalTime>) -> Bytes {
    opaque(&time.and_then(LogicalTime::time).map(|time| time.data).unwrap_or_default())
}

/// What of a value's bytes was not read yet, with words for what it should have been.
pub(super) type Read<T> = Result<T, &'static str>;

/// HLAinteger32BE.
pub(super) fn read_integer(bytes: &[u8]) -> Read<u32> {
    let four: Result<[u8; 4], _> = bytes.try_into();
    four.map(u32::from_be_bytes).map_err(|_| "a number of 4 bytes is wanted")
}

/// HLAboolean and HLAswitch.
pub(super) fn read_boolean(bytes: &[u8]) -> Read<bool> {
    match read_integer(bytes) {
        Ok(0) => Ok(false),
        Ok(1) => Ok(true),
        _ => Err("a switch is wanted: 4 bytes, 0 or 1 as a number"),
    }
}

/// An array of bytes at the beginning of `bytes`, and what follows it.
fn split_opaque(bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    let (size, rest) = bytes.split_first_chunk::<4>()?;
    rest.split_at_checked(u32::from_be_bytes(*size) as usize)
}

/// HLAopaqueData, and all that is encoded as it is.
pub(super) fn read_opaque(bytes: &[u8]) -> Read<&[u8]> {
    let whole = split_opaque(bytes).filter(|(_, rest)| rest.is_empty()).map(|(data, _)| data);
    whole.ok_or("the number of its bytes and these are wanted")
}

/// HLAhandle.
pub(super) fn read_handle(bytes: &[u8]) -> Read<u32> {
    read_opaque(bytes).and_then(read_integer).map_err(|_| "a handle is wanted: a 4, and 4 bytes")
}

/// HLAhandleList.
pub(super) fn read_handles(bytes: &[u8]) -> Read<Vec<u32>> {
    let read = || {
        let (number, mut rest) = bytes.split_first_chunk::<4>()?;
        let mut handles = Vec::new();
        for _ in 0..u32::from_be_bytes(*number) {
            let (handle, after) = split_opaque(rest)?;
            handles.push(read_integer(handle).ok()?);
            rest = after;
        }
        rest.is_empty().then_some(handles)
    };
    read().ok_or("a list of handles is wanted: their number, and each with a 4 before its 4 bytes")
}

/// HLAunicodeString.
pub(super) fn read_text(bytes: &[u8]) -> Read<String> {
    let read = || {
        let (number, rest) = bytes.split_first_chunk::<4>()?;
        let (pairs, odd) = rest.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|pair| u16::from_be_bytes(*pair)).collect();
        let is_whole = odd.is_empty() && units.len() == u32::from_be_bytes(*number) as usize;
        is_whole.then(|| String::from_utf16(&units).ok())?
    };
    read().ok_or("a text is wanted: the number of its UTF-16 units, and these")
}

#[cfg(test)]
mod test {
    use super::*;

    #[test]
    fn values_are_encoded_as_their_types_say() {
        assert_eq!(*text("Aé\u{1f600}"), [0, 0, 0, 4, 0, 0x41, 0, 0xe9, 0xd8, 0x3d, 0xde, 0]);
        assert_eq!(*handle(7), [0, 0, 0, 4, 0, 0, 0, 7]);
        assert_eq!(
            *handles([1, 2].into_iter()),
            [0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 2]
        );
        assert_eq!(*handles([].into_iter()), [0, 0, 0, 0]);
        assert_eq!((*boolean(true)).to_vec(), [0, 0, 0, 1]);
        assert_eq!(
            (time(None).len(), &*time(Some(LogicalTime::Integer(3)))),
            (4, &[0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 3][..])
        );
        assert_eq!(*texts(["a", "b"].into_iter()), [0, 0, 0, 2, 0, 0, 0, 1, 0, 97, 0, 0, 0, 0, 0, 1, 0, 98]);
        assert_eq!(*numbered(&[(1, 7)]), [0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 7]);
    }

    #[test]
    fn values_are_read_as_they_are_encoded() {
        assert_eq!(read_text(&text("Aé\u{1f600}")).as_deref(), Ok("Aé\u{1f600}"));
        assert_eq!(read_handle(&handle(7)), Ok(7));
        assert_eq!(read_handles(&handles([1, 2].into_iter())), Ok(vec![1, 2]));
        assert_eq!((read_boolean(&boolean(true)), read_integer(&integer(9))), (Ok(true), Ok(9)));
        assert_eq!(read_opaque(&time(Some(LogicalTime::Integer(3)))).map(<[u8]>::len), Ok(8));
        for bytes in
            [&[][..], &[0], &[0, 0, 0, 2], &[0, 0, 0, 1, 0], &[0xff; 9], &[0, 0, 0, 4, 0, 0, 0, 1, 0]]
        {
            assert!(read_text(bytes).is_err() && read_handle(bytes).is_err(), "{bytes:?}");
            assert!(read_handles(bytes).is_err() && read_boolean(bytes).is_err(), "{bytes:?}");
        }
    }
}
