-- How many members an organization has is counted by triggers (the engine file has them): a page of a list tells how many
-- there are, and must not count them. Users of a role are listed by their membership (adr/0133).
-- oldest_compatible: 1
CREATE TABLE list_counts (
    list TEXT NOT NULL,
    owner TEXT NOT NULL,
    stripe BIGINT NOT NULL,
    entries BIGINT NOT NULL,
    PRIMARY KEY (list, owner, stripe)
);

INSERT INTO list_counts SELECT list, owner, 0, COUNT(*) FROM listings WHERE list = 'members' GROUP BY list, owner;

INSERT INTO listings (list, owner, rank, kind, id)
SELECT 'role_members', owner, id, kind, id FROM listings WHERE list = 'role_holders';
