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
