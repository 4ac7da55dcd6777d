use proptest::prelude::*;

use super::gap::rerun;
use super::*;
use crate::record::{
    EntryResult, Part, Record, RecordFile, Rows, RunState, Semantics, TimedBeside, Validation, Verdict, VerdictStatus,
    sample, write_record,
};
use plimsoll_memory::meter::Metric;

fn merging() -> (tempfile::TempDir, Merge) {
    let folder = tempfile::tempdir().unwrap();
    let merge = Merge::new(folder.path()).unwrap();
    (folder, merge)
}

fn merged(records: &[Record]) -> Record {
    finished(records).unwrap().record().unwrap()
}

fn finished(records: &[Record]) -> Result<Merged, MergeError> {
    let (_folder, mut merge) = merging();
    for (number, record) in records.iter().enumerate() {
        merge.add(&format!("{number}.json"), record.clone())?;
    }
    merge.finish()
}

fn refused(records: &[Record]) -> String {
    finished(records).err().expect("these are not one").to_string()
}

/// The ranks of a command, each as a record.
fn ranks(count: u32) -> Vec<Record> {
    let whole = sample::ranks(count);
    let one = |part: &Part| Record {
        rank: part.rank.clone(),
        phases: part.phases.clone(),
        end: part.end.clone(),
        exit_code: part.exit_code,
        environment: part.environment.clone(),
        parts: Vec::new(),
        ..whole.clone()
    };
    whole.parts.iter().map(one).collect()
}

#[test]
fn shards_make_the_record_of_the_whole() {
    let whole = sample::record();
    for count in [1, 2, 3, 4, 9] {
        let one = merged(&sample::shards(count));
        assert_eq!((&one.semantics_digest, &one.semantics), (&whole.semantics_digest, &whole.semantics));
        assert_eq!(one.results.entries, whole.results.entries);
        let how = one.semantics.capture().unwrap().aggregation.unwrap();
        assert_eq!(one.results.timing, how.aggregate(&whole.results.entries));
        assert_eq!((one.state, one.exit_code, one.parts.len()), (RunState::Complete, 0, count as usize));
        let subjects: Vec<&str> = one.verdicts.iter().map(|verdict| &*verdict.subject).collect();
        assert_eq!(subjects, ["validation", "profile", "release", "ceiling peak_rss"]);
        assert!(one.verdicts[0].message.starts_with("4 of 4 entries passed"), "{}", one.verdicts[0].message);
        one.check().unwrap();
        // Every environment is kept, and the memory is that of the worst.
        let hosts = one.parts.iter().filter_map(|part| part.environment.hostname.as_deref());
        assert_eq!(hosts.count(), count as usize);
        assert_eq!(one.phases[0].readings[&Metric::PeakRss].bytes.bytes(), (1000 + u64::from(count)) << 20);
        assert_eq!(one.started, "2026-03-02T09:30:01.000Z");
    }
}

