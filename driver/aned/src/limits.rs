//! Options for the limits of a request and of a user, the same in `aned` and in `ane daemon`.

use std::time::Duration;

use ane_driver::limits::Limits;
use clap::Args;

/// The limits of a request and of a user.
#[derive(Clone, Copy, Debug, Default, Args)]
pub struct LimitArgs {
    /// End any request that the device works on for longer than this, with ETIME [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..))]
    request_limit: Option<u32>,

    /// Refuse a request of more tasks than this, with E2BIG [default: no limit]
    #[arg(long, value_name = "TASKS", value_parser = clap::value_parser!(u32).range(1..))]
    request_tasks: Option<u32>,

    /// Give a user the engine for this long in each minute; requests beyond wait for the next [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=60))]
    user_limit: Option<u32>,

    /// While this many tasks of a user wait or run, keep the next request waiting, or refuse it with EAGAIN if it does not
    /// wait [default: no limit]
    #[arg(long, value_name = "TASKS", value_parser = clap::value_parser!(u32).range(1..))]
    user_tasks: Option<u32>,
}

impl LimitArgs {
    pub fn limits(&self) -> Limits {
        let seconds = |seconds: u32| Duration::from_secs(seconds.into());
        Limits {
            request_time: self.request_limit.map(seconds),
            request_tasks: self.request_tasks,
            user_time: self.user_limit.map(seconds),
            user_tasks: self.user_tasks,
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        limits: LimitArgs,
    }

    #[test]
    fn each_option_sets_the_limit_of_its_name_and_none_is_set_without() {
        let of = |line: &[&str]| Line::parse_from([&["aned"], line].concat()).limits.limits();
        let seconds = Duration::from_secs;
        let none = Limits::default();
        assert_eq!(of(&[]), none);
        assert_eq!(of(&["--request-limit", "7"]), Limits { request_time: Some(seconds(7)), ..none });
        assert_eq!(of(&["--request-tasks", "8"]), Limits { request_tasks: Some(8), ..none });
        assert_eq!(of(&["--user-limit", "9"]), Limits { user_time: Some(seconds(9)), ..none });
        assert_eq!(of(&["--user-tasks", "10"]), Limits { user_tasks: Some(10), ..none });
        // A user cannot have more than the whole engine, nor an engine without time.
        for refused in [["--user-limit", "61"], ["--user-limit", "0"], ["--request-tasks", "0"]] {
            assert!(Line::try_parse_from([&["aned"], &refused[..]].concat()).is_err(), "{refused:?}");
        }
    }
}
