//! Nothing is lost and nothing comes twice: broken connections, outages, kills, full disks, and many jobs in a row.

mod bounds;
mod cancel;
mod disk;
mod gate;
mod killed;
mod outage;
mod stage;
