//! Distances on the earth, and how long light takes for them in a fibre.
//!
//! Sines come from `libm`, which computes the same bits on every machine.

/// A place in degrees, north and east positive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) latitude: f64,
    pub(super) longitude: f64,
}

/// The mean radius of the earth in kilometres (IUGG).
const EARTH_KM: f64 = 6371.0088;
/// The speed of light in a fibre, two thirds of that in a vacuum, in kilometres a second.
const FIBRE_KM_PER_S: f64 = 299_792.458 * 2.0 / 3.0;

/// The length of the great circle between two places in kilometres (haversine formula).
pub(super) fn distance_km(one: Place, other: Place) -> f64 {
    let half = |from: f64, to: f64| libm::sin((to - from).to_radians() / 2.0);
    let (north, east) = (half(one.latitude, other.latitude), half(one.longitude, other.longitude));
    let parallels = libm::cos(one.latitude.to_radians()) * libm::cos(other.latitude.to_radians());
    let square = north * north + parallels * east * east;
    2.0 * EARTH_KM * libm::asin(libm::sqrt(square.min(1.0)))
}

/// How long light takes for so many kilometres of fibre, in picoseconds.
pub(super) fn fibre_ps(km: f64) -> u64 {
    (km / FIBRE_KM_PER_S * 1e12 + 0.5) as u64
}
