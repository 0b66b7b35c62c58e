-- What directories did and were refused is found without a look at the rest of an organization's trail: its pages tell it
-- (adr/0147). The words are those of a row's own detail, in which a quote within a text is never without its backslash.
-- oldest_compatible: 1
CREATE INDEX security_log_of_directories ON security_log (organization, at, lane, seq)
WHERE detail LIKE '%"cause":"scim"%' OR (event = 'api.refused' AND detail LIKE '%"operation":"scim%');
