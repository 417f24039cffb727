// Where a person types: the message, when it is heard, and Stop.

import { Problem, pathOf, post } from "./api.js";
import { announce, part } from "./dom.js";
import { plural } from "./words.js";

const LARGEST_SHARE = 0.4; // of the window's height, before the field scrolls

/** Wire the form at the bottom of a chat; return what the page tells it. */
export function composer(group) {
  const form = part("composer");
  const field = form.elements.words;
  const note = part("note");
  const kept = `elis words ${group}`;
  const touch = matchMedia("(pointer: coarse)");
  let key = null; // stays the same while one message is tried again, so that it cannot be heard twice

  const say = (text) => {
    note.textContent = text;
    note.hidden = !text;
  };
  const fit = () => {
    field.style.height = "auto";
    field.style.height = `${Math.min(field.scrollHeight + 2, innerHeight * LARGEST_SHARE)}px`;
  };

  field.value = sessionStorage.getItem(kept) ?? "";
  field.addEventListener("input", () => {
    key = null;
    sessionStorage.setItem(kept, field.value);
    fit();
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" || event.shiftKey || event.isComposing || touch.matches) return;
    event.preventDefault();
    form.requestSubmit();
  });
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const text = field.value.trim();
    if (!text) return;
    key ??= newKey();
    form.elements.words.readOnly = true;
    say("");
    try {
      await post(`${pathOf(group)}/messages`, { text, key, priority: form.elements.priority.value });
      field.value = "";
      sessionStorage.removeItem(kept);
      key = null;
      fit();
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      say(problem.offline ? "Not sent: the host cannot be reached. Your words are kept; send again when it is back." : problem.message);
    } finally {
      form.elements.words.readOnly = false;
    }
  });

  const stop = part("stop");
  stop.addEventListener("click", async () => {
    stop.classList.add("pressed");
    try {
      const { turns, held } = await post(`${pathOf(group)}/stop`, { lane: "chat", all: false });
      const words = turns.length ? "Stopped." : "Nothing was running.";
      announce(held ? `${words} ${plural(held, "message")} held.` : words);
      say("");
    } catch (problem) {
      if (!(problem instanceof Problem)) throw problem;
      say(problem.message);
    } finally {
      stop.classList.remove("pressed");
    }
  });

  fit();
  return {
    running(runs) {
      stop.classList.toggle("live", runs);
      form.classList.toggle("while-running", runs);
    },
  };
}

function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
