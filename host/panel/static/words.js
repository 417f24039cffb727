// Times, amounts and the host's own terms as people read them.

const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const day = new Intl.DateTimeFormat(undefined, { weekday: "long", day: "numeric", month: "long" });
const full = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });

export const timeOf = (iso) => clock.format(new Date(iso));
export const dayOf = (iso) => day.format(new Date(iso));
export const fullTime = (iso) => full.format(new Date(iso));

/** Return a span of time, as short as it can be read. */
export function duration(seconds) {
  if (seconds < 1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 60) return `${Math.round(seconds)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes} min ${String(Math.floor(seconds % 60)).padStart(2, "0")} s`;
  return `${Math.floor(minutes / 60)} h ${String(minutes % 60).padStart(2, "0")} min`;
}

/** Return whole seconds as a running clock shows them. */
export function ticking(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  const minutes = Math.floor(whole / 60);
  const rest = String(whole % 60).padStart(2, "0");
  return minutes < 60 ? `${minutes}:${rest}` : `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${rest}`;
}

export function money(usd) {
  if (usd === 0) return "$0";
  return usd < 0.1 ? `$${usd.toFixed(4)}` : `$${usd.toFixed(2)}`;
}

/** Return money where many amounts add up: to the cent. */
export function cents(usd) {
  return usd > 0 && usd < 0.005 ? "< $0.01" : `$${usd.toFixed(2)}`;
}

export function tokens(count) {
  return count < 1000 ? `${count}` : count < 1e6 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1e6).toFixed(1)}M`;
}

export const plural = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;

const REASONS = {
  protocol_violation: "a call or reply that the protocol does not allow",
  budget_exhausted: "a budget ran out",
  replay_diverged: "the replay differs from the journal",
  approval_timeout: "nobody answered in time",
  delegation_loop: "groups handed the task round in a circle",
  resource_busy: "something it needs is taken",
  audit_failure: "the journal cannot be written or does not verify",
  secret_missing: "a secret could not be obtained",
  policy_violation: "denied",
  path_violation: "outside the workspace",
  login_timeout: "the login was not finished",
  interrupted: "stopped",
  silent_failure: "an empty success",
  no_progress: "no progress",
  model_unavailable: "the model did not answer",
  tool_failed: "a tool failed",
  timed_out: "it took too long",
  unsupported: "a needed capability is lacking",
  unknown: "something unforeseen",
};

export const reasonOf = (reason) => REASONS[reason] ?? reason;

const DISPOSITIONS = {
  steered: "enters the running turn",
  queued: "waits",
  interrupting: "interrupts the running turn",
  held: "held since the Stop",
  stopped: "was taken as Stop",
};

export function dispositionOf(message) {
  if (message.dropped) return `dropped: ${message.dropped}`;
  const words = DISPOSITIONS[message.disposition] ?? "";
  return message.disposition === "queued" && message.position ? `${words}, place ${message.position}` : words;
}

const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu; // controls, formats (turns of direction too), lone surrogates, separators

/** Return text with every character that cannot be seen as an escape, as `host.cli.screen` shows it; newlines and tabs stay. */
export function visible(text) {
  return text.replace(UNSEEN, (character) => {
    if (character === "\n" || character === "\t") return character;
    if (character === "\r") return "\\r";
    const hex = character.codePointAt(0).toString(16);
    if (hex.length <= 2) return `\\x${hex.padStart(2, "0")}`;
    return hex.length <= 4 ? `\\u${hex.padStart(4, "0")}` : `\\U${hex.padStart(8, "0")}`;
  });
}

/** Keep every element with `data-since` (an instant) showing the time since then. */
export function tick() {
  for (const node of document.querySelectorAll("[data-since]")) {
    node.textContent = ticking((Date.now() - Date.parse(node.dataset.since)) / 1000);
  }
  for (const node of document.querySelectorAll("[data-until]")) {
    const left = (Date.parse(node.dataset.until) - Date.now()) / 1000;
    node.textContent = left > 0 ? ticking(left) : "0:00";
  }
}
