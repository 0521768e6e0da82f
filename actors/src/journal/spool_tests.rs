//! Segments, acknowledgements and damage, on real files.

use proptest::prelude::*;

use super::*;

/// Small enough for many segments in a short test.
const SEGMENT: u64 = 200;

fn frame(number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    record::encode_item(number, format!("item {number}").as_bytes(), &mut bytes).unwrap();
    bytes
}

fn append(spool: &mut Spool, count: u64) {
    for number in spool.next()..spool.next() + count {
        spool.append(&frame(number), number, number + 1).unwrap();
    }
}

fn read(spool: &mut Spool, from: u64, wanted: u64) -> Vec<u64> {
    let mut numbers = Vec::new();
    spool
        .read(from, wanted, |head, payload| {
            assert_eq!(payload, format!("item {}", head.first).as_bytes());
            numbers.push(head.first);
        })
        .unwrap();
    numbers
}

fn files(directory: &Path) -> usize {
    std::fs::read_dir(directory).unwrap().count()
}

fn open(directory: &Path, acked: u64) -> Opened {
    Spool::open(directory, "rows", SEGMENT, acked).unwrap()
}

fn range(from: u64, to: u64) -> Vec<u64> {
    (from..to).collect()
}

#[test]
fn reads_go_on_over_segments_and_over_what_is_appended_later() {
    let directory = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(directory.path(), "rows", SEGMENT);
    append(&mut spool, 20);
    assert!(files(directory.path()) > 3);
    assert_eq!(read(&mut spool, 0, 1), [0]);
    assert_eq!(read(&mut spool, 1, u64::MAX), range(1, 20));
    assert_eq!(read(&mut spool, 20, u64::MAX), [0; 0]);
    append(&mut spool, 9);
    assert_eq!(read(&mut spool, 20, u64::MAX), range(20, 29));
    assert_eq!(read(&mut spool, 7, 90), [7, 8]);
}

#[test]
fn acknowledged_segments_are_deleted() {
    let directory = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(directory.path(), "rows", SEGMENT);
    append(&mut spool, 40);
    let before = spool.bytes();
    assert_eq!(read(&mut spool, 0, u64::MAX), range(0, 40));
    spool.reclaim(38).unwrap();
    assert!(spool.bytes() < before / 5 && spool.first() > 30 && spool.first() <= 38);
    assert_eq!(read(&mut spool, 38, u64::MAX), [38, 39]);
    spool.reclaim(40).unwrap();
    append(&mut spool, 3);
    assert_eq!(read(&mut spool, 40, u64::MAX), [40, 41, 42]);
    let opened = open(directory.path(), 40);
    assert!(!opened.damaged);
    assert_eq!((opened.spool.next(), opened.last.unwrap().first), (43, 42));
}

#[test]
fn a_gap_behind_the_acknowledged_items_is_no_damage() {
    let directory = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(directory.path(), "rows", SEGMENT);
    append(&mut spool, 10);
    spool.append(&frame(25), 25, 26).unwrap();
    assert_eq!(read(&mut spool, 25, u64::MAX), [25]);
    let mut opened = open(directory.path(), 3);
    assert!(!opened.damaged);
    assert_eq!((opened.spool.first(), opened.spool.next()), (25, 26));
    assert_eq!(read(&mut opened.spool, 25, u64::MAX), [25]);
}

#[test]
fn a_spool_goes_on_where_the_last_process_has_ended() {
    let directory = tempfile::tempdir().unwrap();
    append(&mut Spool::new(directory.path(), "rows", SEGMENT), 10);
    let mut opened = open(directory.path(), 0);
    append(&mut opened.spool, 10);
    assert_eq!(
        read(&mut open(directory.path(), 0).spool, 4, u64::MAX),
        range(4, 20)
    );
    // Other files of the directory are none of its business.
    std::fs::write(directory.path().join("rows-x"), "").unwrap();
    assert_eq!(open(directory.path(), 0).spool.next(), 20);
    assert_eq!(open(directory.path(), 33).spool.next(), 33);
}

#[test]
fn a_segment_of_a_newer_program_is_refused() {
    let directory = tempfile::tempdir().unwrap();
    append(&mut Spool::new(directory.path(), "rows", SEGMENT), 1);
    let path = directory.path().join("rows-00000000000000000000");
    let mut bytes = std::fs::read(&path).unwrap();
    bytes[8] = 9;
    std::fs::write(&path, bytes).unwrap();
    let error = Spool::open(directory.path(), "rows", SEGMENT, 0).unwrap_err();
    assert_eq!(error.to_string(), "its format 9 is newer than this program");
}

#[test]
fn a_write_that_fails_is_taken_back() {
    let directory = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(directory.path(), "rows", SEGMENT);
    append(&mut spool, 2);
    // A file that is only read refuses the write as a full disk does.
    let path = directory.path().join("rows-00000000000000000000");
    let own = spool.tail.replace(File::open(path).unwrap());
    assert!(spool.append(&frame(2), 2, 3).is_err());
    assert_eq!(spool.next(), 2);
    drop(own);
    append(&mut spool, 2);
    assert_eq!(read(&mut spool, 0, u64::MAX), range(0, 4));
    assert_eq!(open(directory.path(), 0).spool.next(), 4);
}

#[test]
fn a_frame_longer_than_a_piece_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let mut spool = Spool::new(directory.path(), "rows", SEGMENT);
    let long = vec![b'x'; 700_000];
    for number in 0..3 {
        let mut bytes = Vec::new();
        record::encode_item(number, &long, &mut bytes).unwrap();
        spool.append(&bytes, number, number + 1).unwrap();
    }
    let mut lengths = Vec::new();
    spool
        .read(1, u64::MAX, |_, payload| lengths.push(payload.len()))
        .unwrap();
    assert_eq!(lengths, [700_000, 700_000]);
    assert_eq!(open(directory.path(), 0).spool.next(), 3);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// Whatever happens to one byte of one file, or to the end of one, what is left is a prefix of what was written.
    #[test]
    fn damage_leaves_a_prefix(
        count in 1_u64..30, file in any::<prop::sample::Index>(), at in any::<prop::sample::Index>(),
        change in prop::option::of(1_u8..255),
    ) {
        let directory = tempfile::tempdir().unwrap();
        append(&mut Spool::new(directory.path(), "rows", SEGMENT), count);
        let numbers = numbers_of(directory.path(), "rows").unwrap();
        let path = directory.path().join(format!("rows-{:020}", file.get(&numbers)));
        let mut bytes = std::fs::read(&path).unwrap();
        let at = at.index(bytes.len());
        match change {
            Some(change) => bytes[at] ^= change,
            None => bytes.truncate(at),
        }
        std::fs::write(&path, bytes).unwrap();
        match Spool::open(directory.path(), "rows", SEGMENT, 0) {
            Ok(mut opened) => {
                let next = opened.spool.next();
                prop_assert!(next <= count);
                if next > 0 {
                    prop_assert_eq!(read(&mut opened.spool, 0, u64::MAX), range(0, next));
                }
                append(&mut opened.spool, 2);
                let again = open(directory.path(), 0);
                prop_assert!(!again.damaged);
                prop_assert_eq!(again.spool.next(), next + 2);
            }
            Err(error) => prop_assert!(error.to_string().contains("newer"), "{}", error),
        }
    }
}