#[test]
fn what_is_written_one_by_one_is_what_is_in_memory() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("merged.json");
    for records in [sample::shards(3), ranks(9)] {
        finished(&records).unwrap().commit(RecordFile::prepare(&path).unwrap()).unwrap();
        let in_memory = merged(&records);
        assert_eq!(Record::read(&path).unwrap(), in_memory);
        let written = std::fs::read(&path).unwrap();
        write_record(&path, &in_memory).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), String::from_utf8(written).unwrap());
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn two_kernels_are_merged_with_their_pairs() {
    let whole = sample::versus();
    let all = whole.semantics.capture().unwrap().entries.clone();
    let shards = sample::shards(2).into_iter().map(|shard| {
        let mut record = Record { shard: shard.shard.clone(), ..whole.clone() };
        let places = &shard.shard.as_ref().unwrap().places;
        sample::capture(&mut record).entries = places.iter().map(|&place| all[place].clone()).collect();
        let taken = |results: &Rows<EntryResult>| -> Rows<EntryResult> {
            let each = places.iter().enumerate();
            each.map(|(index, &place)| EntryResult { index, ..results[place].clone() }).collect()
        };
        let versus = whole.results.versus.as_ref().unwrap();
        record.results.entries = taken(&whole.results.entries);
        let own = record.results.versus.as_mut().unwrap();
        own.entries = taken(&versus.entries);
        own.pairs = places.iter().map(|&place| versus.pairs[place].clone()).collect();
        record.semantics_digest = record.semantics.digest();
        record
    });
    let mut shards: Vec<Record> = shards.collect();
    let one = merged(&shards);
    assert_eq!(one.semantics_digest, whole.semantics_digest);
    // If the run ended early, no entry has all its pairs: there is nothing to resume.
    shards[1].state = RunState::Interrupted;
    shards[1].results.entries[0].validation = Some(Validation::not_run("the run was interrupted before it"));
    let (_folder, mut merge) = merging();
    for (name, shard) in ["1.json", "2.json.partial"].into_iter().zip(&shards) {
        merge.add(name, shard.clone()).unwrap();
    }
    let commands = merge.missing().unwrap().commands;
    assert_eq!(commands.len(), 1);
    assert!(commands[0].join(" ").ends_with(" --shard 2/2 --record 2.json"), "{commands:?}");
    let (one, whole) = (one.results.versus.unwrap(), whole.results.versus.unwrap());
    assert_eq!((one.entries, one.pairs), (whole.entries, whole.pairs));
    assert!(one.speedup.is_some_and(|speedup| speedup.ratio > 0.0));
}

#[test]
fn shards_of_different_runs_are_refused_by_name() {
    let mut shards = sample::shards(2);
    shards[1].shard.as_mut().unwrap().capture.manifest = "blake3:other".to_owned();
    assert!(
        refused(&shards).starts_with("0.json and 1.json have different captures: 4 entries"),
        "{}",
        refused(&shards)
    );
    let changed = |change: fn(&mut crate::record::CaptureSemantics)| {
        let mut shards = sample::shards(2);
        change(sample::capture(&mut shards[1]));
        refused(&shards)
    };
    for (said, what) in [
        (
            changed(|semantics| semantics.kernel.digest = Some("ab".to_owned())),
            "kernels: builtin:embedding with digest none",
        ),
        (
            changed(|semantics| semantics.kernel.name = "py:x.py".to_owned()),
            "kernels: \"builtin:embedding\" and \"py:x.py\"",
        ),
        (changed(|semantics| semantics.comparison = None), "comparisons: "),
        (changed(|semantics| semantics.timing = None), "protocols: "),
        (changed(|semantics| semantics.operator = "other".to_owned()), "operators: "),
    ] {
        assert!(said.starts_with(&format!("0.json and 1.json have different {what}")), "{said}");
        assert!(said.ends_with("; merge records of the same run"), "{said}");
    }
    let twice = [sample::shards(2), sample::shards(2)].concat();
    assert_eq!(refused(&twice), "0.json and 2.json both have a result of entry_000000.pt: give one of them");
    let other_deal = [sample::shards(2)[0].clone(), sample::shards(4)[0].clone()];
    assert!(refused(&other_deal).contains("both have a result of"), "{}", refused(&other_deal));
    assert!(refused(&[sample::record()]).starts_with("0.json is the record of a whole capture"));
    assert!(refused(&[sample::test()]).starts_with("0.json is the record of a test"));
    assert!(refused(&[sample::command()]).starts_with("0.json is the record of a command, not of a shard or rank"));
    assert!(refused(&[sample::shards(1)[0].clone(), ranks(2)[0].clone()]).contains("different kinds"));
    assert_eq!(refused(&[]), "no record was given: name the records of all shards or ranks");
}

