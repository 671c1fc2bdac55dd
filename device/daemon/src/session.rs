//! The current connection, and its end.
//!
//! The queue's thread may end it before the thread that accepted it has registered it: a frontend is served as soon as the
//! transport reads its messages.

use vhost_user_backend::ShutdownHandle;

#[derive(Default)]
pub(crate) struct Session {
    connection: Option<ShutdownHandle>,
    is_over: bool,
}

impl Session {
    /// There is a connection; it ends at once if that was wanted already.
    pub(crate) fn begin(&mut self, connection: ShutdownHandle) {
        if self.is_over {
            connection.shutdown();
        } else {
            self.connection = Some(connection);
        }
    }

    /// Ends the connection, now or when it is told of; false if that was wanted before.
    pub(crate) fn end(&mut self) -> bool {
        if let Some(connection) = self.connection.take() {
            connection.shutdown();
        }
        !std::mem::replace(&mut self.is_over, true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::sync::Arc;
    use std::time::Duration;

    use ane_device::Options;
    use vhost::vhost_user::Listener;
    use vhost_user_backend::VhostUserDaemon;
    use vm_memory::{GuestMemoryAtomic, GuestMemoryMmap};

    use super::*;
    use crate::backend::Backend;
    use crate::trace::Trace;

    /// A session of which `in_order` tells and which it ends; true if the frontend then sees its end.
    fn ends(in_order: impl FnOnce(&mut Session, ShutdownHandle)) -> bool {
        let folder = tempfile::tempdir().unwrap();
        let socket = folder.path().join("ane.sock");
        let mut listener = Listener::from(UnixListener::bind(&socket).unwrap());
        let mut frontend = UnixStream::connect(&socket).unwrap();
        frontend.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let backend = Backend::new(&Options::default(), Duration::ZERO, Trace::new(None).unwrap()).unwrap();
        let memory = GuestMemoryAtomic::new(GuestMemoryMmap::new());
        let mut daemon = VhostUserDaemon::new("ane".to_owned(), Arc::new(backend), memory).unwrap();
        daemon.start(&mut listener).unwrap();
        in_order(&mut Session::default(), daemon.shutdown_handle().unwrap());
        frontend.read(&mut [0]).is_ok_and(|bytes| bytes == 0)
    }

    #[test]
    fn end_that_comes_before_its_session_was_told_of_holds_as_one_that_comes_behind() {
        assert!(ends(|session, connection| {
            session.begin(connection);
            assert!(session.end() && !session.end());
        }));
        assert!(ends(|session, connection| {
            assert!(session.end() && !session.end());
            session.begin(connection);
        }));
    }
}
