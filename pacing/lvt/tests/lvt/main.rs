//! LVT pages: who writes and reads them, in which language, and what may go wrong.

mod bpf_map;
mod faults;
mod languages;
mod phold_c;
mod process;
mod publishing;
mod relay;
