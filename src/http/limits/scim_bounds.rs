//! How much one request of SCIM looks at and shows (`docs/scim.md`).

#[derive(Clone, Copy, Debug)]
pub struct ScimBounds {
    /// Users that are looked at for a list by index, which tells how many there are.
    pub looked_at: usize,
    /// Users that are looked at for one page of a list that goes on by a cursor.
    pub looked_at_a_page: usize,
    /// Members that the Groups of one answer have together.
    pub shown_members: usize,
}

impl Default for ScimBounds {
    fn default() -> Self {
        Self { looked_at: 200_000, looked_at_a_page: 20_000, shown_members: 10_000 }
    }
}
