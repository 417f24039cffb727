-- whole: Every row in order, to be compared with a rebuilt table.
select * from spend order by quarter;

-- since: What was used from a quarter of an hour on.
select coalesce(sum(tokens), 0), coalesce(sum(cost_usd), 0.0) from spend where quarter >= ?;

-- add: Tokens and cost are added to their quarter of an hour.
insert into spend values (?, ?, ?)
on conflict (quarter) do update set tokens = tokens + excluded.tokens, cost_usd = cost_usd + excluded.cost_usd;
