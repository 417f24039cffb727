-- readable: Whether the file can be read at all; an empty one can.
SELECT 1 FROM sqlite_schema LIMIT 1;

-- objects: How many tables, indexes and triggers the file has, whoever made them.
SELECT count(*) FROM sqlite_schema;
