-- found: For which form the tables were made, nothing when they never were.
select version from projection_version;

-- forget: The tables are of no known form while they are made anew.
delete from projection_version;

-- note: The tables have another form from here on.
insert into projection_version values (?);
