// One stream of server-sent events that survives restarts, naps and refusals.
//
// The browser reconnects by itself after a cut and sends Last-Event-ID; where it gives up (an answer that is no
// stream) this asks the API why, tells the page, and tries again with growing pauses. A page that stays hidden for a
// minute lets go of its connection, for a browser has only six per host, and takes it up where it was.

import { get } from "./api.js";

const LONGEST_PAUSE = 10_000;
const HIDDEN_GRACE = 60_000;

export class Stream {
  #source = null;
  #pause = 500;
  #timer = null;
  #nap = null;

  /**
   * `url()` gives the address to (re)connect to, from where the page is now; `probe` an API path that fails as the
   * stream would; `on` maps event names to functions of the decoded data (`message` for events without a name);
   * `state` is told "live", "lost" or a Problem. With `naps` false the stream stays while the page is hidden.
   */
  constructor({ url, probe, on, state, naps = true }) {
    Object.assign(this, { url, probe, on, state });
    if (naps) document.addEventListener("visibilitychange", () => this.#seen());
    window.addEventListener("online", () => this.open());
    window.addEventListener("pagehide", () => this.close());
    window.addEventListener("pageshow", (event) => event.persisted && this.open());
    this.open();
  }

  open() {
    this.close();
    const source = new EventSource(this.url());
    this.#source = source;
    source.addEventListener("open", () => {
      this.#pause = 500;
      this.state("live");
    });
    for (const [name, take] of Object.entries(this.on)) {
      source.addEventListener(name, (event) => take(JSON.parse(event.data), event));
    }
    source.addEventListener("error", () => {
      if (source !== this.#source) return;
      if (source.readyState === EventSource.CLOSED) this.#refused();
      else this.state("lost");
    });
  }

  close() {
    clearTimeout(this.#timer);
    this.#source?.close();
    this.#source = null;
  }

  async #refused() {
    this.close();
    this.state(await get(this.probe).then(() => "lost", (problem) => problem));
    this.#timer = setTimeout(() => this.open(), this.#pause);
    this.#pause = Math.min(this.#pause * 2, LONGEST_PAUSE);
  }

  #seen() {
    clearTimeout(this.#nap);
    if (document.hidden) this.#nap = setTimeout(() => this.close(), HIDDEN_GRACE);
    else if (!this.#source) this.open();
  }
}
