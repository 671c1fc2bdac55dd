//! What a request that failed tells of its case: the register to blame, the task, and whether the engine refuses it or a real one
//! hangs.
//!
//! A device in this process gives its failure as a value. One in another process gives it in words, and these are taken apart.
//! Both ways have to tell the same: a test compares them for what the device says of each kind of failure, so that it fails
//! when a message of the device is worded anew.

use ane_device::engine::EngineError;
use ane_device::refusal::Category;
use ane_device::td::error::DescriptorError;
use ane_device::tm::error::{ErrorCode, Failure, RequestError};
use serde::{Deserialize, Serialize};

/// The part of a register that is to blame.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Blame {
    pub register: String,
    pub address: String,
    /// The bits that matter.
    pub bits: String,
    pub value: String,
    pub why: String,
    /// Undefined, unsupported and so on.
    pub category: String,
}

impl Blame {
    /// The device's message, taken apart: `bits B of V in NAME at A: why (category)`.
    pub fn of(text: &str) -> Option<Self> {
        let (_, rest) = text.split_once("bits 0x")?;
        let (bits, rest) = rest.split_once(" of 0x")?;
        let (value, rest) = rest.split_once(" in ")?;
        let (register, rest) = rest.split_once(" at 0x")?;
        let end = rest.find(|c: char| !c.is_ascii_hexdigit())?;
        let (address, rest) = rest.split_at_checked(end)?;
        let (why, category) = rest.rsplit_once(" (")?;
        let (category, _) = category.split_once(')')?;
        Some(Self {
            register: register.to_owned(),
            address: format!("0x{address}"),
            bits: format!("0x{bits}"),
            value: format!("0x{value}"),
            why: why.trim_start_matches([':', ',', ' ']).to_owned(),
            category: category.to_owned(),
        })
    }

    /// The driver's message about a device that gives no words, taken apart: `task N: KIND: V in NAME at A`. It does not know the bits.
    fn of_registers(text: &str) -> Option<Self> {
        let (kind, rest) = without_task(text)?.split_once(": 0x")?;
        let (value, rest) = rest.split_once(" in ")?;
        let (register, address) = rest.split_once(" at 0x")?;
        ErrorCode::CODES.iter().find(|code| code.name == kind)?;
        Some(Self {
            register: register.to_owned(),
            address: format!("0x{address}"),
            bits: "unknown".to_owned(),
            value: format!("0x{value}"),
            why: "the device does not tell which bits, nor why".to_owned(),
            category: kind.to_owned(),
        })
    }

    /// The register that a failure blames. Its reasons are in the device's words, so that a report counts it with what a
    /// daemon told.
    fn of_error(error: &RequestError) -> Option<Self> {
        match error {
            RequestError::Engine(EngineError::Refused(verdict)) => {
                let place = (verdict.address, verdict.bits, verdict.value);
                Some(Self::new(verdict.register(), place, verdict.why, verdict.category))
            }
            RequestError::Descriptor(error) => {
                let (register, why) = match error {
                    DescriptorError::Unexplained { register, .. } => (register, "are not explained"),
                    DescriptorError::UnknownCode { register, .. } => (register, "holds no known code"),
                    DescriptorError::Header { .. } | DescriptorError::NoRegister { .. } => return None,
                };
                Some(Self::new(register, error.place(), why, error.category()))
            }
            _ => None,
        }
    }

    fn new(register: &str, (address, bits, value): (u32, u32, u32), why: &str, category: Category) -> Self {
        Self {
            register: register.to_owned(),
            address: format!("{address:#x}"),
            bits: format!("{bits:#010x}"),
            value: format!("{value:#010x}"),
            why: why.to_owned(),
            category: category.name().to_owned(),
        }
    }
}

/// What a failure tells of its case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Told {
    /// A real engine would hang.
    pub(super) is_hang: bool,
    /// The engine does not execute what the task's descriptor holds.
    pub(super) is_refusal: bool,
    pub(super) blame: Option<Blame>,
    /// Index of the task that failed.
    pub(super) task: Option<u32>,
}

impl Told {
    pub(super) fn by(failure: &Failure) -> Self {
        let hung = matches!(failure.error, RequestError::Deadline { hung: Some(_) });
        Self {
            is_hang: hung || failure.error.code() == ErrorCode::WouldHang,
            is_refusal: is_refusal(failure.error.code()),
            blame: Blame::of_error(&failure.error),
            // A request without a network id did not come as far as its tasks.
            task: failure.nid.map(|_| failure.task.into()),
        }
    }

