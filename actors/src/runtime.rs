//! Where actors live: one system on a multi-thread tokio runtime.
//!
//! Actor shells run on the main thread; the engine's work runs in `tokio::spawn` on the worker threads.

use std::future::Future;
use std::io;

/// Runs a future, and the actors that it starts, to its end.
///
/// # Errors
/// The runtime could not be started.
pub fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?;
    // The system takes the runtime; a second one is never made, so building it cannot be observed to fail.
    let mut built = Some(runtime);
    let system = actix::System::with_tokio_rt(move || match built.take() {
        Some(runtime) => runtime,
        None => unreachable!("actix asks for its runtime once"),
    });
    Ok(system.block_on(future))
}
