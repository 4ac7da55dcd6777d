//! Lists and tables of a record that are read up to a size: a file from a stranger may have any number of elements.

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};

/// The most memory that the elements of a list take, without what they point to. A command line may have 699,050 words;
/// Linux starts none with more than 209,715 words by default.
const LARGEST_LIST: usize = 16 << 20;

/// The most names of a table, such as those of versions.
const MOST_NAMES: usize = 4096;

/// Reads a list of at most [`LARGEST_LIST`].
pub(super) fn list<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    deserializer.deserialize_seq(List(PhantomData))
}

/// Reads a table of at most [`MOST_NAMES`].
pub(super) fn table<'de, D: Deserializer<'de>>(deserializer: D) -> Result<BTreeMap<String, String>, D::Error> {
    deserializer.deserialize_map(Table)
}

struct List<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for List<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a sequence")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
        let most = LARGEST_LIST / size_of::<T>().max(1);
        let mut list = Vec::new();
        while let Some(item) = items.next_element()? {
            if list.len() == most {
                return Err(A::Error::custom(format_args!("a list has more than {most} elements")));
            }
            list.push(item);
        }
        Ok(list)
    }
}

struct Table;

impl<'de> Visitor<'de> for Table {
    type Value = BTreeMap<String, String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut items: A) -> Result<Self::Value, A::Error> {
        let mut table = BTreeMap::new();
        while let Some((name, value)) = items.next_entry()? {
            if table.len() == MOST_NAMES {
                return Err(A::Error::custom(format_args!("a table has more than {MOST_NAMES} names")));
            }
            table.insert(name, value);
        }
        Ok(table)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(count: usize) -> Result<usize, String> {
        let text = format!("[{}0]", "0,".repeat(count - 1));
        let read = list::<_, u64>(&mut serde_json::Deserializer::from_str(&text));
        read.map(|list| list.len()).map_err(|error| error.to_string())
    }

    #[test]
    fn a_list_ends_at_its_memory() {
        let most = LARGEST_LIST / size_of::<u64>();
        assert_eq!(words(most), Ok(most));
        assert!(words(most + 1).unwrap_err().contains("more than 2097152 elements"));
    }

    #[test]
    fn a_table_ends_at_its_names() {
        let read = |count: usize| {
            let names: Vec<String> = (0..count).map(|name| format!("\"{name}\": \"\"")).collect();
            table(&mut serde_json::Deserializer::from_str(&format!("{{{}}}", names.join(","))))
        };
        assert_eq!(read(MOST_NAMES).unwrap().len(), MOST_NAMES);
        assert!(read(MOST_NAMES + 1).is_err());
    }
}
