-- whole: Every row in order, to be compared with a rebuilt table.
select * from questions order by id;

-- by_id: One question.
select * from questions where id = ?;

-- of_call: The latest question about a call.
select * from questions where turn = ? and call = ? order by seq desc limit 1;

-- yes_to: What let a call run, the latest where it was more than one.
select * from questions
where turn = ? and call = ? and state = 'allowed' and question in ('approval', 'assisted')
order by seq desc limit 1;

-- waiting: The questions without an answer, oldest first.
select * from questions where state = 'waiting' order by seq;

-- settled: What a person allowed or denied, newest first.
select * from questions where question = 'approval' and state in ('allowed', 'denied') order by seq desc limit ?;

-- waiting_of_turn: The ids of a turn's questions without an answer, oldest first.
select id from questions where turn = ? and state = 'waiting' order by seq;

-- ask: A person is asked.
insert into questions values (?, ?, ?, ?, ?, 'waiting', '', '', ?, ?, ?, ?);

-- assist: The aux model let a call run for this once; nobody was asked.
insert into questions values (?, ?, ?, ?, 'assisted', 'allowed', ?, '', 0.0, '', ?, ?);

-- assisted: What ran because the aux model let it, newest first; not what somebody said no to after it.
select * from questions
where question = 'assisted' and exists (
  select 1 from calls
  where calls.turn = questions.turn and calls.call = questions.call and calls.state in ('started', 'finished')
)
order by seq desc limit ?;

-- reopen: A question that waited over a restart expires at another time.
update questions set expires_at = ? where id = ?;

-- settle: A question has its answer, or needs none any more.
update questions set state = ?, answered_by = ?, text = ? where id = ?;
