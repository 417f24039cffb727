// The overview: one card per group, questions that wait on top, the host's services below.

import { questionFrom } from "./conversation.js";
import { arrange, h, part } from "./dom.js";
import { showConnection, stateMark } from "./frame.js";
import { live } from "./live.js";
import { questionCard } from "./question.js";
import { cents, plural, reasonOf, tick, timeOf, tokens, visible } from "./words.js";

const cards = new Map(); // group → {node, text}: what is shown, so that only changed cards are drawn anew
const questions = new Map(); // question → its card, kept while it waits, with whatever was typed into it

live.subscribe((now) => {
  if (now.link) showConnection(now.link);
  if (!now.ready) return;
  showSummary(now);
  showQuestions(now.waiting);
  showCards([...now.groups.values()].sort((one, other) => one.view.name.localeCompare(other.view.name)));
  showServices(now.host);
  tick();
});

function showSummary({ groups, waiting }) {
  const all = [...groups.values()];
  const working = all.filter((card) => card.running.length).length;
  const cost = all.reduce((sum, card) => sum + card.view.today_cost_usd, 0);
  const words = [plural(all.length, "group"), `${working} working`, `${cents(cost)} today`];
  if (waiting.length) words.splice(2, 0, `${plural(waiting.length, "question")} waiting`);
  const text = words.join(" · ");
  if (part("summary").textContent !== text) part("summary").textContent = text;
}

function showQuestions(waiting) {
  const ids = new Set(waiting.map((each) => each.id));
  for (const id of questions.keys()) if (!ids.has(id)) questions.delete(id);
  for (const each of waiting) {
    if (!questions.has(each.id)) questions.set(each.id, questionCard(questionFrom(each, each.group, each.turn), { elsewhere: true }));
  }
  part("questions").hidden = !waiting.length;
  arrange(part("question-list"), waiting.map((each) => questions.get(each.id)));
}

function showCards(all) {
  const place = part("cards");
  place.removeAttribute("aria-busy");
  const names = new Set(all.map((card) => card.view.name));
  for (const name of cards.keys()) if (!names.has(name)) cards.delete(name);
  for (const card of all) {
    const text = JSON.stringify({ ...card, view: { ...card.view, last_seq: 0, lanes: card.view.lanes.map((lane) => ({ ...lane, running_seconds: 0 })) } });
    if (cards.get(card.view.name)?.text !== text) cards.set(card.view.name, { node: cardOf(card), text });
  }
  arrange(place, all.length ? all.map((card) => cards.get(card.view.name).node) : [nothing()]);
}

function cardOf({ view, running }) {
  return h(
    "article",
    { class: "card", data: { card: view.name } },
    h(
      "header",
      { class: "card-head" },
      h("h3", {}, h("a", { href: `/groups/${encodeURIComponent(view.name)}`, text: view.name })),
      stateMark(view),
      view.model && h("span", { class: "card-model", text: view.model }),
    ),
    view.leak && h("p", { class: "card-leak", text: view.leak }),
    view.problem && h("p", { class: view.state === "failed" ? "card-problem" : "card-wait", text: view.problem }),
    view.lanes.length > 0 && h("ul", { class: "lanes" }, view.lanes.map((lane) => laneRow(lane, running))),
    view.state === "awake" && costRow(view),
    view.last_failures.length > 0 && failures(view.last_failures),
  );
}

function laneRow(lane, running) {
  const turn = running.find((each) => each.turn === lane.turn);
  const waits = [lane.queued && `${lane.queued} queued`, lane.held && `${lane.held} held`].filter(Boolean).join(", ");
  return h(
    "li",
    { class: "lane" },
    h("span", { class: "lane-name", text: lane.name }),
    turn
      ? h("span", { class: "lane-text", title: visible(turn.text), text: visible(turn.text) })
      : h("span", { class: "lane-text lane-idle", text: lane.state === "idle" ? "idle" : lane.state }),
    turn && lane.state === "waiting" && h("span", { class: "lane-waits", text: "waits for you" }),
    turn && h("span", { class: "lane-time", data: { since: turn.started_at } }),
    waits && h("span", { class: "lane-queue", text: waits }),
  );
}

function costRow(view) {
  const cap = view.daily_cost_usd;
  const capped = cap !== null && cap > 0;
  const words = capped ? `${cents(view.today_cost_usd)} of ${cents(cap)} today` : `${cents(view.today_cost_usd)} today, no cap`;
  return h(
    "div",
    { class: "cost" },
    h("span", { text: words }),
    h("span", { class: "cost-tokens", text: `${tokens(view.today_tokens)} tokens` }),
    capped && h("meter", { min: 0, max: cap, high: cap * 0.8, value: Math.min(view.today_cost_usd, cap), "aria-label": `Cost today: ${words}` }),
  );
}

function failures(turns) {
  return h(
    "ul",
    { class: "failures", "aria-label": "Last failures" },
    turns.slice(0, 3).map((turn) =>
      h(
        "li",
        {},
        h("span", { class: `outcome outcome-${turn.outcome}`, text: turn.reason ? reasonOf(turn.reason) : turn.outcome }),
        h("span", { class: "failure-text", title: visible(turn.text), text: visible(turn.text) }),
        h("time", { datetime: turn.started_at, text: timeOf(turn.started_at) }),
      ),
    ),
  );
}

function nothing() {
  return h(
    "div",
    { class: "nothing" },
    h("h3", { text: "No groups yet" }),
    h("p", { text: "A group is one assistant with its own workspace, journal and budget. Add the first one on the host:" }),
    h("pre", {}, h("code", { text: "elis group add main" })),
  );
}

function showServices(host) {
  part("services").hidden = !host;
  if (!host) return;
  const rows = [
    h("li", {}, h("span", { class: "term", text: "Elis " }), `${host.version} at ${host.address}`),
    ...host.services.map((service) =>
      h(
        "li",
        {},
        h("span", { class: "term", text: `${service.name} ` }),
        h("span", { class: `service-${service.state}`, text: service.state }),
        service.detail && ` (${service.detail})`,
      ),
    ),
  ];
  arrange(part("service-list"), rows);
}
