// A group's chat: loads the latest history, then follows the stream; draws what changed once per frame.

import { Problem, get, pathOf, post } from "./api.js";
import { composer } from "./composer.js";
import { Conversation } from "./conversation.js";
import { announce, arrange, banner, h, part } from "./dom.js";
import { showConnection, stateMark } from "./frame.js";
import { live } from "./live.js";
import { Stream } from "./stream.js";
import { TurnView, bubble, line } from "./turn.js";
import { cents, dayOf, tick } from "./words.js";

const PAGE = 400; // events loaded at once
const MOST = 6000; // events a page holds; older ones can be loaded again
const NEAR_END = 120; // pixels from the end within which the page follows what comes

const group = document.body.dataset.group;
const form = composer(group);

let events = [];
let talk = new Conversation(group);
let views = new Map(); // block → its node, or its TurnView
let drawing = false;

const atEnd = () => innerHeight + scrollY >= document.documentElement.scrollHeight - NEAR_END;
const toEnd = () => scrollTo({ top: document.documentElement.scrollHeight });

function draw() {
  drawing = false;
  const follow = atEnd();
  const nodes = [];
  let day = "";
  for (const block of talk.blocks) {
    const today = dayOf(block.at);
    if (today !== day) nodes.push(dayLine(today));
    day = today;
    nodes.push(nodeOf(block));
  }
  const empty = !talk.blocks.length && !talk.waiting.length;
  arrange(part("blocks"), empty ? [hello()] : nodes);
  arrange(part("pending"), talk.waiting.map((message) => bubble(message, actions(message))));
  part("earlier").hidden = !events.length || events[0].seq <= 1;
  form.running(talk.running.some((turn) => turn.lane === "chat"));
  tick();
  if (follow) toEnd();
  part("to-end").hidden = follow;
}

function redraw() {
  if (drawing) return;
  drawing = true;
  // A frame is the right time, but a hidden page gets none, and what it says aloud should not wait.
  if (document.hidden) setTimeout(draw, 100);
  else requestAnimationFrame(draw);
}

const dayLines = new Map();

function dayLine(text) {
  if (!dayLines.has(text)) dayLines.set(text, h("h2", { class: "day", text }));
  return dayLines.get(text);
}

function nodeOf(block) {
  let view = views.get(block);
  if (!view) {
    view = block.type === "turn" ? new TurnView(block) : { node: block.type === "message" ? bubble(block) : line(block.text) };
    views.set(block, view);
    if (block.type === "turn") talk.changed.add(block);
  }
  if (block.type === "turn" && talk.changed.delete(block)) view.update();
  return view.node;
}

const greeting = h(
  "div",
  { class: "nothing" },
  h("h2", { text: `Say something to ${group}` }),
  h("p", { text: "It can read and write files of its workspace, and run commands after you allow them. Everything it does is journaled and shown here." }),
);
const hello = () => greeting;

const absence = h("div", { class: "nothing" }, h("h2"), h("p"));

/** Say why there is no conversation to be seen. The page keeps trying. */
function unavailable(problem) {
  const [head, text] = absence.children;
  head.textContent = problem.status === 503 ? `${group} is starting` : "The conversation cannot be read";
  text.textContent = problem.status === 503 ? "It appears here in a moment." : problem.message;
  return absence;
}

function actions(message) {
  if (message.disposition !== "held" && message.disposition !== "queued") return null;
  const act = (verb) => async (event) => {
    event.target.disabled = true;
    await post(`${pathOf(group)}/queue/${encodeURIComponent(message.id)}/${verb}`).catch((problem) => trouble(problem));
  };
  return h(
    "span",
    { class: "said-actions" },
    message.disposition === "held" && h("button", { type: "button", class: "quiet", text: "Let it run", on: { click: act("release") } }),
    h("button", { type: "button", class: "quiet", text: "Drop", on: { click: act("drop") } }),
  );
}

function trouble(problem) {
  if (!(problem instanceof Problem)) throw problem;
  banner("problem", problem.message);
}

function take(event) {
  if (!talk.apply(event)) return;
  events.push(event);
  if (event.kind === "turn_started") announce("The assistant is working.");
  if (event.kind === "approval_asked") announce(`A question waits for you: ${event.data.tool}.`);
  if (event.kind === "turn_ended") announce(event.data.outcome === "success" ? "The answer is there." : "The turn ended without success.");
  if (events.length > MOST) start(events.slice(-MOST / 2));
  redraw();
}

/** Build the conversation anew from `from`, oldest first. */
function start(from) {
  const waiting = talk.waiting;
  events = from;
  talk = new Conversation(group);
  views = new Map();
  for (const event of events) talk.apply(event);
  talk.queue(waiting.filter((message) => message.waits).map((message) => ({ ...message, state: message.disposition })));
}

async function earlier() {
  const button = part("earlier").querySelector("button");
  button.disabled = true;
  try {
    const first = events[0].seq;
    const after = Math.max(0, first - 1 - PAGE);
    const older = await get(`${pathOf(group)}/events?after=${after}&limit=${first - 1 - after}&html=true`);
    const fromEnd = document.documentElement.scrollHeight - scrollY;
    start([...older, ...events]);
    draw();
    scrollTo({ top: document.documentElement.scrollHeight - fromEnd });
  } catch (problem) {
    trouble(problem);
  } finally {
    button.disabled = false;
  }
}

async function load() {
  try {
    const view = await get(pathOf(group));
    const after = Math.max(0, view.last_seq - PAGE);
    const [history, queued] = await Promise.all([
      get(`${pathOf(group)}/events?after=${after}&limit=${PAGE}&html=true`),
      get(`${pathOf(group)}/queue`),
    ]);
    start(history);
    talk.queue(queued);
    part("talk").removeAttribute("aria-busy");
    draw();
    toEnd();
    followStream();
  } catch (problem) {
    if (!(problem instanceof Problem)) throw problem;
    showState(problem);
    part("talk").removeAttribute("aria-busy");
    arrange(part("blocks"), [unavailable(problem)]);
    setTimeout(load, problem.status === 503 || problem.offline ? 1000 : 5000);
  }
}

function followStream() {
  new Stream({
    url: () => `/api/v1${pathOf(group)}/events?html=true&after=${talk.seq}`,
    probe: pathOf(group),
    on: {
      message: take,
      draft: (draft) => {
        talk.draft(draft);
        redraw();
      },
      problem: (problem) => banner("problem", problem.detail),
    },
    state: showState,
  });
}

function showState(state) {
  if (state === "live") banner("problem", "");
  else if (state instanceof Problem && !state.offline && !state.signedOut && state.status !== 503) banner("problem", state.message);
  showConnection(state);
}

live.subscribe(({ groups }) => {
  const card = groups.get(group);
  if (!card) return;
  const { view } = card;
  const cap = view.daily_cost_usd === null ? "" : ` of ${cents(view.daily_cost_usd)}`;
  arrange(part("sum"), [stateMark(view), view.model && h("span", { class: "chat-model", text: view.model }), view.state === "awake" && h("span", { class: "chat-cost" }, cents(view.today_cost_usd), h("span", { class: "chat-cap", text: `${cap} today` }))].filter(Boolean));
  if (view.state === "failed") banner("problem", view.problem);
});

part("earlier").querySelector("button").addEventListener("click", earlier);
part("to-end").addEventListener("click", toEnd);
addEventListener("scroll", () => {
  if (atEnd()) part("to-end").hidden = true;
}, { passive: true });

load();
