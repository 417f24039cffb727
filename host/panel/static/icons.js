// The few pictures of the panel, drawn as lines in a square of 16.

const SPACE = "http://www.w3.org/2000/svg";

const PATHS = {
  read: "M2 4.5C4 3.3 6 3.3 8 4.5c2-1.2 4-1.2 6 0V13c-2-1.2-4-1.2-6 0-2-1.2-4-1.2-6 0zM8 4.5V13",
  write: "M3 13h2.5L13 5.5 10.5 3 3 10.500zM9 4.500 11.500 7",
  execute: "M2.500 3h11v10h-11zM5 6.500 7 8l-2 1.500M8.500 10h2.500",
  send: "M2 8 14 2.500 10.500 14 7.500 9z",
  destroy: "M3 4.500h10M6 4.500V3h4v1.500M4.500 4.500 5.200 13.500h5.600l.7-9",
  pure: "M8 2.500 13.500 8 8 13.500 2.500 8z",
  person: "M8 8a2.750 2.750 0 1 0 0-5.500A2.750 2.750 0 0 0 8 8zM2.500 14c.6-3 2.800-4.500 5.500-4.500s4.900 1.500 5.500 4.500",
  done: "M3 8.500 6.500 12 13 4.500",
  failed: "M4 4l8 8M12 4l-8 8",
  partial: "M8 3v6.500M8 12.500v.5",
  skipped: "M3.500 8h9",
  stop: "M4 4h8v8H4z",
  note: "M8 7.500v4M8 4.500v.5M8 14A6 6 0 1 0 8 2a6 6 0 0 0 0 12z",
};

PATHS.spend = PATHS.send;

export function icon(name, label = "") {
  const svg = document.createElementNS(SPACE, "svg");
  svg.setAttribute("viewBox", "0 0 16 16");
  svg.setAttribute("class", `icon icon-${name}`);
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  const path = document.createElementNS(SPACE, "path");
  path.setAttribute("d", PATHS[name] ?? PATHS.pure);
  svg.append(path);
  return svg;
}
