//! MRG32k3a with streams and substreams (L'Ecuyer et al., 2002): the generator of ns-3, with which a list of
//! flows that is stated by a seed and a stream can be made again. Everything is computed with integers.

type Vector = [u64; 3];
type Matrix = [Vector; 3];

/// The moduli of the two components.
const MODULI: [u64; 2] = [4_294_967_087, 4_294_944_443];
/// Their steps; what is subtracted in the paper is written as what is added to the modulus.
const STEPS: [Matrix; 2] = [
    [[0, 1, 0], [0, 0, 1], [MODULI[0] - 810_728, 1_403_580, 0]],
    [[0, 1, 0], [0, 0, 1], [MODULI[1] - 1_370_589, 0, 527_612]],
];
/// The distances of streams and of substreams, as powers of two.
const STREAM: u32 = 127;
const SUBSTREAM: u32 = 76;

fn apply(matrix: &Matrix, vector: Vector, modulus: u64) -> Vector {
    // Each product is below 2^64: its remainder is taken before the sum.
    matrix.map(|row| (0..3).fold(0, |sum, place| (sum + row[place] * vector[place] % modulus) % modulus))
}

fn product(one: &Matrix, other: &Matrix, modulus: u64) -> Matrix {
    let column = |place: usize| apply(one, other.map(|row| row[place]), modulus);
    let columns = [column(0), column(1), column(2)];
    [0, 1, 2].map(|row| [columns[0][row], columns[1][row], columns[2][row]])
}

/// A stream of numbers.
#[derive(Clone, Debug)]
pub(super) struct Mrg32k3a {
    state: [Vector; 2],
}

impl Mrg32k3a {
    /// The substream of a stream; all six words of the state of stream 0 are `seed`.
    pub fn new(seed: u32, stream: u64, substream: u64) -> Self {
        let mut generator = Self { state: [[seed.into(); 3]; 2] };
        generator.skip(stream, STREAM);
        generator.skip(substream, SUBSTREAM);
        generator
    }

    /// Goes on by `count` times 2^`power` numbers.
    fn skip(&mut self, count: u64, power: u32) {
        for ((state, step), modulus) in self.state.iter_mut().zip(STEPS).zip(MODULI) {
            let squared = |matrix: Matrix| product(&matrix, &matrix, modulus);
            let mut step = (0..power).fold(step, |step, _| squared(step));
            for bit in 0..u64::BITS - count.leading_zeros() {
                if count >> bit & 1 == 1 {
                    *state = apply(&step, *state, modulus);
                }
                step = squared(step);
            }
        }
    }

    /// The next number, above 0 and below 1.
    pub fn next(&mut self) -> f64 {
        for ((state, step), modulus) in self.state.iter_mut().zip(&STEPS).zip(MODULI) {
            *state = apply(step, *state, modulus);
        }
        let [one, other] = [self.state[0][2], self.state[1][2]];
        let whole = if one > other { one - other } else { one + MODULI[0] - other };
        whole as f64 / (MODULI[0] + 1) as f64
    }
}

#[cfg(test)]
mod test {
    use super::*;

    /// The seed 12345 of the package, stream 0: the first numbers, as RngStream of ns-3 3.37 prints them.
    #[test]
    fn the_first_numbers_are_those_of_the_package() {
        let mut stream = Mrg32k3a::new(12_345, 0, 0);
        let found = [(); 3].map(|()| stream.next());
        let known = [0.127_011_122_046_577_1, 0.318_527_565_396_794_5, 0.309_186_015_583_270_1];
        for (found, known) in found.iter().zip(known) {
            assert!((found - known).abs() < 1e-12, "{found}, the package has {known}");
        }
    }

    /// 2^k numbers further is k doublings of the step.
    #[test]
    fn skipping_is_the_same_as_drawing() {
        let (mut drawn, mut skipped) = (Mrg32k3a::new(7, 0, 0), Mrg32k3a::new(7, 0, 0));
        (0..40).for_each(|_| {
            drawn.next();
        });
        skipped.skip(5, 3);
        assert_eq!(drawn.state, skipped.state);
    }
}
