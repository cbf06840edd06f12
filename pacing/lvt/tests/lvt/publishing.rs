//! What publishers do to a page: what readers see of them, how slots are claimed, freed, taken over and run
//! out.

use std::collections::BTreeSet;
use std::mem::forget;
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use paceline_lvt::layout::{DONE, LVT_MAX, SIMULATION, WAITING};
use paceline_lvt::{Error, MAX_SLOTS, Name, Owner, Page, Publisher, SlotView};
use proptest::prelude::*;

fn only_slot(page: &Page) -> SlotView {
    let slots = page.slots().expect("the page is in order");
    assert_eq!(slots.len(), 1, "{slots:?}");
    slots[0]
}

/// Claims a slot in a thread of its own, and leaves it to that thread, which ends, as if it had been killed.
fn abandon(page: &Page, lvt_ns: u64) -> Owner {
    let claim = || {
        let mut publisher = Publisher::claim(page, "gone").expect("there is a free slot");
        publisher.publish(lvt_ns);
        forget(publisher);
        Owner::of_this_thread().expect("there is a /proc")
    };
    let owner = thread::scope(|scope| scope.spawn(claim).join().expect("claiming does not panic"));
    // The kernel forgets a thread a moment after it has been joined.
    let start = Instant::now();
    while !owner.is_gone() {
        assert!(start.elapsed() < Duration::from_secs(60), "it has ended");
        thread::yield_now();
    }
    owner
}

#[test]
fn readers_see_what_is_published_until_the_publisher_is_dropped() {
    let page = Page::create_sealed(4).unwrap();
    let mut publisher = Publisher::claim(&page, "rank 7").unwrap();
    let seen = only_slot(&page);
    assert_eq!((seen.lvt_ns, seen.flags, seen.name), (0, SIMULATION, Name::new("rank 7")));
    assert_eq!(seen.owner(), Owner::of_this_thread().unwrap());
    assert!(!seen.owner().is_gone());
    publisher.publish(12);
    publisher.set_waiting(true);
    assert_eq!((only_slot(&page).lvt_ns, only_slot(&page).flags), (12, SIMULATION | WAITING));
    publisher.set_waiting(false);
    publisher.set_simulation(false);
    assert_eq!(only_slot(&page).flags, 0);
    publisher.publish(u64::MAX - 1);
    assert_eq!(only_slot(&page).lvt_ns, LVT_MAX);
    publisher.publish_done();
    assert_eq!(only_slot(&page).lvt_ns, DONE);
    drop(publisher);
    assert_eq!(page.slots().unwrap(), []);
}

proptest! {
    #[test]
    fn what_readers_see_is_at_most_the_lookahead_behind_and_never_ahead(
        updates in proptest::collection::vec(prop_oneof![0..200_u64, LVT_MAX - 200..=LVT_MAX, Just(DONE)], 1..40),
        lookahead_ns in prop_oneof![0..50_u64, Just(u64::MAX)],
    ) {
        let page = Page::create_sealed(1).unwrap();
        let mut publisher = Publisher::claim(&page, "").unwrap().with_lookahead(lookahead_ns);
        let (mut written_ns, mut backwards) = (None, 0);
        for lvt_ns in updates {
            if lvt_ns == DONE {
                publisher.publish_done();
                prop_assert_eq!(only_slot(&page).lvt_ns, DONE);
                written_ns = None;
                continue;
            }
            publisher.publish(lvt_ns);
            let seen_ns = only_slot(&page).lvt_ns;
            prop_assert!(seen_ns <= lvt_ns && lvt_ns - seen_ns <= lookahead_ns, "{} for {}", seen_ns, lvt_ns);
            let is_due = written_ns.is_none_or(|written_ns| {
                lvt_ns < written_ns || lvt_ns - written_ns > lookahead_ns
            });
            prop_assert_eq!(Some(seen_ns), if is_due { Some(lvt_ns) } else { written_ns }, "no more, no less");
            backwards += u64::from(written_ns.is_some_and(|written_ns| lvt_ns < written_ns));
            prop_assert_eq!(publisher.backwards(), backwards);
            written_ns = Some(seen_ns);
        }
    }

    #[test]
    fn names_are_cut_between_characters(text in "\\PC{0,40}") {
        let shown = Name::new(&text).to_string();
        prop_assert!(text.starts_with(&shown) && shown.len() <= 24);
        let next = text[shown.len()..].chars().next();
        prop_assert!(next.is_none_or(|next| shown.len() + next.len_utf8() > 24));
    }
}

