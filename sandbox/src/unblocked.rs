//! The log of a daemon on its way to standard error: a line is written only if that does not have to wait.
//!
//! A reader that stops, such as a pager or a terminal that is held, fills the pipe before it. Peers cause lines of the log, so
//! they could stop a daemon that waits for its reader.

use std::io::{self, Write};
use std::os::fd::AsFd;

use nix::poll::{PollFd, PollFlags, ppoll};
use nix::sys::time::TimeSpec;

/// Bytes that a pipe takes at once when it takes any (POSIX has 512 at least, Linux a page).
const AT_ONCE: usize = 4096;

/// Writes to `F` what can be written at once, and leaves out the rest.
#[derive(Debug)]
pub struct Unblocked<F> {
    to: F,
    left_out: u64,
}

impl<F: AsFd + Write> Unblocked<F> {
    pub const fn of(to: F) -> Self {
        Self { to, left_out: 0 }
    }

    fn would_wait(&self) -> bool {
        let mut places = [PollFd::new(self.to.as_fd(), PollFlags::POLLOUT)];
        // An error is the writer's to find.
        ppoll(&mut places, Some(TimeSpec::new(0, 0)), None) == Ok(0)
    }
}

impl<F: AsFd + Write> Write for Unblocked<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.would_wait() {
            self.left_out = self.left_out.saturating_add(bytes.len() as u64);
            return Ok(bytes.len());
        }
        if self.left_out > 0 {
            let line =
                format!("\n{} bytes of the log were left out, because nobody read it\n", self.left_out);
            self.left_out = 0;
            self.to.write_all(line.as_bytes())?;
            // That may have filled the pipe.
            return self.write(bytes);
        }
        self.to.write(bytes.get(..AT_ONCE).unwrap_or(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn log_that_nobody_reads_is_left_out_and_said_to_be_when_somebody_reads_again() {
        let (log, mut reader) = UnixStream::pair().unwrap();
        let mut log = Unblocked::of(log);
        let line = [b'x'; 1000];
        // Far more than a socket holds: this would never end if it waited.
        for _ in 0..10_000 {
            log.write_all(&line).unwrap();
        }
        reader.set_nonblocking(true).unwrap();
        let mut seen = Vec::new();
        let _ = reader.read_to_end(&mut seen);
        log.write_all(b"the end\n").unwrap();
        let mut rest = Vec::new();
        let _ = reader.read_to_end(&mut rest);
        let left_out = line.len() * 10_000 - seen.len();
        let told = format!("\n{left_out} bytes of the log were left out, because nobody read it\nthe end\n");
        assert_eq!(String::from_utf8(rest).unwrap(), told);
    }
}
