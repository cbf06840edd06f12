//! Road traffic: the SCATTER-OPT benchmark of reference 1.