#[test]
fn absent_publishers_take_everything_and_do_nothing() {
    let mut publisher = Publisher::absent().with_lookahead(0);
    publisher.publish(5);
    publisher.publish(3);
    publisher.publish_done();
    publisher.set_waiting(true);
    assert!(!publisher.is_present());
    assert_eq!(publisher.backwards(), 0);
}

#[test]
fn a_thread_has_one_slot_on_a_page() {
    let page = Page::create_sealed(4).unwrap();
    let first = Publisher::claim(&page, "first").unwrap();
    let again = Page::open(page.path()).unwrap();
    assert!(matches!(Publisher::claim(&again, "second"), Err(Error::Claimed { index: 0, .. })));
    let other = Page::create_sealed(4).unwrap();
    assert!(Publisher::claim(&other, "elsewhere").unwrap().is_present());
    drop(first);
    assert!(Publisher::claim(&again, "third").unwrap().is_present());
}

#[test]
fn a_full_page_is_an_error_until_somebody_leaves() {
    let page = Page::create_sealed(1).unwrap();
    let first = Publisher::claim(&page, "first").unwrap();
    let second = || Publisher::claim(&page, "second").map(|publisher| publisher.is_present());
    let in_thread = || thread::scope(|scope| scope.spawn(second).join().unwrap());
    assert!(matches!(in_thread(), Err(Error::Full { slots: 1, .. })));
    drop(first);
    assert!(in_thread().unwrap());
}

#[test]
fn threads_that_claim_at_once_get_slots_of_their_own() {
    const THREADS: usize = 16;
    let page = Page::create_sealed(THREADS as u32 - 4).unwrap();
    for _ in 0..20 {
        let barrier = Barrier::new(THREADS);
        let claim = |number: usize| {
            barrier.wait();
            let publisher = Publisher::claim(&page, &number.to_string()).ok();
            barrier.wait();
            let seen = page.slots().unwrap();
            barrier.wait();
            (publisher.is_some(), seen)
        };
        let claims: Vec<_> = thread::scope(|scope| {
            let threads: Vec<_> = (0..THREADS).map(|number| scope.spawn(move || claim(number))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert_eq!(claims.iter().filter(|(claimed, _)| *claimed).count(), THREADS - 4);
        for (_, seen) in claims {
            let owners: BTreeSet<u32> = seen.iter().map(|slot| slot.tid).collect();
            assert_eq!(owners.len(), THREADS - 4, "{seen:?}");
        }
        assert_eq!(page.slots().unwrap(), []);
    }
}

#[test]
fn slots_of_the_dead_go_to_claimers_and_to_the_pacer() {
    let page = Page::create_sealed(2).unwrap();
    let mine = Publisher::claim(&page, "alive").unwrap();
    let gone = abandon(&page, 9);
    assert!(gone.is_gone() && page.slots().unwrap().len() == 2);
    assert_eq!(page.reclaim().unwrap(), 1);
    assert_eq!(only_slot(&page).name, Name::new("alive"));
    abandon(&page, 9);
    let claim = || Publisher::claim(&page, "heir").map(|_| only_lvts(&page));
    assert_eq!(thread::scope(|scope| scope.spawn(claim).join().unwrap()).unwrap(), [0, 0]);
    assert!(mine.is_present());
}

fn only_lvts(page: &Page) -> Vec<u64> {
    page.slots().unwrap().iter().map(|slot| slot.lvt_ns).collect()
}

#[test]
fn an_id_that_is_used_again_is_another_owner() {
    let me = Owner::of_this_thread().unwrap();
    let earlier = Owner { start_time: me.start_time - 1, ..me };
    assert!(!me.is_gone() && !me.has_no_thread());
    assert!(earlier.is_gone() && !earlier.has_no_thread());
    let changing_hands = Owner { start_time: 0, ..me };
    assert!(!changing_hands.is_gone());
    let nobody = Owner { tid: u32::MAX, ..me };
    assert!(nobody.is_gone() && nobody.has_no_thread());
}

#[test]
fn a_page_has_a_slot_and_not_too_many() {
    for slots in [0, MAX_SLOTS + 1] {
        assert!(matches!(Page::create_sealed(slots), Err(Error::SlotCount(printed)) if printed == slots));
    }
    assert_eq!(Page::create_sealed(MAX_SLOTS).unwrap().capacity(), MAX_SLOTS);
}
