-- whole: Every row in order, to be compared with a rebuilt table.
select * from turns order by turn;

-- by_id: One turn.
select * from turns where turn = ?;

-- state: Whether a turn runs, is parked or has ended.
select state from turns where turn = ?;

-- open: Turns without a final event, oldest first.
select * from turns where state <> 'ended' order by started_seq;

-- answered: Parked turns whose question needs no answer any more, oldest first.
select * from turns
where state = 'parked' and not exists
    (select 1 from questions where questions.turn = turns.turn and questions.state = 'waiting')
order by started_seq;

-- latest: The newest turns, newest first, older than one if it is given.
select * from turns where ? = '' or turn < ? order by turn desc limit ?;

-- failed: The newest turns that ended without success, newest first.
select * from turns where state = 'ended' and outcome <> 'success' order by turn desc limit ?;

-- start: A turn has started and has used nothing.
insert into turns
values (?, ?, ?, ?, ?, ?, 'running', ?, ?, 0, ?, 0, '', '', 0, 0, 0, 0, 0.0, 0, 0.0, 0, 0, '', 0, 0.0);

-- set_aside: A request was sent, and what it may use is set aside until it is answered.
update turns set open_step = ?, open_attempt = ?, open_purpose = ?, open_tokens = ?, open_cost_usd = ? where turn = ?;

-- charge: A request was answered or failed: what it used is added, and nothing is set aside any more.
update turns
set steps = steps + ?, tokens_in = tokens_in + ?, tokens_out = tokens_out + ?, tokens_cached = tokens_cached + ?,
    cost_usd = cost_usd + ?, estimated = max(estimated, ?), seconds = seconds + ?, open_tokens = 0, open_cost_usd = 0.0
where turn = ?;

-- add_seconds: A call took active time.
update turns set seconds = seconds + ? where turn = ?;

-- progress: An event moved a turn on, so resumptions count from here.
update turns set progress_seq = ?, resumes = 0 where turn = ?;

-- resume: A turn was taken up again after a restart.
update turns set resumes = ? where turn = ?;

-- park: A turn waits for a person and holds no lane.
update turns set state = 'parked' where turn = ?;

-- unpark: A parked turn runs again.
update turns set state = 'running' where turn = ?;

-- finish: A turn has its final event.
update turns set state = 'ended', ended_seq = ?, outcome = ?, reason = ? where turn = ?;
