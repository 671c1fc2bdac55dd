//! A sign of life for the service manager, as long as every engine has one.
//!
//! A unit with `WatchdogSec=` is started anew if its signs stay away. A thread that only reports that it runs would also
//! report it of a device that is stuck. So a sign is given only after each engine could be taken, which is possible between
//! two of its turns, and while no connection takes longer to end than an engine may.

use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use super::hold::Hold;

/// The manager's socket, and how often it wants a sign.
pub(crate) struct Watchdog {
    socket: UnixDatagram,
    every: Duration,
}

impl Watchdog {
    /// The watchdog that the service manager asks for in the environment, if it does.
    pub(crate) fn asked() -> io::Result<Option<Self>> {
        let wanted = std::env::var("WATCHDOG_USEC").ok().and_then(|text| text.parse().ok());
        let is_meant =
            std::env::var("WATCHDOG_PID").map_or(true, |pid| pid == std::process::id().to_string());
        let place = std::env::var("NOTIFY_SOCKET").ok().filter(|_| is_meant);
        let (Some(microseconds), Some(place)) = (wanted, place) else {
            return Ok(None);
        };
        let address = match place.strip_prefix('@') {
            Some(name) => SocketAddr::from_abstract_name(name)?,
            None => SocketAddr::from_pathname(&place)?,
        };
        let socket = UnixDatagram::unbound()?;
        socket.connect_addr(&address)?;
        // A manager that does not read is not waited for: that would be the end of the signs.
        socket.set_nonblocking(true)?;
        // Two signs to each span: one may come late.
        let every = Duration::from_micros(microseconds).checked_div(2).unwrap_or_default();
        Ok(Some(Self { socket, every }))
    }

    /// Gives signs from now on.
    pub(crate) fn start(self, engines: Vec<(String, Arc<Hold>)>) -> io::Result<()> {
        let every = self.every.max(Duration::from_millis(1));
        let guard = move || {
            loop {
                // All engines share one span, so that the sign comes in time.
                let end = Instant::now().checked_add(every).unwrap_or_else(Instant::now);
                match engines.iter().find(|(_, engine)| !engine.is_alive(every, end)) {
                    None => {
                        let _ = self.socket.send(b"WATCHDOG=1");
                    }
                    Some((name, _)) => {
                        log::error!("{name}: engine does not answer; no sign of life is given")
                    }
                }
                thread::sleep(end.saturating_duration_since(Instant::now()));
            }
        };
        thread::Builder::new().name("watchdog".to_owned()).spawn(guard).map(drop)
    }
}
