//! The rules that accept or refuse, one program: quick to build, so that each of them can be broken many times over.

mod decision;
mod house;
mod left_alone;
mod machines;
mod reconciliation;
mod roster;
mod shown;
mod table_change;
mod table_guards;
