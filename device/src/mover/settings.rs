//! The settings of a mover.

use std::str::FromStr;

use ane_uapi::hw::mover::Profile;
use ane_uapi::hw::mover::model::Control;
use ane_uapi::hw::mover::transfer::Contention;
use ane_uapi::hw::mover::xmov::Tensix;
use thiserror::Error;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The description that the mover follows.
    pub profile: Profile,
    /// Where parameter words and wait conditions are.
    pub chip: Tensix,
    /// The use of scratch's ports by others.
    pub contention: Contention,
    /// A command without a parameter credit waits for one, as it should have; otherwise it is refused, in the place of
    /// Tenstorrent's silicon, whose behaviour is not known.
    pub waits_for_credit: bool,
    /// Mistakes that silicon lets pass are noted.
    pub check: bool,
}

impl Settings {
    /// The switches as they are at first.
    pub(super) const fn control(self) -> Control {
        Control::new()
            .with_contended(matches!(self.contention, Contention::Contended))
            .with_waits_for_credit(self.waits_for_credit)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "mover setting {0:?} is not known; known: seed, isa, blackhole, wormhole, ideal, contended, refuse-without-credit, \
     wait-for-credit"
)]
pub struct UnknownSetting(String);

impl FromStr for Settings {
    type Err = UnknownSetting;

    /// Reads words with commas between them; what is left out is as seed 002 has it.
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let mut settings = Self::default();
        for word in text.split(',').filter(|word| !word.is_empty()) {
            match word {
                "seed" => settings.profile = Profile::Seed,
                "isa" => settings.profile = Profile::Isa,
                "blackhole" => settings.chip = Tensix::Blackhole,
                "wormhole" => settings.chip = Tensix::Wormhole,
                "ideal" => settings.contention = Contention::Ideal,
                "contended" => settings.contention = Contention::Contended,
                "refuse-without-credit" => settings.waits_for_credit = false,
                "wait-for-credit" => settings.waits_for_credit = true,
                _ => return Err(UnknownSetting(word.to_owned())),
            }
        }
        Ok(settings)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_from_words_and_default_to_the_seed() {
        assert_eq!("".parse(), Ok(Settings::default()));
        let all: Settings = "isa,wormhole,contended,wait-for-credit".parse().unwrap();
        let expected = Settings {
            profile: Profile::Isa,
            chip: Tensix::Wormhole,
            contention: Contention::Contended,
            waits_for_credit: true,
            check: false,
        };
        assert_eq!(all, expected);
        assert!("isa,fast".parse::<Settings>().unwrap_err().to_string().contains("\"fast\" is not known"));
    }
}
