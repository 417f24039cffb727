-- projection_version: for which form the tables of projections.sql were made; another one, and they are rebuilt.
create table if not exists projection_version (
  version integer not null
) strict;
