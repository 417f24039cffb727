-- whole: Every row in order, to be compared with a rebuilt table.
select * from refused_intents order by turn, effect, target;

-- of_turn: What was refused or left unanswered in a turn.
select effect, target, reason, text from refused_intents where turn = ?;

-- add: An effect on a target was refused; the first refusal of it stands.
insert into refused_intents values (?, ?, ?, ?, ?) on conflict do nothing;
