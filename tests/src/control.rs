//! A client of the daemon's control socket.

use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;

use crate::daemon::LIMIT;

pub struct Control {
    reader: BufReader<UnixStream>,
}

impl Control {
    /// Connects to the socket at `path`.
    ///
    /// # Panics
    ///
    /// If nobody listens.
    pub fn connect(path: &Path) -> Self {
        let stream = UnixStream::connect(path).expect("the daemon listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a time-out can be set");
        Self { reader: BufReader::new(stream) }
    }

    /// Sends a line, and returns the lines that it is answered with, or why it is refused.
    ///
    /// # Errors
    ///
    /// The error is the text behind `error`.
    ///
    /// # Panics
    ///
    /// If there is no answer.
    pub fn ask(&mut self, line: &str) -> Result<Vec<String>, String> {
        self.send(format!("{line}\n").as_bytes());
        self.answer()
    }

    /// Sends bytes.
    ///
    /// # Panics
    ///
    /// If they are not taken.
    pub fn send(&mut self, bytes: &[u8]) {
        self.try_send(bytes).expect("the daemon takes lines");
    }

    /// Sends bytes, to a daemon that may have hung up.
    ///
    /// # Errors
    ///
    /// The system's, if it has.
    pub fn try_send(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.reader.get_mut().write_all(bytes)
    }

    /// The next answer.
    ///
    /// # Errors
    ///
    /// The error is the text behind `error`.
    ///
    /// # Panics
    ///
    /// If there is none, or it is not in the protocol's form.
    pub fn answer(&mut self) -> Result<Vec<String>, String> {
        let mut told = Vec::new();
        loop {
            let line = self.line().expect("an answer ends");
            if line == "ok" {
                return Ok(told);
            }
            if let Some(why) = line.strip_prefix("error ") {
                return Err(why.to_owned());
            }
            told.push(line.strip_prefix("  ").expect("what is told is indented").to_owned());
        }
    }

    /// True if the daemon has hung up.
    pub fn is_closed(&mut self) -> bool {
        self.line().is_none()
    }

    fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        // To be hung up on in the middle of a line, by a daemon that left it unread, is an error of its own.
        let bytes = self.reader.read_line(&mut line).unwrap_or(0);
        (bytes != 0).then(|| line.trim_end_matches('\n').to_owned())
    }
}
