//! paceline
