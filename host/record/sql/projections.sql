-- Tables derived from a group's events; dropped and rebuilt at will (JRN-2). Times are microseconds since 1970, UTC.

drop table if exists messages;
drop table if exists turns;
drop table if exists calls;
drop table if exists questions;
drop table if exists grants;
drop table if exists refused_intents;
drop table if exists spend;

-- messages: where each thing said to the group stands.
create table if not exists messages (
  id text primary key,
  key text not null unique,
  seq integer not null,
  at_us integer not null,
  text text not null,
  priority text not null,
  principal text not null,
  unattended integer not null,
  state text not null, -- received | queued | held | steered | entered | running | done | dropped | stopped
  turn text not null
) strict;

create index if not exists messages_open on messages (state)
  where state not in ('done', 'dropped', 'entered', 'stopped');

create index if not exists messages_turn on messages (turn);

-- turns: one row a turn, with what it has used so far.
create table if not exists turns (
  turn text primary key,
  message text not null,
  lane text not null,
  session text not null,
  principal text not null,
  unattended integer not null,
  state text not null, -- running | parked | ended
  started_seq integer not null,
  started_us integer not null,
  ended_seq integer not null,
  progress_seq integer not null, -- last event that moved the turn on (REC-7)
  resumes integer not null, -- resumptions since then
  outcome text not null,
  reason text not null,
  steps integer not null,
  tokens_in integer not null,
  tokens_out integer not null,
  tokens_cached integer not null,
  cost_usd real not null,
  estimated integer not null,
  seconds real not null, -- active time: inferences and calls, without waits for people
  open_step integer not null, -- the request that was sent and not answered yet, 0 tokens when there is none
  open_attempt integer not null,
  open_purpose text not null,
  open_tokens integer not null,
  open_cost_usd real not null
) strict;

create index if not exists turns_open on turns (state) where state <> 'ended';

-- calls: what was asked for and what came of it, by idempotency key.
create table if not exists calls (
  key text primary key,
  turn text not null,
  call text not null,
  tool text not null,
  effect text not null, -- '' while unknown
  target text not null,
  arguments_hash text not null,
  state text not null, -- asked | started | finished | refused
  ok integer not null,
  reason text not null,
  position integer not null, -- order of asking within the turn
  seq integer not null -- the event of its latest state
) strict;

create index if not exists calls_turn on calls (turn, position);

-- questions: what people were asked.
create table if not exists questions (
  id text primary key,
  turn text not null,
  call text not null,
  tool text not null,
  question text not null, -- approval | answer | assisted (the aux model let it run, nobody was asked)
  state text not null, -- waiting | allowed | denied | answered | timed_out | withdrawn
  answered_by text not null,
  text text not null,
  timeout_seconds real not null,
  expires_at text not null,
  asked_us integer not null,
  seq integer not null -- the approval_asked event
) strict;

create index if not exists questions_waiting on questions (state) where state = 'waiting';
create index if not exists questions_call on questions (turn, call);

create index if not exists questions_settled on questions (question, seq) where state in ('allowed', 'denied');

-- grants: standing answers.
create table if not exists grants (
  id text primary key,
  approval text not null, -- the question that it answered
  scope text not null, -- target | under | kind
  keys text not null, -- what it covers, a JSON array
  until text not null, -- ISO 8601, UTC; '' has no end
  given_by text not null,
  given_us integer not null,
  revoked_by text not null, -- '' while it stands
  seq integer not null -- the grant_given event
) strict;

create index if not exists grants_standing on grants (seq) where revoked_by = '';

-- refused_intents: effect and target that a person refused or left unanswered in a turn (APR-2).
create table if not exists refused_intents (
  turn text not null,
  effect text not null,
  target text not null,
  reason text not null,
  text text not null,
  primary key (turn, effect, target)
) strict;

-- spend: tokens and cost by quarter of an hour, the finest offset between time zones, so that any local day adds up.
create table if not exists spend (
  quarter integer primary key,
  tokens integer not null,
  cost_usd real not null
) strict;
