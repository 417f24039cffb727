// A group's events as a conversation: plain data, no nodes. The same events give the same conversation, in one go or
// one by one; an event that was seen before changes nothing.
//
// blocks: turns, loose messages and lines, in the order they came up. Messages that wait are apart, for they have no
// place in that order yet.

export class Conversation {
  constructor(group) {
    this.group = group;
    this.seq = 0;
    this.first = null; // the sequence of the first event that this page knows
    this.blocks = [];
    this.turns = new Map();
    this.messages = new Map();
    this.questions = new Map();
    this.changed = new Set(); // turns whose picture is out of date; the view empties it
  }

  get waiting() {
    return [...this.messages.values()].filter((message) => message.waits);
  }

  get running() {
    return [...this.turns.values()].filter((turn) => !turn.ended);
  }

  /** Take one event (`{seq, at, turn, kind, data}`); return whether it was new. */
  apply(event) {
    if (event.seq <= this.seq && !this.#lacks(event)) return false;
    this.seq = Math.max(this.seq, event.seq);
    this.first ??= event.seq;
    const take = TAKE[event.kind];
    if (take) take(this, event, event.data);
    return true;
  }

  /**
   * Say whether an old event is the missing end of a turn. An end that the journal could not take carries the sequence
   * of the journal's last event; it is told at each connection, so one of before this page's first event is not for it.
   */
  #lacks(event) {
    return event.kind === "turn_ended" && event.seq >= (this.first ?? 0) && !this.turns.get(event.turn)?.ended;
  }

  /** Take a piece of a reply that is still being written. */
  draft({ turn: id, step, offset, text }) {
    const turn = this.turns.get(id);
    if (!turn || turn.ended || step <= turn.answered) return;
    const before = turn.draft?.step === step ? turn.draft.text.slice(0, offset) : "";
    turn.draft = { step, text: before.length < offset ? `${before}…${text}` : before + text };
    this.changed.add(turn);
  }

  /** Take messages that wait since before the events that this page knows. */
  queue(queued) {
    for (const each of queued) {
      if (this.messages.has(each.id)) continue;
      this.messages.set(each.id, {
        id: each.id,
        text: each.text,
        at: each.at,
        disposition: each.state,
        position: each.position,
        waits: true,
        dropped: "",
      });
    }
  }

  turn(event) {
    let turn = this.turns.get(event.turn);
    if (!turn) {
      turn = {
        type: "turn",
        id: event.turn,
        at: event.at,
        message: null,
        lane: "chat",
        principal: "",
        entries: [],
        calls: new Map(),
        requests: [],
        answered: -1,
        draft: null,
        stopping: false,
        parked: false,
        ended: null,
      };
      this.turns.set(event.turn, turn);
      this.blocks.push(turn);
    }
    this.changed.add(turn);
    return turn;
  }

  line(event, text) {
    if (event.turn) this.turn(event).entries.push({ type: "line", key: `line ${event.seq}`, text });
    else this.blocks.push({ type: "line", id: `line ${event.seq}`, at: event.at, text });
  }
}

/** Return a question in this page's words, from an event `approval_asked` or from /api/v1/approvals. */
export function questionFrom(data, group, turn) {
  return {
    id: data.approval ?? data.id,
    group,
    turn,
    call: data.call,
    tool: data.tool,
    kind: data.question,
    effect: data.effect,
    arguments: data.arguments,
    happens: data.what_may_happen,
    doing: data.doing,
    scopes: data.scopes,
    proposed: data.proposed ?? "once",
    covers: data.covers ?? covered(data.parts ?? []),
    expires: data.expires_at,
    principal: "",
    verdict: "",
  };
}

/** Return by scope what an answer that wide would cover later; what covers a whole kind is said in words. */
function covered(parts) {
  const distinct = (found) => [...new Set(found)];
  return {
    target: distinct(parts.map((part) => part.exact)),
    under: distinct(parts.map((part) => part.under[0] ?? "")).filter(Boolean),
  };
}

function call(turn, id, tool) {
  let found = turn.calls.get(id);
  if (!found) {
    found = { type: "call", key: `call ${id}`, id, tool, effect: "", arguments: {}, state: "asked", since: "", question: null };
    turn.calls.set(id, found);
    turn.entries.push(found);
  }
  return found;
}

function touch(entry) {
  entry.version = (entry.version ?? 0) + 1;
  return entry;
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return value && typeof value === "object" && !Array.isArray(value) ? value : { arguments: text };
  } catch {
    return text ? { arguments: text } : {};
  }
}

function message(talk, event, data) {
  let found = talk.messages.get(data.message);
  if (!found) {
    found = { type: "message", id: data.message, text: data.text ?? "", at: event.at, disposition: "", position: 0, waits: true, dropped: "" };
    talk.messages.set(data.message, found);
  }
  return found;
}

/** Give a message that waited its place among the blocks. */
function settle(talk, event, data, changes) {
  const found = Object.assign(message(talk, event, data), changes);
  if (found.waits) talk.blocks.push(found);
  found.waits = false;
}

