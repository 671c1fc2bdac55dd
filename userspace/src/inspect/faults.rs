//! The report on faults.

use serde::Serialize;

use super::{ReportError, Source};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Faults {
    /// A fault waits for somebody: in the driver for recovery, in a window of the device to be cleared.
    pub is_latched: bool,
    /// The mappings and the device's work at the last fault, by the driver.
    pub dump: Option<String>,
    pub failure: Option<String>,
    /// The device's state in words, by the device.
    pub device: Option<String>,
}

impl Faults {
    pub fn of(source: &Source) -> Result<Self, ReportError> {
        Self::read(&source.report("faults")?)
    }

    fn read(text: &str) -> Result<Self, ReportError> {
        let mut faults = Self::default();
        let mut reason = None;
        let mut section: Option<&mut Option<String>> = None;
        for line in text.lines() {
            if let (Some(inside), Some(text)) = (line.strip_prefix("  "), &mut section) {
                let text = text.get_or_insert_default();
                if !text.is_empty() {
                    text.push('\n');
                }
                text.push_str(inside);
                continue;
            }
            section = match line {
                "fault latched" | "fault clear" => {
                    faults.is_latched = line == "fault latched";
                    None
                }
                "dump" => Some(&mut faults.dump),
                "failure" => Some(&mut faults.failure),
                "device" => Some(&mut faults.device),
                "reason" => Some(&mut reason),
                _ => return Err(ReportError::Nonsense { what: "faults", line: line.to_owned() }),
            };
        }
        // The device knows register and bits. A driver that heard of them from it says the same, and more.
        let has_reason = |text: &String| reason.as_ref().is_none_or(|reason| text.contains(reason.as_str()));
        faults.failure = faults.failure.filter(has_reason).or(reason);
        Ok(faults)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_are_read_and_the_devices_reason_counts_more() {
        let text =
            "fault latched\ndump\n  fault 1\n    in detail\nfailure\n  failed\nreason\n  task 1 faulted\n";
        let faults = Faults::read(text).unwrap();
        assert!(faults.is_latched && faults.device.is_none());
        assert_eq!(faults.dump.as_deref(), Some("fault 1\n  in detail"));
        assert_eq!(faults.failure.as_deref(), Some("task 1 faulted"));
        let text = "fault clear\nfailure\n  request 1: task 1 faulted; mend it\nreason\n  task 1 faulted\n";
        let faults = Faults::read(text).unwrap();
        assert_eq!(faults.failure.as_deref(), Some("request 1: task 1 faulted; mend it"));
        assert_eq!(Faults::read("fault clear\n").unwrap(), Faults::default());
    }

    #[test]
    fn line_of_no_section_is_refused() {
        let message = Faults::read("faults none\n").unwrap_err().to_string();
        assert_eq!(message, "device's report of faults has line \"faults none\", which is not understood");
    }
}