    /// The same from the words of a device in another process.
    pub(super) fn in_words(text: &str) -> Self {
        let refused = Blame::of(text);
        let would_hang = refused.as_ref().is_some_and(|blame| blame.category == Category::WouldHang.name());
        // Without a register the device ends with the category, and the driver has the kind of the error alone.
        let ends_so = |category: &Category| text.ends_with(&format!(" ({})", category.name()));
        let code = code(text);
        Self {
            is_hang: would_hang || code == Some(ErrorCode::WouldHang) || text.contains("hung the engine"),
            is_refusal: refused.is_some()
                || code.is_some_and(is_refusal)
                || Category::ALL.iter().any(ends_so),
            blame: refused.or_else(|| Blame::of_registers(text)),
            task: task(text),
        }
    }
}

/// True of an error for what a descriptor holds, which the engine does not execute whenever it is submitted.
const fn is_refusal(code: ErrorCode) -> bool {
    use ErrorCode as E;
    matches!(
        code,
        E::DescriptorShort
            | E::NoRegister
            | E::Unexplained
            | E::UnknownCode
            | E::WouldHang
            | E::Unsupported
            | E::Undefined
            | E::Unpredictable
    )
}

/// The kind of the error in the driver's message about a device that gives no words.
fn code(text: &str) -> Option<ErrorCode> {
    let kind = without_task(text).unwrap_or(text).split([':', ',']).next()?;
    let code = ErrorCode::CODES.iter().find(|code| code.name == kind)?;
    ErrorCode::try_from(u8::try_from(code.value).ok()?).ok()
}

/// What follows the task in the driver's message about a device that gives no words.
fn without_task(text: &str) -> Option<&str> {
    let (task, kind) = text.strip_prefix("task ")?.split_once(": ")?;
    task.bytes().all(|c| c.is_ascii_digit()).then_some(kind)
}

