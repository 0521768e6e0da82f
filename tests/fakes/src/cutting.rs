//! A proxy on loopback that passes bytes on, and breaks connections when it is told to.

#![expect(clippy::unwrap_used, reason = "a fake that cannot do its work fails its test")]

use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinHandle, JoinSet};

/// What the proxy is to do; a new order takes the place of the one before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Order {
    accepts: bool,
    /// How often all connections were cut.
    cuts: u64,
}

/// What has become of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Seen {
    /// The order that was carried out last.
    carried_out: Order,
    /// How many connections there have been.
    connections: u64,
}

/// The proxy. It ends when it is dropped.
///
/// While it does not accept, its port refuses connections, as the port of a server that is down does; the port stays
/// its own.
pub struct CuttingProxy {
    address: SocketAddr,
    order: watch::Sender<Order>,
    seen: watch::Receiver<Seen>,
    task: JoinHandle<()>,
}

impl CuttingProxy {
    /// Passes connections on to `server`.
    pub fn start(server: SocketAddr) -> Self {
        let door = Door::new();
        let listener = door.open();
        let address = door.address;
        let start = Order {
            accepts: true,
            cuts: 0,
        };
        let (order, orders) = watch::channel(start);
        let (report, seen) = watch::channel(Seen {
            carried_out: start,
            connections: 0,
        });
        let task = tokio::spawn(run(door, listener, server, orders, report));
        Self {
            address,
            order,
            seen,
            task,
        }
    }

    /// Where the proxy listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The proxy's address, as an operator writes it.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many connections there have been.
    pub fn connections(&self) -> u64 {
        self.seen.borrow().connections
    }

    /// Cuts every connection that is open; returns once they are cut.
    pub async fn cut(&self) {
        self.carry_out(|order| order.cuts += 1).await;
    }

    /// Cuts every connection and refuses new ones; returns once it is so.
    pub async fn stop(&self) {
        self.carry_out(|order| {
            order.accepts = false;
            order.cuts += 1;
        })
        .await;
    }

    /// Accepts connections again; returns once it does.
    pub async fn resume(&self) {
        self.carry_out(|order| order.accepts = true).await;
    }

    async fn carry_out(&self, change: impl FnOnce(&mut Order)) {
        self.order.send_modify(change);
        let order = *self.order.borrow();
        let mut seen = self.seen.clone();
        seen.wait_for(|seen| seen.carried_out == order).await.unwrap();
    }
}

impl Drop for CuttingProxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// A port that stays ours while nobody listens on it: a second socket holds it, on which nobody ever listens.
struct Door {
    address: SocketAddr,
    _holder: TcpSocket,
}

impl Door {
    fn new() -> Self {
        let holder = socket(([127, 0, 0, 1], 0).into());
        let address = holder.local_addr().unwrap();
        Self {
            address,
            _holder: holder,
        }
    }

    fn open(&self) -> TcpListener {
        socket(self.address).listen(128).unwrap()
    }
}

fn socket(address: SocketAddr) -> TcpSocket {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_reuseaddr(true).unwrap();
    socket.bind(address).unwrap();
    socket
}

async fn run(
    door: Door,
    listener: TcpListener,
    server: SocketAddr,
    mut orders: watch::Receiver<Order>,
    report: watch::Sender<Seen>,
) {
    let mut listener = Some(listener);
    let mut connections = JoinSet::new();
    let mut cuts = 0;
    loop {
        tokio::select! {
            biased;
            changed = orders.changed() => {
                if changed.is_err() {
                    return;
                }
                let order = *orders.borrow_and_update();
                if order.cuts != cuts {
                    cuts = order.cuts;
                    connections.shutdown().await;
                }
                listener = match (order.accepts, listener.take()) {
                    (true, None) => Some(door.open()),
                    (true, open) => open,
                    (false, _) => None,
                };
                report.send_modify(|seen| seen.carried_out = order);
            }
            Some(accepted) = accept(listener.as_ref()) => {
                while connections.try_join_next().is_some() {}
                report.send_modify(|seen| seen.connections += 1);
                connections.spawn(pass(accepted, server));
            }
        }
    }
}

/// The next connection; nothing, and never again, without a listener.
async fn accept(listener: Option<&TcpListener>) -> Option<TcpStream> {
    match listener {
        Some(listener) => listener.accept().await.ok().map(|(stream, _)| stream),
        None => None,
    }
}

async fn pass(mut caller: TcpStream, server: SocketAddr) {
    if let Ok(mut server) = TcpStream::connect(server).await {
        // A connection that breaks is what this proxy is for.
        drop(tokio::io::copy_bidirectional(&mut caller, &mut server).await);
    }
}
