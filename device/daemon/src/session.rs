//! The current connection, and its end.
//!
//! The queue's thread may end it before the thread that accepted it has registered it: a frontend is served as soon as the
//! transport reads its messages.

use std::net::Shutdown;
use std::os::unix::net::UnixStream;

#[derive(Default)]
pub(crate) struct Session {
    connection: Option<UnixStream>,
    is_over: bool,
}

fn shut_down(connection: &UnixStream) {
    // One that hung up by itself is as quiet.
    let _ = connection.shutdown(Shutdown::Both);
}

impl Session {
    /// There is a connection; it ends at once if that was wanted already.
    pub(crate) fn begin(&mut self, connection: UnixStream) {
        if self.is_over {
            shut_down(&connection);
        } else {
            self.connection = Some(connection);
        }
    }

    /// Ends the connection, now or when it is told of; false if that was wanted before.
    pub(crate) fn end(&mut self) -> bool {
        if let Some(connection) = self.connection.take() {
            shut_down(&connection);
        }
        !std::mem::replace(&mut self.is_over, true)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::time::Duration;

    use super::*;

    /// A session of which `in_order` tells and which it ends; true if the frontend then sees its end.
    fn ends(in_order: impl FnOnce(&mut Session, UnixStream)) -> bool {
        let (mut frontend, device) = UnixStream::pair().unwrap();
        frontend.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let connection = device.try_clone().unwrap();
        in_order(&mut Session::default(), connection);
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