#[test]
fn a_shard_that_was_edited_by_hand_is_refused() {
    let edited = |edit: fn(&mut crate::record::Shard)| {
        let mut record = sample::shards(2)[1].clone();
        record.check().unwrap();
        edit(record.shard.as_mut().unwrap());
        record.check().unwrap_err().to_string()
    };
    for (said, what) in [
        (edited(|shard| shard.index = 0), "shard 0 of 2 is not one of them"),
        (edited(|shard| shard.index = 3), "shard 3 of 2 is not one of them"),
        (edited(|shard| shard.places = vec![1, 1]), "the places of shard 2 are not places of its capture in order"),
        (edited(|shard| shard.places = vec![1, 4]), "the places of shard 2 are not places of its capture in order"),
        (edited(|shard| shard.places.truncate(1)), "2 entries but the places of 1"),
        (edited(|shard| shard.entries = 1), "shard 2 has 2 results, a share of 1 entries"),
        (edited(|shard| shard.entries = 5), "a share of 5 entries"),
        (edited(|shard| shard.bytes = u64::MAX.into()), "shard 2 has 2 results"),
    ] {
        assert!(said.contains(what), "{said}");
    }
}

#[test]
fn kernels_are_made_of_all_that_their_launches_read() {
    let with = |record: &mut Record, files: &[(&str, &str)]| {
        let sources = files.iter().map(|(name, digest)| ((*name).to_owned(), (*digest).to_owned())).collect();
        sample::capture(record).kernel.sources = sources;
    };
    let mut shards = sample::shards(2);
    with(&mut shards[0], &[("a.py", "1")]);
    with(&mut shards[1], &[("a.py", "1"), ("b.py", "2")]);
    assert_eq!(merged(&shards).semantics.capture().unwrap().kernel.sources.len(), 2);
    with(&mut shards[1], &[("a.py", "3")]);
    assert!(
        refused(&shards).contains("different kernels: builtin:embedding with a.py 1 and builtin:embedding with a.py 3")
    );
    // A shard without entries launched nothing, and only knows the kernel's name.
    let mut shards = sample::shards(6);
    for (at, shard) in shards.iter_mut().enumerate() {
        let empty = shard.results.entries.is_empty();
        assert_eq!(empty, at >= 4);
        sample::capture(shard).kernel.digest = (!empty).then(|| "ab".to_owned());
    }
    shards.reverse();
    assert_eq!(merged(&shards).semantics.capture().unwrap().kernel.digest.as_deref(), Some("ab"));
}

#[test]
fn what_is_missing_is_named_with_the_command_that_runs_it() {
    let shards = sample::shards(4);
    let (_folder, mut merge) = merging();
    merge.add("1.json", shards[0].clone()).unwrap();
    let mut dead = shards[3].clone();
    dead.state = RunState::Interrupted;
    dead.results.entries[0].validation = Some(Validation::not_run("the run was interrupted before it"));
    merge.add("4.json.partial", dead).unwrap();
    let missing = merge.missing().unwrap();
    assert!(missing.summary.starts_with("3 of 4 entries are missing, "), "{}", missing.summary);
    let names =
        "1 of the 1 entries of shard 4 of 4: entry_000003.pt, shard 2 of 4 (no record), shard 3 of 4 (no record)";
    assert!(missing.summary.ends_with(names), "{}", missing.summary);
    let commands: Vec<String> = missing.commands.iter().map(|words| words.join(" ")).collect();
    let check = "plimsoll check captures/gemma4-e2b-gb10 --kernel builtin:embedding";
    assert_eq!(
        commands,
        [
            format!("{check} --shard 4/4 --resume 4.json.partial --record 4.json"),
            format!("{check} --shard 2/4 --record shard-2-of-4.json"),
            format!("{check} --shard 3/4 --record shard-3-of-4.json"),
        ]
    );
    let partial = merge.finish().unwrap().record().unwrap();
    partial.check().unwrap();
    assert_eq!((partial.state, partial.exit_code), (RunState::Interrupted, 3));
    assert_eq!((partial.results.entries.len(), &*partial.verdicts[0].subject), (1, "parts"));
    // The missing part joins the present one.
    let one = merged(&[partial, shards[1].clone(), shards[2].clone(), shards[3].clone()]);
    assert_eq!((one.semantics_digest, one.exit_code), (sample::record().semantics_digest, 0));
}