/// The task in `task queue 4, nid 0x40, task 3: why`, or in `task 3: why`.
fn task(text: &str) -> Option<u32> {
    let (_, rest) = text.split_once("task ")?;
    let of_queue =
        rest.strip_prefix("queue ").and_then(|rest| rest.split_once("task ")).map(|(_, rest)| rest);
    let digits = of_queue.unwrap_or(rest);
    digits.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use ane_device::engine::plan::verdict::Verdict;
    use ane_device::td::fetch::FetchError;
    use ane_device::tm::error::PushError;
    use ane_uapi::hw::nid::Nid;
    use ane_uapi::hw::td::common;
    use ane_uapi::hw::tq::QueueId;

    use super::*;

    fn failure(error: RequestError) -> Failure {
        Failure { queue: QueueId::LINUX, nid: Some(Nid::LINUX), task: 3, error }
    }

    fn refused(category: Category, address: u32) -> RequestError {
        let why = "is odd (or even), of 0x2 in 0x3 at 0x4";
        RequestError::Engine(EngineError::Refused(Verdict {
            category,
            address,
            bits: 0x8000,
            value: 0x8001,
            why,
        }))
    }

    /// Each kind of failure that a device tells.
    fn failures() -> Vec<Failure> {
        let (register, address, bits, value) = ("InDim", 0x1_3844, 0x8000, 0x8001);
        let mut errors = vec![
            RequestError::Descriptor(DescriptorError::Header { words: 3 }),
            RequestError::Descriptor(DescriptorError::NoRegister { word: 12, address, value }),
            RequestError::Descriptor(DescriptorError::Unexplained { register, address, bits, value }),
            RequestError::Descriptor(DescriptorError::UnknownCode {
                register,
                address,
                field: "in_fmt",
                bits,
                value,
            }),
            RequestError::Fetch(FetchError::Fault { address }),
            RequestError::Engine(EngineError::Fault { address }),
            RequestError::Engine(EngineError::NotExecuting),
            RequestError::Engine(EngineError::Cancelled),
            RequestError::WrongNid { found: 3, expected: Nid::LINUX },
            RequestError::ChainEnds { tasks: 7 },
            RequestError::Deadline { hung: None },
            RequestError::Deadline { hung: Some((address, value)) },
            RequestError::TooLong,
            RequestError::Aborted,
        ];
        for category in Category::ALL {
            // A register that is known, and one that is not.
            errors.extend([common::CFG.info.offset, 0x0fff_fffc].map(|address| refused(category, address)));
        }
        let pushed = RequestError::Push(PushError::NoTasks);
        let pushed = Failure { nid: None, task: 0, ..failure(pushed) };
        errors.into_iter().map(failure).chain([pushed]).collect()
    }

    #[test]
    fn words_of_the_device_tell_what_its_failure_tells() {
        for failure in failures() {
            assert_eq!(Told::in_words(&failure.to_string()), Told::by(&failure), "{failure}");
        }
    }

    /// What the driver says of a device that gives no words.
    #[test]
    fn words_of_the_driver_tell_the_register_and_whether_an_engine_hangs() {
        let told = Told::in_words("task 3: would hang: 0x00000000 in TileCfg at 0x13818");
        let blame = told.blame.expect("a register is to blame");
        assert_eq!((told.is_hang, told.task), (true, Some(3)));
        let place = (blame.register.as_str(), blame.address.as_str(), blame.value.as_str());
        assert_eq!(place, ("TileCfg", "0x13818", "0x00000000"));
        assert_eq!((blame.bits.as_str(), blame.category.as_str()), ("unknown", Category::WouldHang.name()));
        let told = Told::in_words("task 0: unsupported: 0x80000000 in PlanarMap at 0x4808");
        assert_eq!(
            (told.is_hang, told.blame.map(|blame| blame.category)),
            (false, Some("unsupported".to_owned()))
        );
        assert_eq!(
            Told::in_words("task 1: would hang, value 0x00000007"),
            Told { is_hang: true, is_refusal: true, blame: None, task: Some(1) }
        );
        let told = Told::in_words("task 1: deadline: 0x00000007 in a hurry at 0x1");
        assert!(!told.is_hang && !told.is_refusal);
        for (text, is_refusal) in [
            ("unsupported, value 0x00000007", true),
            ("task 1: transfer fault, value 0x00004000", false),
            ("the device lost it, and does not say why", false),
        ] {
            assert_eq!(Told::in_words(text).is_refusal, is_refusal, "{text}");
        }
    }

    #[test]
    fn only_what_a_descriptor_holds_is_refused() {
        let refused = |failure: &Failure| {
            matches!(
                failure.error,
                RequestError::Descriptor(_) | RequestError::Engine(EngineError::Refused(_))
            )
        };
        for failure in failures() {
            assert_eq!(Told::by(&failure).is_refusal, refused(&failure), "{failure}");
        }
    }

    #[test]
    fn engine_that_hangs_is_told_from_one_that_refuses() {
        let hung: Vec<_> = failures().into_iter().filter(|failure| Told::by(failure).is_hang).collect();
        let codes: Vec<_> = hung.iter().map(|failure| failure.error.code()).collect();
        assert_eq!(codes, [ErrorCode::Deadline, ErrorCode::WouldHang, ErrorCode::WouldHang]);
    }

    #[test]
    fn refused_register_is_blamed_with_bits_value_and_category() {
        for category in Category::ALL {
            let told = Told::by(&failure(refused(category, common::CFG.info.offset)));
            let blame = told.blame.expect("a register is to blame");
            assert_eq!((blame.register.as_str(), blame.address.as_str()), ("Cfg", "0x34"));
            assert_eq!((blame.bits.as_str(), blame.value.as_str()), ("0x00008000", "0x00008001"));
            assert_eq!((blame.category.as_str(), told.task), (category.name(), Some(3)));
        }
    }

    #[test]
    fn what_the_device_says_is_taken_apart() {
        let text = "task queue 4, nid 0x40, task 3: bits 0x00008000 of 0x00008001 in InDim at 0x13844: is odd (undefined)";
        let blame = Blame::of(text).unwrap();
        assert_eq!((blame.register.as_str(), blame.address.as_str()), ("InDim", "0x13844"));
        assert_eq!((blame.bits.as_str(), blame.value.as_str()), ("0x00008000", "0x00008001"));
        assert_eq!((blame.why.as_str(), blame.category.as_str()), ("is odd", "undefined"));
        assert_eq!(Blame::of("chain ends here"), None);
    }
}
