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

/// HLAhandle: the number of its bytes, and these.
pub(super) fn handle(handle: u32) -> Bytes {
    list([Bytes::copy_from_slice(&handle.to_be_bytes())].into_iter(), 4)
}

/// HLAhandleList.
pub(super) fn handles(handles: impl ExactSizeIterator<Item = u32>) -> Bytes {
    let number = handles.len() as u32;
    list(handles.map(handle), number)
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

/// HLAlogicalTime and HLAtimeInterval: as the federation's times are sent; empty if there is none.
pub(super) fn time(time: Option<LogicalTime>) -> Bytes {
    time.and_then(LogicalTime::time).map(|time| time.data).unwrap_or_default()
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
            (0, &[0, 0, 0, 0, 0, 0, 0, 3][..])
        );
    }
}
