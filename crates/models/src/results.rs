//! What a model says of a finished run.
