// How a turn looks: what began it, what was said and called, and how it ended.

import { arrange, h } from "./dom.js";
import { icon } from "./icons.js";
import { argumentList, questionCard, verdictLine } from "./question.js";
import { dispositionOf, duration, fullTime, money, plural, reasonOf, timeOf, tokens, visible } from "./words.js";

// The one place where a string becomes markup: replies, which the server has rendered and cleaned.
const policy = window.trustedTypes?.createPolicy("elis-reply", { createHTML: (html) => html });
const markup = (html) => policy?.createHTML(html) ?? html;

const MARKS = { done: "done", failed: "failed", refused: "failed", left: "skipped", skipped: "skipped" };
const STATES = { asked: "asked for", waiting: "waits for you", running: "runs", done: "done", failed: "failed", refused: "refused", left: "not finished", skipped: "not attempted" };
const OUTCOMES = { success: "Done", partial: "Done in part", failed: "Not done" };

/** A turn's node; `update` brings it up to date and keeps what a person opened or typed. */
export class TurnView {
  #entries = new Map(); // key → {node, version}

  constructor(turn) {
    this.turn = turn;
    this.node = h("article", { class: "turn", data: { turn: turn.id }, "aria-label": "Turn" });
    this.draft = null;
    this.end = null;
  }

  update() {
    const { turn } = this;
    this.opening ??= turn.message && bubble(turn.message);
    arrange(
      this.node,
      [this.opening, ...turn.entries.map((entry) => this.#entry(entry)), this.#draft(), this.#state(), this.#ended()].filter(Boolean),
    );
  }

  #entry(entry) {
    const known = this.#entries.get(entry.key);
    if (known && known.version === entry.version) return known.node;
    const node = ENTRIES[entry.type](entry, known?.node);
    this.#entries.set(entry.key, { node, version: entry.version });
    return node;
  }

  #draft() {
    const { draft } = this.turn;
    if (!draft) return null;
    this.draft ??= h("div", { class: "draft" }, h("span", { class: "draft-tag", text: "Draft" }), h("p", { class: "draft-text" }));
    const text = this.draft.lastChild;
    // Text grows at its end most of the time: adding to the node is cheap, replacing it is not.
    const shown = text.textContent;
    if (draft.text.startsWith(shown)) text.append(draft.text.slice(shown.length));
    else text.textContent = draft.text;
    return this.draft;
  }

  #state() {
    const { turn } = this;
    if (turn.ended) return null;
    const asked = [...turn.calls.values()].some((call) => call.state === "waiting");
    const word = turn.stopping ? "Stopping" : asked ? "Waits for you" : turn.parked ? "Parked until the question is answered" : turn.draft ? "Writing" : "Working";
    this.clock ??= h("p", { class: "working" }, h("span", { class: "pulse", "aria-hidden": "true" }), h("span"), h("span", { class: "clock", data: { since: turn.at } }));
    this.clock.classList.toggle("still", asked || turn.parked);
    this.clock.children[1].textContent = word;
    return this.clock;
  }

  #ended() {
    if (!this.turn.ended) return null;
    this.end ??= ending(this.turn);
    return this.end;
  }
}

/** Return a message of the person. */
export function bubble(message, actions = null) {
  const disposition = dispositionOf(message);
  return h(
    "div",
    { class: "said", data: { message: message.id } },
    h("p", { class: "said-text", text: message.text || "(said before what is shown here)" }),
    h(
      "p",
      { class: "said-foot" },
      h("time", { datetime: message.at, title: fullTime(message.at), text: timeOf(message.at) }),
      disposition && h("span", { class: "disposition", text: disposition }),
      actions,
    ),
  );
}

/** Return a thin line between blocks. */
export const line = (text, tone = "") => h("p", { class: `line-note ${tone && `line-${tone}`}`, text: visible(text) });

const ENTRIES = {
  text: (entry) => h("p", { class: "interim", text: entry.text }),
  line: (entry) => line(entry.text, entry.tone),
  message: (entry) => bubble(entry.message),
  call: callNode,
};

