use ane_uapi::hw::dart::stream::StreamId;
use ane_uapi::hw::space::{EngineOffset, IovaRange};
use ane_uapi::hw::usage::Usage;
use ane_uapi::wire::sideband::MapEntry;
use zerocopy::FromZeros;

use super::*;

/// Keeps what it carries, and answers what a test wants.
struct Fake {
    config: Config,
    carried: Vec<(Vec<u8>, usize)>,
    /// The answer: a response, with the cookie that was asked or another, and values.
    status: u32,
    cookie: Option<u64>,
    values: Vec<u32>,
    /// Only so much of it.
    cut: usize,
}

impl Carrier for Fake {
    fn config(&self) -> &Config {
        &self.config
    }

    fn carry(&mut self, request: &[u8], room: usize, answer: &mut Vec<u8>) -> Result<(), BusError> {
        self.carried.push((request.to_vec(), room));
        let (header, _) = Header::read_from_prefix(request).unwrap();
        let cookie = self.cookie.unwrap_or(header.cookie.get());
        let mut response = Response::new(Status::Done, 2, 2, 7, cookie);
        response.status.set(self.status);
        answer.extend_from_slice(response.as_bytes());
        answer.extend(self.values.iter().flat_map(|value| value.to_le_bytes()));
        answer.truncate(self.cut);
        Ok(())
    }
}

/// A device that takes four operations and three entries at a time, and has read these values.
fn requests(values: &[u32]) -> Requests<Fake> {
    let mut config = Config::new_zeroed();
    config.batch_max.set(4);
    config.entries_max.set(3);
    let values = values.to_vec();
    Requests::new(Fake { config, carried: Vec::new(), status: 0, cookie: None, values, cut: usize::MAX })
}

const AT: EngineOffset = EngineOffset(0x40);

#[test]
fn batch_is_one_message_with_room_for_what_it_reads() {
    let mut requests = requests(&[5, 6]);
    let mut values = [0; 3];
    let operations = [Operation::Read(AT), Operation::Write(AT, 9), Operation::Read(AT)];
    assert_eq!(requests.batch(&operations, &mut values).unwrap(), 2);
    assert_eq!(values, [5, 6, 0]);
    let ops = [Op::read(0x40), Op::write(0x40, 9), Op::read(0x40)];
    let expected = [Header::new(RequestKind::Batch, 3, 1).as_bytes(), ops.as_bytes()].concat();
    assert_eq!(requests.carrier().carried, [(expected, 24 + 8)]);
}

#[test]
fn refused_batch_says_where_and_keeps_what_was_read() {
    let mut requests = requests(&[5, 6]);
    requests.carrier_mut().status = Status::Dead as u32;
    let mut values = [0; 3];
    let outcome = requests.batch(&[Operation::Read(AT); 3], &mut values);
    let expected = matches!(
        outcome,
        Err(BusError::Refused { status: Status::Dead, done: 2, index: Some(2), detail: 7 })
    );
    assert!(expected, "{outcome:?}");
    assert_eq!(values, [5, 6, 0]);
}

#[test]
fn batch_that_is_too_long_or_has_too_few_places_is_not_carried() {
    let mut requests = requests(&[]);
    let long = requests.batch(&[Operation::Write(AT, 0); 5], &mut []);
    assert!(matches!(long, Err(BusError::TooLong { len: 5, limit: 4 })));
    let narrow = requests.batch(&[Operation::Read(AT)], &mut []);
    assert!(matches!(narrow, Err(BusError::TooFewPlaces { reads: 1, places: 0 })));
    assert_eq!(requests.carrier().carried, []);
}

#[test]
fn answer_that_is_none_to_the_request_is_refused() {
    let ask = |change: fn(&mut Fake)| {
        let mut requests = requests(&[5]);
        change(requests.carrier_mut());
        let outcome = requests.batch(&[Operation::Read(AT)], &mut [0]);
        matches!(outcome, Err(BusError::BadAnswer { .. }))
    };
    assert!(ask(|fake| fake.cut = 23));
    assert!(ask(|fake| fake.cookie = Some(99)));
    assert!(ask(|fake| fake.status = 0x1_0000));
    assert!(ask(|fake| fake.values.clear()));
    assert!(ask(|fake| fake.values.push(6)));
    assert!(!ask(|_| ()));
}

#[test]
fn declarations_go_in_messages_of_at_most_the_contract_s_limit() {
    let mut requests = requests(&[]);
    let range = IovaRange::new(0x4000, 0x4000).unwrap();
    let one = Declaration::new(StreamId::BASE, range, Usage::try_from(1).ok());
    requests.declare(&vec![one; DECLARATIONS_MAX as usize + 1]).unwrap();
    let counts = requests.carrier().carried.iter().map(|(bytes, _)| {
        let (header, _) = Header::read_from_prefix(bytes).unwrap();
        (header.kind(), header.count.get())
    });
    assert_eq!(counts.collect::<Vec<_>>(), [(Ok(RequestKind::Declare), 512), (Ok(RequestKind::Declare), 1)]);
}

#[test]
fn message_to_pe_mmu_is_not_cut_into_several() {
    let mut requests = requests(&[]);
    let entries = [MapEntry::new_zeroed(); 4];
    let long = requests.regions(Regions::Map(&entries));
    assert!(matches!(long, Err(BusError::TooLong { len: 4, limit: 3 })));
    requests.regions(Regions::Map(&entries[..3])).unwrap();
    assert_eq!(requests.carrier().carried.len(), 1);
    assert_eq!(requests.carrier().carried[0].0.len(), 16 + 3 * 24);
}
