//! Distributions of flow sizes: points of the cumulative distribution function, with straight lines between.
//!
//! All is integers: what is drawn is the same on every machine.

use paceline_kernel::Rng;

use super::number::Decimal;
use super::{FileError, Mistake, lines};
use crate::queue::Share;

/// A distribution of sizes in bytes. Sizes and shares never get less from point to point, and the last share
/// is the whole. Two points of one size are a step; a first share above zero is one as well.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Cdf {
    points: Vec<(u64, Share)>,
}

/// The bytes of a packet where a file counts in packets, as pFabric's do: a full TCP segment on Ethernet.
const PACKET_BYTES: u64 = 1460;
/// The largest size: an exabyte.
const SIZE_MAX: u64 = 1_000_000_000_000_000_000;

const ALLOWED: &str = "`bytes share` a line, or `packets number share` as in ns-2's files, both never falling, shares up to 1 or 100 (per cent)";

impl Cdf {
    /// All sizes are one.
    pub fn constant(bytes: u64) -> Self {
        Self { points: vec![(bytes, Share::ONE)] }
    }

    /// Reads points, one a line: a size in bytes and the share of flows that are not larger, from 0 to 1, or
    /// from 0 to 100 where the last is 100. With three numbers in each line, the first is a size in packets
    /// of 1460 bytes, and the second is not looked at: files for ns-2's `Empirical` variable are such.
    ///
    /// ```
    /// use paceline_packets::files::Cdf;
    /// let sizes = Cdf::read("sizes.txt", "1000 0\n3000 50\n5000 100\n")?;
    /// assert_eq!((sizes.mean(), sizes.largest()), (3000.0, 5000));
    /// let mistake = Cdf::read("sizes.txt", "1000 0\n3000 0.5\n").unwrap_err();
    /// assert_eq!(mistake.problem, "the last share is 0.5: this is no distribution");
    /// # Ok::<(), paceline_packets::files::FileError>(())
    /// ```
    ///
    /// # Errors
    /// A line has not two or three numbers, or as many as the first; sizes or shares fall; the last share is
    /// neither 1 nor 100; all sizes are zero.
    pub fn read(file: &str, text: &str) -> Result<Self, FileError> {
        read(text).map_err(|mistake| mistake.of(file))
    }

    /// The size below or at which `share` of the flows are, on the line between two points, rounded down; at
    /// least a byte.
    pub fn quantile(&self, share: Share) -> u64 {
        let place = self.points.partition_point(|(_, of_point)| *of_point < share);
        let (bytes, of_point) = self.points[place.min(self.points.len() - 1)];
        let Some((before, of_before)) = place.checked_sub(1).map(|before| self.points[before]) else {
            return bytes.max(1);
        };
        // The share lies above that of the point before, so that the line is not flat.
        let part = share.minus(of_before).part_of(of_point.minus(of_before)).unwrap_or(Share::ONE);
        (before + part.of(bytes - before)).max(1)
    }

    /// A size: one draw.
    pub fn draw(&self, rng: &mut Rng) -> u64 {
        self.quantile(Share::of_draw(rng.u64()))
    }

    /// The mean size in bytes, for people to read and to set loads by.
    pub fn mean(&self) -> f64 {
        let (first, of_first) = self.points[0];
        let steps = self.points.windows(2).map(|pair| {
            let [(before, of_before), (bytes, of_point)] = [pair[0], pair[1]];
            f64::midpoint(before as f64, bytes as f64) * (of_point.as_f64() - of_before.as_f64())
        });
        first as f64 * of_first.as_f64() + steps.sum::<f64>()
    }

    /// The largest size.
    pub fn largest(&self) -> u64 {
        self.points.last().map_or(0, |(bytes, _)| *bytes)
    }
}

/// A point as it stands in the file.
struct Point<'a> {
    line: usize,
    bytes: u64,
    share: &'a str,
    value: Decimal,
}

fn read(text: &str) -> Result<Cdf, Mistake> {
    let (mut points, mut columns): (Vec<Point>, _) = (Vec::new(), 0);
    for (line, numbers) in lines(text) {
        let words: Vec<&str> = numbers.split(|sign: char| sign.is_whitespace() || sign == ',').collect();
        let words: Vec<&str> = words.into_iter().filter(|word| !word.is_empty()).collect();
        if columns == 0 {
            columns = words.len();
        }
        let refuse = || Mistake::new(line, format!("the line {:?}", numbers.trim()), ALLOWED);
        let (size, share, unit) = match words[..] {
            [size, share] if columns == 2 => (size, share, 1),
            [size, _, share] if columns == 3 => (size, share, PACKET_BYTES),
            _ => return Err(refuse()),
        };
        let bytes = Decimal::parse(size).and_then(Decimal::whole).and_then(|size| size.checked_mul(unit));
        let bytes = bytes.filter(|bytes| *bytes <= SIZE_MAX).ok_or_else(refuse)?;
        let value = Decimal::parse(share).ok_or_else(refuse)?;
        points.push(Point { line, bytes, share, value });
    }
    let Some(last) = points.last() else { return Err(Mistake::new(1, "a file without points", ALLOWED)) };
    // Billionths of the whole: of 1 or of 100.
    let places = match last.value.whole() {
        Some(1) => PLACES,
        Some(100) => PLACES - 2,
        _ => {
            let problem = format!("the last share is {}: this is no distribution", last.share);
            return Err(Mistake::new(last.line, problem, ALLOWED));
        }
    };
    if last.bytes == 0 {
        return Err(Mistake::new(last.line, "all sizes are 0", "a size of 1 byte or more"));
    }
    let mut cdf = Cdf { points: Vec::new() };
    for point in &points {
        let share = point.value.scaled(places).and_then(|part| Share::ratio(part, 10u64.pow(PLACES as u32)));
        let share = share.ok_or_else(|| {
            Mistake::new(point.line, format!("a share of {}, above the last one", point.share), ALLOWED)
        })?;
        if let Some((bytes, before)) = cdf.points.last()
            && (point.bytes < *bytes || share < *before)
        {
            let what = if share < *before { "share" } else { "size" };
            let problem = format!("the {what} falls from the line before: this is no distribution");
            return Err(Mistake::new(point.line, problem, ALLOWED));
        }
        cdf.points.push((point.bytes, share));
    }
    Ok(cdf)
}

/// The decimal places of a share that count.
const PLACES: i32 = 18;
