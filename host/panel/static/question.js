// A question to the person: who asks, which tool, the exact arguments, what may happen, and the answer.

import { Problem, post } from "./api.js";
import { h } from "./dom.js";
import { icon } from "./icons.js";
import { fullTime, visible } from "./words.js";

const EFFECTS = {
  pure: "computes",
  read: "reads",
  write: "changes files",
  execute: "runs a program",
  send: "sends something out",
  spend: "spends money or quota",
  destroy: "cannot be undone",
};

const SCOPES = {
  once: () => "this once",
  target: (covers) => `always exactly this: ${shown(covers)}`,
  under: (covers) => `always ${wider(covers)}: ${shown(covers)}`,
  kind: (_, question) => `always when ${question.tool} ${EFFECTS[question.effect] ?? question.effect}`,
};

/** Hours that a wider answer may stand, and what they are called. */
const ENDS = [
  ["", "until I take it back"],
  ["1", "for an hour"],
  ["24", "for a day"],
  ["168", "for a week"],
  ["720", "for 30 days"],
];

const VERDICTS = {
  allowed: "allowed",
  denied: "denied",
  answered: "answered",
  timed_out: "nobody answered in time",
  withdrawn: "withdrawn, the turn was stopped",
};

/** Return arguments as a list of terms and exact values. */
export function argumentList(values) {
  const rows = Object.entries(values).map(([name, value]) => [
    h("dt", { text: visible(name) }),
    h("dd", {}, h("pre", { tabindex: "0", text: visible(typeof value === "string" ? value : JSON.stringify(value, null, 2)) })),
  ]);
  return h("dl", { class: "arguments" }, ...rows);
}

/** Return the card of a question that waits, with its buttons; `elsewhere` adds a link to the conversation. */
export function questionCard(question, { elsewhere = false } = {}) {
  const note = h("p", { class: "question-note", role: "alert" });
  const answers = question.kind === "answer";
  const words = h("textarea", {
    id: `words-${question.id}`,
    rows: answers ? 3 : 1,
    placeholder: answers ? "" : "Reason, if you deny",
  });
  const reach = answers || question.scopes.length < 2 ? null : reachChoice(question);
  const send = (verdict) => settle(question, { verdict, text: words.value, ...(verdict === "allow" && reach?.value()) }, note, buttons);
  const buttons = answers
    ? [button("Send answer", "allow", () => send("answer")), button("Decline", "deny", () => send("deny"))]
    : [button("Allow", "allow", () => send("allow")), button("Deny", "deny", () => send("deny"))];
  return h(
    "article",
    { class: "question", "aria-label": `Question about ${question.tool}`, data: { question: question.id } },
    head(question, elsewhere),
    question.doing && !answers && h("p", { class: "question-doing" }, h("span", { class: "term", text: "It said " }), visible(question.doing)),
    answers ? h("p", { class: "question-asked", text: visible(question.arguments.question ?? "") }) : argumentList(question.arguments),
    answers && hasMore(question.arguments) && argumentList(question.arguments),
    question.happens && !answers && h("p", { class: "question-happens" }, h("span", { class: "term", text: "What may happen " }), visible(question.happens)),
    h("label", { class: answers ? "term" : "visually-hidden", for: words.id, text: answers ? "Your answer" : "Reason" }),
    words,
    reach?.node,
    h("div", { class: "question-row" }, buttons, h("span", { class: "grow" }), expiry(question)),
    note,
  );
}

/** Return one line for a question that is settled. */
export function verdictLine(question) {
  const tone = question.verdict === "allowed" || question.verdict === "answered" ? "good" : "bad";
  const by = question.by && question.verdict !== "timed_out" ? ` by ${question.by === "panel" || question.by === "api" ? "the operator" : question.by}` : "";
  const text = question.text ? `: “${question.text}”` : "";
  return h(
    "p",
    { class: `verdict verdict-${tone}` },
    icon("person"),
    h("span", { text: visible(`${VERDICTS[question.verdict] ?? question.verdict}${by}${text}`) }),
  );
}

/** Return the choice of how far an "allow" reaches and for how long, and the way to read it. */
function reachChoice(question) {
  const options = question.scopes.map((scope) =>
    h("option", { value: scope, text: SCOPES[scope]?.(question.covers[scope] ?? [], question) ?? scope }),
  );
  const scope = h("select", { id: `scope-${question.id}` }, options);
  const until = h(
    "select",
    { "aria-label": "For how long", hidden: true },
    ENDS.map(([hours, text]) => h("option", { value: hours, text })),
  );
  scope.addEventListener("change", () => (until.hidden = scope.value === "once"));
  const hint = question.proposed !== "once" && question.scopes.includes(question.proposed);
  const node = h(
    "div",
    { class: "question-reach" },
    h("label", { class: "term", for: scope.id, text: "Allow" }),
    scope,
    until,
    hint && h("p", { class: "question-hint", text: `“${SCOPES[question.proposed](question.covers[question.proposed] ?? [], question)}” would have spared the last questions like this.` }),
  );
  const end = () => (until.value ? new Date(Date.now() + Number(until.value) * 3_600_000).toISOString() : "");
  return { node, value: () => (scope.value === "once" ? {} : { scope: scope.value, until: end() }) };
}

/** Return keys such as "execute:command:git push" in a person's words. */
/** Return in words how far "under" reaches: for commands that is no beginning of a line. */
function wider(covers) {
  const commands = covers.some((key) => key.split(":")[1] === "command");
  return commands ? "the same command and options with other plain operands" : "what lies under this";
}

function shown(covers) {
  return covers.map((key) => key.split(":").slice(2).join(":") || "the whole workspace").join(" and ");
}

function head(question, elsewhere) {
  const who = elsewhere
    ? h("a", { href: `/groups/${encodeURIComponent(question.group)}`, text: question.group })
    : h("span", { text: question.group });
  const asks = question.kind === "answer" ? " asks you" : " asks to use ";
  return h(
    "header",
    { class: "question-head" },
    icon(question.kind === "answer" ? "person" : question.effect),
    h(
      "h3",
      {},
      who,
      asks,
      question.kind === "answer" ? null : h("code", { text: visible(question.tool) }),
    ),
    question.kind === "answer" ? null : h("span", { class: `effect effect-${question.effect}`, text: EFFECTS[question.effect] ?? question.effect }),
    question.principal && h("span", { class: "question-for", text: `for ${question.principal}` }),
  );
}

function expiry(question) {
  if (!question.expires) return h("span", { class: "question-time", text: "waits as long as it takes" });
  return h(
    "span",
    { class: "question-time", title: `until ${fullTime(question.expires)}` },
    "expires in ",
    h("span", { data: { until: question.expires } }, ""),
  );
}

const hasMore = (values) => Object.keys(values).some((name) => name !== "question");

const button = (text, tone, click) => h("button", { type: "button", class: `answer answer-${tone}`, text, on: { click } });

async function settle(question, word, note, buttons) {
  note.textContent = "";
  for (const each of buttons) each.disabled = true;
  try {
    const settled = await post(`/approvals/${encodeURIComponent(question.id)}`, { ...word, group: question.group });
    note.textContent = settled.settled ? "" : `It was ${VERDICTS[settled.verdict] ?? settled.verdict} before; your answer changed nothing.`;
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    note.textContent = problem.message;
    for (const each of buttons) each.disabled = false;
  }
}
