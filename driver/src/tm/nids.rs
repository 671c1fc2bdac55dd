//! Network ids: the name of a request while it is with the device.
//!
//! The driver gives out 1 to 254 in turn, without 0x40, which is that of the existing clients' one request (facts M,
//! Going round all of them before one comes again keeps late news of an old request from being taken for news
//! of a new one.

use ane_uapi::hw::nid::Nid;

use super::Place;

/// Where the request of an id is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Location {
    Placed(Place),
    /// The device has put it aside.
    Aside,
}

/// The network ids in use, and where the request of each is.
#[derive(Debug)]
pub(super) struct Nids {
    locations: [Option<Location>; 256],
    last: u8,
}

impl Default for Nids {
    fn default() -> Self {
        Self { locations: [None; 256], last: 0 }
    }
}

impl Nids {
    /// The id that a request would get: the one that it wants, or the next that is free.
    pub(super) fn choose(&self, wanted: Option<Nid>) -> Option<Nid> {
        if let Some(wanted) = wanted {
            return self.location(wanted).is_none().then_some(wanted);
        }
        let from = u32::from(self.last);
        (1..=u32::from(u8::MAX))
            .filter_map(|step| Nid::new(from.wrapping_add(step) & 0xff).ok())
            .find(|&nid| nid.is_for_drivers() && nid != Nid::LINUX && self.location(nid).is_none())
    }

    /// A request goes by this id from now on.
    pub(super) fn take(&mut self, nid: Nid, place: Place) {
        self.set(nid, Some(Location::Placed(place)));
        if nid != Nid::LINUX {
            self.last = nid.number();
        }
    }

    /// The request of this id is in a set once more. The turn stays where it is.
    pub(super) fn put_back(&mut self, nid: Nid, place: Place) {
        self.set(nid, Some(Location::Placed(place)));
    }

    /// Takes all ids back. The next id to try stays the same.
    pub(super) const fn clear(&mut self) {
        self.locations = [None; 256];
    }

    fn set(&mut self, nid: Nid, location: Option<Location>) {
        if let Some(entry) = self.locations.get_mut(usize::from(nid.number())) {
            *entry = location;
        }
    }

    /// The request of this id has left the hardware.
    pub(super) fn release(&mut self, nid: Nid) {
        self.set(nid, None);
    }

    pub(super) fn put_aside(&mut self, nid: Nid) {
        self.set(nid, Some(Location::Aside));
    }

    fn location(&self, nid: Nid) -> Option<Location> {
        self.locations.get(usize::from(nid.number())).copied().flatten()
    }

    /// In which set the request of this id is.
    pub(super) fn place(&self, nid: Nid) -> Option<Place> {
        match self.location(nid)? {
            Location::Placed(place) => Some(place),
            Location::Aside => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use ane_uapi::hw::tq::{QueueId, Slot};

    use super::*;

    const PLACE: Place = Place { queue: QueueId::LINUX, slot: Slot::First };

    #[test]
    fn ids_go_round_1_to_254_without_that_of_the_existing_clients() {
        let mut nids = Nids::default();
        let mut round = Vec::new();
        for _ in 0..253 {
            let nid = nids.choose(None).unwrap();
            nids.take(nid, PLACE);
            nids.release(nid);
            round.push(nid.number());
        }
        let expected: Vec<u8> = (1..=254).filter(|&number| number != 0x40).collect();
        assert_eq!(round, expected);
        assert_eq!(nids.choose(None).map(Nid::number), Some(1));
    }

    #[test]
    fn id_that_somebody_has_is_not_given_out_again() {
        let mut nids = Nids::default();
        let first = Nid::new(1).unwrap();
        nids.take(first, PLACE);
        assert_eq!(nids.choose(Some(first)), None);
        assert_eq!(nids.choose(None).map(Nid::number), Some(2));
        nids.release(first);
        assert_eq!(nids.choose(Some(first)), Some(first));
    }
}
