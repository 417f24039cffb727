// Talks to /api/v1. Changes carry the session's CSRF word, which is asked for once and kept in memory only.

const ROOT = "/api/v1";
let csrf = null;

/** What the host, or the way to it, refused; `status` is 0 when it could not be reached. */
export class Problem extends Error {
  constructor(status, reason, detail) {
    super(detail);
    this.status = status;
    this.reason = reason;
  }

  get offline() {
    return this.status === 0;
  }

  get signedOut() {
    return this.status === 401;
  }
}

async function ask(path, options) {
  let response;
  try {
    response = await fetch(ROOT + path, { cache: "no-store", ...options });
  } catch {
    throw new Problem(0, "resource_busy", "The host cannot be reached.");
  }
  if (response.ok) return response.json();
  const problem = await response.json().catch(() => ({}));
  throw new Problem(response.status, problem.reason ?? "unknown", problem.detail ?? response.statusText);
}

export const get = (path) => ask(path, { headers: { Accept: "application/json" } });

export async function post(path, body = {}) {
  csrf ??= (await get("/session")).csrf;
  const headers = { "Content-Type": "application/json", "X-Elis-CSRF": csrf };
  return ask(path, { method: "POST", headers, body: JSON.stringify(body) });
}

export const pathOf = (group) => `/groups/${encodeURIComponent(group)}`;
