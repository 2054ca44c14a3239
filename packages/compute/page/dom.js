// Elements, made without markup: what comes from the wire is text, whatever it looks like.

const SVG = 'http://www.w3.org/2000/svg';

/** Makes an element with these attributes and children; texts among the children become text. */
export function html(name, attributes = {}, ...children) {
  return filled(document.createElement(name), attributes, children);
}

/** Likewise, for drawings. */
export function svg(name, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, name), attributes, children);
}

function filled(node, attributes, children) {
  set(node, attributes);
  node.append(...children);
  return node;
}

/** Sets attributes, where they are others than before; false and undefined take one away, true leaves it empty. */
export function set(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === false) node.removeAttribute(name);
    else if (node.getAttribute(name) !== text(value)) node.setAttribute(name, text(value));
  }
}

/** Sets the text of an element, where it is another than before. */
export function setText(node, content) {
  if (node.textContent !== String(content)) node.textContent = String(content);
}

function text(value) {
  return value === true ? '' : String(value);
}

/** The element with this id. */
export function byId(id) {
  return document.getElementById(id);
}

/**
 * Children of an element, one for each item. What is there already is filled anew and stays where it is, so that it keeps
 * the focus.
 */
export class Keyed {
  #parent;
  #make;
  #parts = new Map();

  /** @param make - `(item) => ({ node, fill(item) })` */
  constructor(parent, make) {
    this.#parent = parent;
    this.#make = make;
  }

  /** Shows these items, each with an `id` of its own, in this order. */
  show(items) {
    const ids = new Set(items.map(({ id }) => id));
    for (const [id, { node }] of this.#parts) {
      if (ids.has(id)) continue;
      node.remove();
      this.#parts.delete(id);
    }
    let next = this.#parent.firstElementChild;
    for (const item of items) {
      const part = this.#parts.get(item.id) ?? this.#make(item);
      this.#parts.set(item.id, part);
      part.fill(item);
      if (part.node === next) next = next.nextElementSibling;
      else this.#parent.insertBefore(part.node, next);
    }
  }
}