function callNode(call, old) {
  const open = old?.querySelector("details")?.open ?? false;
  const question = call.question;
  const mark = MARKS[call.state] ?? (call.effect || "pure");
  const body = [argumentList(call.arguments)];
  if (call.result !== undefined) body.push(result(call));
  return h(
    "div",
    { class: `call call-${call.state}`, data: { call: call.id } },
    h(
      "details",
      { open },
      h(
        "summary",
        {},
        icon(mark),
        h("code", { class: "call-tool", text: visible(call.tool) }),
        h("span", { class: "call-what", text: summaryOf(call) }),
        h("span", { class: "call-state", text: call.reason ? reasonOf(call.reason) : STATES[call.state] }),
        call.state === "running" && h("span", { class: "call-time", data: { since: call.since } }),
        call.seconds !== undefined && h("span", { class: "call-time", text: duration(call.seconds) }),
      ),
      h("div", { class: "call-body" }, body),
    ),
    question && !question.verdict && call.state === "waiting" && questionCard(question),
    question?.verdict && verdictLine(question),
  );
}

function result(call) {
  const words = call.detail ? `Result (${visible(call.detail)})` : "Result";
  return h("div", { class: "call-result" }, h("p", { class: "term", text: words }), h("pre", { tabindex: "0", text: visible(call.result) || "(empty)" }));
}

/** Return the one line by which a person knows a call: its target, or its first argument. */
function summaryOf(call) {
  const [first] = Object.values(call.arguments);
  const text = call.target || (typeof first === "string" ? first : first === undefined ? "" : JSON.stringify(first));
  return visible(text).split("\n", 1)[0];
}

function ending(turn) {
  const { ended } = turn;
  const good = ended.outcome === "success";
  const reply = h("div", { class: "reply" });
  if (ended.html) reply.innerHTML = markup(ended.html);
  else reply.append(h("p", { text: ended.reply }));
  const accounts = [
    accountList("Done", "done", ended.done),
    accountList("Failed", "failed", ended.failed),
    accountList("Not attempted", "skipped", ended.not_attempted),
  ].filter(Boolean);
  return h(
    "div",
    { class: "ending" },
    ended.reply && reply,
    h(
      "footer",
      { class: `account account-${ended.outcome}` },
      h(
        "p",
        { class: "account-head" },
        icon(good ? "done" : ended.outcome === "partial" ? "partial" : ended.reason === "interrupted" ? "stop" : "failed"),
        h("strong", { text: OUTCOMES[ended.outcome] }),
        ended.reason && h("span", { class: "account-reason", text: ` ${reasonOf(ended.reason)}` }),
        h("span", { class: "usage", text: usageOf(ended) }),
      ),
      !good && ended.detail && h("p", { class: "account-detail", text: visible(ended.detail) }),
      accounts.length > 0 && (good ? folded(accounts, ended) : h("div", { class: "account-lists" }, accounts)),
      requests(turn),
    ),
  );
}

function folded(accounts, ended) {
  const parts = [[ended.done, "done"], [ended.failed, "failed"], [ended.not_attempted, "not attempted"]];
  const words = parts.filter(([list]) => list.length).map(([list, word]) => `${list.length} ${word}`).join(", ");
  return h("details", { class: "account-fold" }, h("summary", { text: `Account: ${words}` }), h("div", { class: "account-lists" }, accounts));
}

function accountList(title, mark, accounts) {
  if (!accounts.length) return null;
  return h(
    "div",
    { class: "account-list" },
    h("p", { class: "account-title", text: title }),
    h(
      "ul",
      {},
      accounts.map((each) =>
        h(
          "li",
          {},
          icon(mark),
          h(
            "div",
            { class: "account-what" },
            h("span", { text: visible(each.what) }),
            each.reason && h("span", { class: "account-why", text: reasonOf(each.reason) }),
            each.seq > 0 && h("span", { class: "account-seq", text: `event ${each.seq}` }),
          ),
        ),
      ),
    ),
  );
}

function usageOf(ended) {
  const cost = `${money(ended.cost_usd)}${ended.estimated ? " estimated" : ""}`;
  return [duration(ended.seconds), plural(ended.steps, "step"), `${tokens(ended.tokens_in + ended.tokens_out)} tokens`, cost].join(" · ");
}

function requestName(each) {
  if (each.purpose === "assist") return `whether a call of step ${each.step} may run`;
  return each.step ? `step ${each.step}, attempt ${each.attempt}` : "wrap-up";
}

function requests(turn) {
  if (!turn.requests.length) return null;
  const group = encodeURIComponent(document.body.dataset.group);
  return h(
    "details",
    { class: "account-fold" },
    h("summary", { text: `Exact requests to the model: ${turn.requests.length}` }),
    h(
      "ul",
      { class: "request-list" },
      turn.requests.map((each) =>
        h("li", {}, h("a", { href: `/api/v1/groups/${group}/requests/${each.seq}`, target: "_blank", text: requestName(each) })),
      ),
    ),
  );
}
