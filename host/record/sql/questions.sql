-- whole: Every row in order, to be compared with a rebuilt table.
select * from questions order by id;

-- by_id: One question.
select * from questions where id = ?;

-- of_call: The latest question about a call.
select * from questions where turn = ? and call = ? order by seq desc limit 1;

-- waiting: The questions without an answer, oldest first.
select * from questions where state = 'waiting' order by seq;

-- settled: What a person allowed or denied, newest first.
select * from questions where question = 'approval' and state in ('allowed', 'denied') order by seq desc limit ?;

-- waiting_of_turn: The ids of a turn's questions without an answer, oldest first.
select id from questions where turn = ? and state = 'waiting' order by seq;

-- ask: A person is asked.
insert into questions values (?, ?, ?, ?, ?, 'waiting', '', '', ?, ?, ?, ?);

-- reopen: A question that waited over a restart expires at another time.
update questions set expires_at = ? where id = ?;

-- settle: A question has its answer, or needs none any more.
update questions set state = ?, answered_by = ?, text = ? where id = ?;
