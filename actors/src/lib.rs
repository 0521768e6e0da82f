//! Actors
