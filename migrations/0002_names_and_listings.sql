-- How entities are found: by a name that has one holder, or by paging through a list.
-- oldest_compatible: 1
CREATE TABLE names (
    space TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (space, name)
);

CREATE INDEX names_by_entity ON names (kind, id);

CREATE TABLE listings (
    list TEXT NOT NULL,
    owner TEXT NOT NULL,
    rank TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    PRIMARY KEY (list, owner, rank, id, kind)
);

CREATE INDEX listings_by_entity ON listings (kind, id);
