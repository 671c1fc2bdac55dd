//! A machine's monitor: lines of JSON over a socket.
//!
//! A command is answered by `return` or `error`; events come in between, whenever they like.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use thiserror::Error;

/// How long the monitor may take to answer.
const ANSWER: Duration = Duration::from_secs(30);

/// Longest line that is read: a monitor says less.
const LINE: u64 = 1 << 20;

#[derive(Debug, Error)]
pub enum QmpError {
    #[error("no machine's monitor listens at {path}: {why}")]
    Absent { path: String, why: std::io::Error },
    #[error("the machine's monitor is gone: {0}")]
    Gone(String),
    #[error("the machine refuses {command}: {why}")]
    Refused { command: String, why: String },
    #[error("{event} did not come within {limit:?}")]
    Late { event: &'static str, limit: Duration },
}

pub struct Monitor {
    lines: BufReader<UnixStream>,
    events: Vec<Value>,
}

impl Monitor {
    /// Connects to the monitor at `path`.
    ///
    /// # Errors
    ///
    /// If there is none, or another program has it: a monitor serves one.
    pub fn connect(path: &Path) -> Result<Self, QmpError> {
        let absent = |why| QmpError::Absent { path: path.display().to_string(), why };
        let stream = UnixStream::connect(path).map_err(absent)?;
        stream.set_read_timeout(Some(ANSWER)).map_err(absent)?;
        let mut monitor = Self { lines: BufReader::new(stream), events: Vec::new() };
        let greeting = monitor.line()?;
        if greeting.get("QMP").is_none() {
            return Err(QmpError::Gone(format!("it says {greeting}, which no monitor does")));
        }
        monitor.ask("qmp_capabilities", json!({}))?;
        Ok(monitor)
    }

    fn line(&mut self) -> Result<Value, QmpError> {
        let mut line = String::new();
        let mut limited = std::io::Read::take(&mut self.lines, LINE);
        match limited.read_line(&mut line) {
            Ok(0) => Err(QmpError::Gone("it closed the connection".to_owned())),
            Ok(_) => {
                serde_json::from_str(&line).map_err(|why| QmpError::Gone(format!("it says {line:?}: {why}")))
            }
            Err(why) => Err(QmpError::Gone(why.to_string())),
        }
    }

    pub fn ask(&mut self, command: &str, arguments: Value) -> Result<Value, QmpError> {
        let request = json!({"execute": command, "arguments": arguments});
        writeln!(self.lines.get_mut(), "{request}").map_err(|why| QmpError::Gone(why.to_string()))?;
        loop {
            let mut line = self.line()?;
            if let Some(error) = line.get("error") {
                let why = error.get("desc").and_then(Value::as_str).unwrap_or("no reason").to_owned();
                return Err(QmpError::Refused { command: command.to_owned(), why });
            }
            if let Some(answer) = line.get_mut("return") {
                return Ok(answer.take());
            }
            self.events.push(line);
        }
    }

    /// Waits for an event for which `is_it` holds; those before it are forgotten.
    pub fn wait_for(
        &mut self,
        event: &'static str,
        limit: Duration,
        is_it: impl Fn(&Value) -> bool,
    ) -> Result<(), QmpError> {
        let end = Instant::now() + limit;
        let is_it = |line: &Value| line.get("event").and_then(Value::as_str) == Some(event) && is_it(line);
        if std::mem::take(&mut self.events).iter().any(&is_it) {
            return Ok(());
        }
        loop {
            let left = end.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(QmpError::Late { event, limit });
            }
            let set = self.lines.get_ref().set_read_timeout(Some(left));
            set.map_err(|why| QmpError::Gone(why.to_string()))?;
            let line = self.line();
            let set = self.lines.get_ref().set_read_timeout(Some(ANSWER));
            set.map_err(|why| QmpError::Gone(why.to_string()))?;
            match line {
                Ok(line) if is_it(&line) => return Ok(()),
                Ok(_) => {}
                Err(_) if Instant::now() >= end => return Err(QmpError::Late { event, limit }),
                Err(why) => return Err(why),
            }
        }
    }
}
