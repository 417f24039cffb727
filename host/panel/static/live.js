// The overview of all groups, live, shared by all open pages: one of them holds the connection (Web Locks choose
// which) and passes news on, so that ten open tabs cost the host one stream.

import { Stream } from "./stream.js";

const LOCK = "elis overview";

/** All groups as they were last heard of. `subscribe` calls back now and at each change. */
class Live {
  host = null;
  groups = new Map();
  ready = false;
  link = ""; // nothing is known yet | live | lost | a Problem
  #listeners = new Set();
  #channel = new BroadcastChannel(LOCK);
  #leading = false;

  constructor() {
    this.#channel.addEventListener("message", ({ data }) => this.#hear(data));
    if (navigator.locks) {
      navigator.locks.request(LOCK, () => this.#lead());
      this.#channel.postMessage({ hello: true });
    } else {
      this.#lead(); // no locks outside secure contexts: each page then holds a stream of its own
    }
  }

  subscribe(listener) {
    this.#listeners.add(listener);
    listener(this);
  }

  get waiting() {
    return [...this.groups.values()].flatMap((card) => card.questions);
  }

  #lead() {
    this.#leading = true;
    const show = () => this.#tell();
    new Stream({
      url: () => "/api/v1/overview",
      probe: "/status",
      naps: false, // other, visible pages hear through this one
      on: {
        overview: (all) => {
          this.host = all.host;
          this.groups = new Map(all.groups.map((card) => [card.view.name, card]));
          this.ready = true;
          show();
        },
        group: (card) => {
          this.groups.set(card.view.name, card);
          show();
        },
        gone: (name) => {
          this.groups.delete(name);
          show();
        },
        host: (host) => {
          this.host = host;
          show();
        },
      },
      state: (link) => {
        this.link = link;
        show();
      },
    });
    return new Promise(() => {}); // until the page goes
  }

  #hear(data) {
    if (data.hello) {
      if (this.#leading && this.ready) this.#share();
      return;
    }
    if (this.#leading) return;
    this.host = data.host;
    this.groups = new Map(data.groups.map((card) => [card.view.name, card]));
    this.link = data.link;
    this.ready = data.ready;
    this.#notify();
  }

  #tell() {
    this.#share();
    this.#notify();
  }

  #share() {
    // A Problem is a class of this page's; other pages get its facts.
    const { offline, signedOut, message } = this.link;
    const link = typeof this.link === "string" ? this.link : { offline, signedOut, message };
    this.#channel.postMessage({ host: this.host, groups: [...this.groups.values()], link, ready: this.ready });
  }

  #notify() {
    for (const listener of this.#listeners) listener(this);
  }
}

export const live = new Live();
