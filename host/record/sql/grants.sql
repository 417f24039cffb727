-- whole: Every row in order, to be compared with a rebuilt table.
select * from grants order by id;

-- standing: The grants that nobody took back, oldest first; some may have ended by themselves.
select * from grants where revoked_by = '' order by seq;

-- by_id: One grant.
select * from grants where id = ?;

-- give: A person's answer stands for later calls too.
insert into grants values (?, ?, ?, ?, ?, ?, ?, '', ?);

-- revoke: A grant was taken back.
update grants set revoked_by = ? where id = ?;
