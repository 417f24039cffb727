// What every page has around it: the list of groups, the count of waiting questions, the state of the connection.

import { arrange, banner, h, part } from "./dom.js";
import { live } from "./live.js";
import { tick } from "./words.js";

const here = document.body.dataset.group ?? "";
const title = document.title;
const links = new Map();

/** Return one word for a group's state and the class that colours it. */
export function stateOf(view) {
  if (view.state !== "awake") return { word: view.state, tone: view.state === "failed" ? "bad" : "wait" };
  const states = view.lanes.map((lane) => lane.state);
  if (view.approvals) return { word: "asks you", tone: "ask" };
  if (states.includes("stopping")) return { word: "stopping", tone: "wait" };
  if (states.includes("running") || states.includes("waiting")) return { word: "working", tone: "busy" };
  return { word: "idle", tone: "calm" };
}

export function stateMark(view) {
  const { word, tone } = stateOf(view);
  return h("span", { class: `state state-${tone}`, text: word });
}

function groupLink(view) {
  let entry = links.get(view.name);
  if (!entry) {
    const dot = h("span", { class: "dot", "aria-hidden": "true" });
    const word = h("span", { class: "visually-hidden" });
    const badge = h("span", { class: "badge" });
    const anchor = h(
      "a",
      { class: "side-link", href: `/groups/${encodeURIComponent(view.name)}`, "aria-current": view.name === here && "page" },
      dot,
      h("span", { class: "side-name", text: view.name }),
      word,
      badge,
    );
    entry = { node: h("li", {}, anchor), dot, word, badge };
    links.set(view.name, entry);
  }
  const { word, tone } = stateOf(view);
  entry.dot.className = `dot dot-${tone}`;
  entry.word.textContent = `, ${word}`;
  entry.badge.hidden = !view.approvals;
  entry.badge.textContent = view.approvals || "";
  entry.badge.title = view.approvals ? "waiting questions" : "";
  return entry.node;
}

function showLink(link) {
  const node = part("link-state");
  const word = link === "live" ? "Live" : link === "lost" ? "Reconnecting" : link.signedOut ? "Signed out" : "Offline";
  if (node.textContent !== word) node.textContent = word;
  node.dataset.tone = link === "live" ? "good" : "wait";
}

/** Tell a person that the connection is lost or the session over; take the word back when all is well. */
export function showConnection(state) {
  if (state === "live") {
    banner("offline", "");
    banner("signed-out", "");
  } else if (state === "lost" || state.offline) {
    banner("offline", "The connection to the host is lost. Nothing is gone: this page goes on where it was as soon as it is back.");
  } else if (state.signedOut) {
    banner("offline", "");
    banner("signed-out", "You are signed out. Run “elis panel” on the host and open its link, then this page goes on.");
  }
}

live.subscribe(({ groups, waiting, link, ready }) => {
  if (link) showLink(link);
  if (!ready) return;
  const names = [...groups.keys()].sort();
  for (const name of links.keys()) if (!groups.has(name)) links.delete(name);
  arrange(part("groups"), names.map((name) => groupLink(groups.get(name).view)));
  const badge = part("waiting");
  badge.hidden = !waiting.length;
  badge.textContent = waiting.length || "";
  document.title = waiting.length ? `(${waiting.length}) ${title}` : title;
});

if (document.body.dataset.page === "overview") document.querySelector('[data-nav="overview"]').setAttribute("aria-current", "page");

setInterval(tick, 1000);
