// Builds nodes from data. Text is always text: no string becomes markup here.

/**
 * Return an element. `props`: `class`, `text`, `on` ({event: listener}), `data` ({name: value}); anything else is an
 * attribute, left out when it is false, null or undefined.
 */
export function h(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(props)) {
    if (value === false || value === null || value === undefined) continue;
    if (name === "class") node.className = value;
    else if (name === "text") node.textContent = value;
    else if (name === "on") for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "data") Object.assign(node.dataset, value);
    else node.setAttribute(name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** Return the page's one element that carries `data-NAME`. */
export function part(name) {
  return document.querySelector(`[data-${name}]`);
}

/** Make `parent` hold exactly `nodes`, in this order, moving as little as possible so that focus stays where it is. */
export function arrange(parent, nodes) {
  const wanted = new Set(nodes);
  for (const child of [...parent.childNodes]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, index) => {
    if (parent.childNodes[index] !== node) parent.insertBefore(node, parent.childNodes[index] ?? null);
  });
}

/** Say something to people who listen instead of looking. */
export function announce(text) {
  const region = part("announce");
  if (region && region.textContent !== text) region.textContent = text;
}

/** Show, replace or (with an empty text) take away the banner of a kind; `action` is an optional button. */
export function banner(kind, text, action = null) {
  const region = part("banners");
  const old = region.querySelector(`[data-kind="${kind}"]`);
  if (!text) {
    old?.remove();
    return;
  }
  if (old?.dataset.text === text) return;
  const node = h("div", { class: `banner banner-${kind}`, data: { kind, text } }, h("p", { text }), action);
  if (old) old.replaceWith(node);
  else region.append(node);
}
