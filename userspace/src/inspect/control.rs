//! A device's control socket: lines that ask, and what `vhost-device-ane` tells.

use std::io::{self, BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::ReportError;

/// How long an answer may take: between two tasks of the engine there is time for one.
const TIMEOUT: Duration = Duration::from_secs(10);

/// Bytes of an answer: the longest, a timeline, has six megabytes.
const ANSWER_MAX: u64 = 32 << 20;

/// The control socket of a device, and the engine that is meant behind it.
#[derive(Clone, Debug)]
pub struct Control {
    path: PathBuf,
    engine: Option<String>,
}

impl Control {
    /// The socket at `path`. Where there are several engines, one of them is named.
    pub fn at(path: impl AsRef<Path>, engine: Option<&str>) -> Self {
        Self { path: path.as_ref().to_owned(), engine: engine.map(str::to_owned) }
    }

    pub(super) fn ask(&self, line: &str) -> Result<String, ReportError> {
        let failed = |why| ReportError::Control { socket: self.path.display().to_string(), why };
        let line = match &self.engine {
            Some(engine) => format!("@{engine} {line}\n"),
            None => format!("{line}\n"),
        };
        self.answer(&line).map_err(failed)?.map_err(ReportError::Refused)
    }

    /// The lines of the answer, or why there are none.
    fn answer(&self, line: &str) -> io::Result<Result<String, String>> {
        let stream = UnixStream::connect(&self.path)?;
        stream.set_read_timeout(Some(TIMEOUT))?;
        stream.set_write_timeout(Some(TIMEOUT))?;
        // One that refuses this user says so and hangs up, maybe before it heard anything.
        (&stream).write_all(line.as_bytes()).or_else(|why| match why.kind() {
            ErrorKind::BrokenPipe => Ok(()),
            _ => Err(why),
        })?;
        let mut text = String::new();
        for line in BufReader::new(stream.take(ANSWER_MAX)).lines() {
            let line = line.map_err(|why| match why.kind() {
                ErrorKind::WouldBlock => io::Error::new(ErrorKind::TimedOut, "the device does not answer"),
                _ => why,
            })?;
            if line == "ok" {
                return Ok(Ok(text));
            }
            if let Some(why) = line.strip_prefix("error ") {
                return Ok(Err(why.to_owned()));
            }
            let line = line.strip_prefix("  ").ok_or_else(|| {
                io::Error::new(ErrorKind::InvalidData, "who answers is no control socket of a device")
            })?;
            text.push_str(line);
            text.push('\n');
        }
        Err(io::Error::new(ErrorKind::UnexpectedEof, "the answer has no end"))
    }
}
