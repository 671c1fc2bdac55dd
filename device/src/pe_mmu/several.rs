//! The pages that have several regions, by a number that their leaves know.

use super::layers::Layers;

/// The pages.
#[derive(Debug, Default)]
pub(super) struct Several {
    pages: Vec<Layers>,
    /// Numbers that are not in use.
    free: Vec<u32>,
}

impl Several {
    /// A page.
    pub(super) fn get(&self, number: u32) -> Option<&Layers> {
        self.pages.get(number as usize)
    }

    /// A page, to change.
    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut Layers> {
        self.pages.get_mut(number as usize)
    }

    /// Takes a page in; the number is how it is found. `None` if there are as many as there are numbers.
    pub(super) fn insert(&mut self, layers: Layers) -> Option<u32> {
        let number = match self.free.pop() {
            Some(number) => number,
            None => u32::try_from(self.pages.len()).ok()?,
        };
        match self.get_mut(number) {
            Some(page) => *page = layers,
            None => self.pages.push(layers),
        }
        Some(number)
    }

    /// Lets a page go.
    pub(super) fn remove(&mut self, number: u32) {
        if let Some(page) = self.get_mut(number) {
            *page = Layers::default();
            self.free.push(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::layers::{Region, Spot};
    use super::*;

    #[test]
    fn number_that_is_free_is_given_to_the_next_page() {
        let region = |base| Region { start: 0, end: 1, base };
        let mut several = Several::default();
        let numbers = [1, 2].map(|base| several.insert(Layers::of(region(base), region(base))));
        assert_eq!(numbers, [Some(0), Some(1)]);
        several.remove(0);
        assert_eq!(several.get(0).map(|page| page.at(0)), Some(Spot::Bare(None)));
        assert_eq!(several.insert(Layers::of(region(3), region(3))), Some(0));
        assert_eq!(
            [0, 1].map(|n| several.get(n).unwrap().at(0)),
            [3, 2].map(|base| Spot::Seen(region(base)))
        );
    }
}
