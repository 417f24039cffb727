-- whole: Every row in order, to be compared with a rebuilt table.
select * from messages order by id;

-- by_id: One message.
select * from messages where id = ?;

-- by_key: The message that was sent under an idempotency key.
select * from messages where key = ?;

-- open: Messages that wait, are held, or run, in order of arrival.
select * from messages where state not in ('done', 'dropped', 'entered', 'stopped') order by seq;

-- beginning_of_turn: The message that began a turn, also while the turn has not come to its start.
select * from messages
where id = (select message from turns where turn = ?1) or (turn = ?1 and state = 'running');

-- receive: A message was said.
insert into messages values (?, ?, ?, ?, ?, ?, ?, ?, 'received', '');

-- place: A message has its place: it started a turn, steers one, waits, or is held.
update messages set state = ?, turn = ? where id = ?;

-- enter: A message has become part of a turn that was running.
update messages set state = 'entered', turn = ? where id = ?;

-- release: A message waits again and belongs to no turn.
update messages set state = 'queued', turn = '' where id = ?;

-- drop: A message will not be answered.
update messages set state = 'dropped' where id = ?;

-- run: A turn has started for a message.
update messages set state = 'running', turn = ? where id = ?;

-- finish: The message that began a turn is done with it.
update messages set state = 'done' where id = (select message from turns where turn = ?);