const TAKE = {
  message_received(talk, event, data) {
    Object.assign(message(talk, event, data), { text: data.text, priority: data.priority });
  },

  message_placed(talk, event, data) {
    if (data.disposition === "stopped") settle(talk, event, data, { disposition: "stopped" });
    else Object.assign(message(talk, event, data), { disposition: data.disposition, position: data.position });
  },

  message_released(talk, event, data) {
    Object.assign(message(talk, event, data), { disposition: "queued", position: 0 });
  },

  message_dropped(talk, event, data) {
    settle(talk, event, data, { dropped: data.why });
  },

  turn_started(talk, event, data) {
    const found = message(talk, event, data);
    Object.assign(found, { waits: false, disposition: "started" });
    const turn = talk.turn(event);
    Object.assign(turn, { message: found, lane: data.lane, principal: data.principal });
  },

  message_entered(talk, event, data) {
    const found = message(talk, event, data);
    Object.assign(found, { waits: false, text: data.text, disposition: "started" });
    talk.turn(event).entries.push({ type: "message", key: `message ${found.id}`, message: found });
  },

  turn_resumed(talk, event) {
    talk.line(event, "Taken up again after a restart");
  },

  request_sent(talk, event, data) {
    talk.turn(event).requests.push({ seq: event.seq, step: data.step, attempt: data.attempt, purpose: data.purpose });
  },

  attempt_failed(talk, event, data) {
    const again = data.retry_seconds >= 0 ? `, trying again in ${Math.ceil(data.retry_seconds)} s` : "";
    const turn = talk.turn(event);
    if (data.purpose === "assist") return; // the question that follows says enough
    turn.draft = null;
    turn.entries.push({ type: "line", key: `line ${event.seq}`, tone: "bad", text: `The model did not answer (${data.detail})${again}` });
  },

  response_received(talk, event, data) {
    const turn = talk.turn(event);
    if (data.purpose === "assist") return; // another model's word on a call, told by approval_assisted
    if (data.purpose === "step") turn.answered = Math.max(turn.answered, data.step);
    if (!data.calls.length) {
      // The answer itself stays a draft until the final event has judged it.
      if (data.text) turn.draft = { step: data.step, text: data.text };
      return;
    }
    turn.draft = null;
    if (data.text) turn.entries.push({ type: "text", key: `text ${event.seq}`, text: data.text });
    for (const asked of data.calls) touch(Object.assign(call(turn, asked.call, asked.tool), { arguments: parsed(asked.arguments) }));
  },

  call_started(talk, event, data) {
    const turn = talk.turn(event);
    const { effect, target } = data;
    touch(Object.assign(call(turn, data.call, data.tool), { effect, target, arguments: data.arguments, state: "running", since: event.at }));
  },

  call_repeated(talk, event, data) {
    const turn = talk.turn(event);
    touch(Object.assign(call(turn, data.call, ""), { state: "running", since: event.at }));
  },

  call_finished(talk, event, data) {
    const { effect, target, result, reason, detail, seconds } = data;
    const state = data.ok ? "done" : "failed";
    const turn = talk.turn(event);
    touch(Object.assign(call(turn, data.call, data.tool), { effect, target, result, reason, detail, seconds, state, seq: event.seq }));
  },

  call_refused(talk, event, data) {
    const { result, reason, rule } = data;
    const turn = talk.turn(event);
    touch(Object.assign(call(turn, data.call, data.tool), { effect: data.effect ?? "", result, reason, detail: rule, state: "refused", seq: event.seq }));
  },

  approval_asked(talk, event, data) {
    const turn = talk.turn(event);
    const question = Object.assign(questionFrom(data, talk.group, event.turn), { principal: turn.principal });
    talk.questions.set(question.id, question);
    const entry = call(turn, data.call, data.tool);
    touch(Object.assign(entry, { effect: data.effect, arguments: data.arguments, question, state: entry.state === "asked" ? "waiting" : entry.state }));
  },

  approval_reopened(talk, event, data) {
    const question = talk.questions.get(data.approval);
    if (question) question.expires = data.expires_at;
    if (question) touch(call(talk.turn(event), question.call, question.tool));
  },

  approval_settled(talk, event, data) {
    const question = talk.questions.get(data.approval);
    if (!question) return;
    Object.assign(question, { verdict: data.verdict, by: data.by, text: data.text });
    const entry = call(talk.turn({ ...event, turn: question.turn }), question.call, question.tool);
    touch(Object.assign(entry, { state: entry.state === "waiting" ? "asked" : entry.state }));
  },

  approval_assisted(talk, event, data) {
    if (data.verdict === "allowed") talk.line(event, `${data.tool} was allowed by ${data.by}; nobody was asked`);
  },

  noticed(talk, event, data) {
    const whom = data.to === "model" ? "Told the model: " : "";
    talk.line(event, whom + data.text);
  },

  turn_parked(talk, event) {
    talk.turn(event).parked = true;
  },

  turn_unparked(talk, event) {
    talk.turn(event).parked = false;
  },

  stop_requested(talk, event) {
    if (event.turn) talk.turn(event).stopping = true;
    else for (const turn of talk.running) Object.assign(turn, { stopping: true }) && talk.changed.add(turn);
  },

  turn_ended(talk, event, data) {
    const turn = talk.turn(event);
    Object.assign(turn, { draft: null, stopping: false, parked: false, ended: { ...data, html: event.html ?? "", seq: event.seq, at: event.at } });
    for (const entry of turn.calls.values()) {
      if (entry.state === "running") touch(Object.assign(entry, { state: "left" }));
      if (entry.state === "asked" || entry.state === "waiting") touch(Object.assign(entry, { state: "skipped" }));
    }
  },

  lane_replaced(talk, event, data) {
    talk.line({ ...event, turn: "" }, `The lane ${data.lane} did not let go and was replaced (${data.why})`);
  },

  session_started(talk, event, data) {
    if (data.why !== "first") talk.line({ ...event, turn: "" }, "New session: the charter or the tools changed");
  },
};