#[test]
fn entries_that_a_shard_left_out_by_itself_are_not_missing_however_merged() {
    let mut shards = sample::shards(3);
    shards[0].results.entries[0].validation = Some(Validation::not_run("an entry before it failed (--fail-fast)"));
    let all = merged(&shards);
    assert_eq!((all.results.entries.len(), all.exit_code), (4, 3));
    let partly = merged(&shards[..2]);
    assert_eq!(partly.state, RunState::Interrupted);
    assert_eq!(merged(&[partly, shards[2].clone()]), all);
    // A complete share is not a part of one.
    let (_folder, mut merge) = merging();
    merge.add("1.json", shards[1].clone()).unwrap();
    assert_eq!(merge.finish_share().unwrap().head().state, RunState::Complete);
}

#[test]
fn the_worst_shard_is_judged() {
    let mut shards = sample::shards(2);
    shards[1].verdicts.iter_mut().for_each(|verdict| {
        if let Some(ceiling) = &mut verdict.ceiling {
            ceiling.status = plimsoll_memory::ceiling::CeilingStatus::Broken;
            *verdict = Verdict::from(ceiling.clone());
        }
    });
    let one = merged(&shards);
    let ceiling = one.verdicts.iter().find(|verdict| verdict.subject == "ceiling peak_rss").unwrap();
    assert_eq!((ceiling.status, one.exit_code), (VerdictStatus::Fail, 1));
    assert!(ceiling.message.ends_with("; shard 2 of 2 was the worst by it"), "{}", ceiling.message);
    assert_eq!(one.parts[1].shard.as_ref().unwrap().timing, Some(TimedBeside::Shared));
}

#[test]
fn ranks_make_one_record_and_the_worst_is_judged() {
    let one = merged(&ranks(9));
    assert_eq!((one.parts.len(), one.exit_code), (9, 9));
    assert_eq!(one.end.unwrap().exit_code, Some(9));
    assert_eq!(one.phases[0].readings[&Metric::PeakRss].bytes.bytes(), 18 << 20);
    let (_folder, mut merge) = merging();
    for record in ranks(9).into_iter().skip(2) {
        merge.add("rank.json", record).unwrap();
    }
    assert_eq!(merge.missing().unwrap().summary, "2 of 9 ranks are missing: rank 0, rank 1");
    let mut other = ranks(2);
    if let Semantics::Command(command) = &mut other[1].semantics {
        command.command.push("--more".to_owned());
    }
    other[1].semantics_digest = other[1].semantics.digest();
    assert!(refused(&other).contains("have different commands: train `python3 train.py --steps 10`"));
    assert_eq!(refused(&[ranks(2), ranks(2)].concat()), "0.json and 2.json both have rank 0 of 2: give one of them");
    assert_eq!(
        refused(&[ranks(2)[0].clone(), ranks(3)[1].clone()]),
        "0.json and 1.json have different numbers of ranks: 2 and 3; merge records of the same run"
    );
}

#[test]
fn a_command_is_written_anew_for_another_shard() {
    let words = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
    let command = words("plimsoll check cap --shard=auto --record a.json --kernel k --resume old.json --recorded");
    assert_eq!(
        rerun(&command, "3/8", Some("b.partial"), "b"),
        words("plimsoll check cap --kernel k --recorded --shard 3/8 --resume b.partial --record b")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn merging_is_associative_and_commutative(count in 2u32..7, order in any::<u64>(), split in 1usize..6, of_ranks in any::<bool>()) {
        let mut records = if of_ranks { ranks(count) } else { sample::shards(count) };
        let all = merged(&records);
        let length = records.len();
        for at in 0..length {
            records.swap(at, (order.rotate_left(at as u32 * 7) % length as u64) as usize);
        }
        prop_assert_eq!(&merged(&records), &all);
        let (first, second) = records.split_at(split.min(length - 1));
        let (left, right) = (merged(first), merged(second));
        left.check().unwrap();
        prop_assert_eq!(&merged(&[right, left]), &all);
        let nested = first.iter().skip(1).fold(first[0].clone(), |sum, next| merged(&[sum, next.clone()]));
        prop_assert_eq!(&merged(&[vec![nested], second.to_vec()].concat()), &all);
    }
}
