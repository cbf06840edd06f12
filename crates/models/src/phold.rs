//! PHOLD (Fujimoto, 1990), as reference 1 uses it: a fixed population of messages that LPs pass around.
