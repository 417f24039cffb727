-- whole: Every row in order, to be compared with a rebuilt table.
select * from calls order by key;

-- of_turn: A turn's calls in the order they were asked for.
select * from calls where turn = ? order by position;

-- by_key: The call with an idempotency key.
select * from calls where key = ?;

-- ask: The model asked for a call.
insert into calls values (?, ?, ?, ?, '', '', '', 'asked', 0, '', ?, ?);

-- start: A call began to run.
update calls set state = 'started', effect = ?, target = ?, arguments_hash = ?, seq = ? where key = ?;

-- finish: A call ran to its end, well or not.
update calls set state = 'finished', effect = ?, target = ?, ok = ?, reason = ?, seq = ? where key = ?;

-- refuse: A call was refused, unless it finished: a key that is used again for something else undoes nothing.
update calls set state = 'refused', effect = ?, target = ?, reason = ?, seq = ? where key = ? and state <> 'finished';
