// The cloud as a picture: hosts as boxes, instances as dots in them, moves as arrows between them.
import { html, Keyed, set, setText, svg } from './dom.js';
import { place } from './layout.js';
import { count, percent } from './words.js';

/** Draws into `parent` as wide as that is, again whenever something has changed or its width has. */
export class Picture {
  #parent;
  #words;
  #root;
  #boxes;
  #arrows;
  #cloud;

  constructor(parent, words) {
    this.#parent = parent;
    this.#words = words;
    const tip = svg('path', { d: 'M0 0 8 4 0 8z', class: 'tip' });
    const marker = { id: 'tip', viewBox: '0 0 8 8', refX: 7, refY: 4, markerWidth: 7, markerHeight: 7 };
    const arrows = svg('g');
    const boxes = svg('g');
    this.#root = svg(
      'svg',
      { role: 'img', class: 'picture' },
      svg('defs', {}, svg('marker', { ...marker, orient: 'auto' }, tip)),
      boxes,
      arrows,
    );
    this.#boxes = new Keyed(boxes, makeBox);
    this.#arrows = new Keyed(arrows, makeArrow);
    parent.append(this.#root);
    new ResizeObserver(() => this.#draw()).observe(parent);
  }

  show(cloud) {
    this.#cloud = cloud;
    this.#draw();
  }

  #draw() {
    const width = this.#parent.clientWidth;
    if (!this.#cloud || width === 0) return;
    const { boxes, arrows, height, left } = place(this.#cloud, width);
    set(this.#root, { viewBox: `0 0 ${width} ${height}`, width, height, 'aria-label': said(this.#cloud) });
    this.#boxes.show(boxes);
    this.#arrows.show(arrows);
    setText(
      this.#words,
      left === 0 ? '' : `${count(left, 'more host')} where nothing happens: see the list below.`,
    );
  }
}

/** The picture in words. */
function said(cloud) {
  const moves = cloud.moveList.map(({ name, source, dest, progress }) => {
    const far = progress === null ? '' : `, ${percent(progress)}`;
    return `${name} moves from ${source} to ${dest ?? 'another host'}${far}`;
  });
  const sizes = `${count(cloud.hosts.size, 'host')} with ${count(cloud.instances.size, 'instance')}`;
  return [sizes, ...moves].join('. ');
}

function makeBox() {
  const frame = svg('rect', { class: 'frame', rx: 10 });
  const state = svg('circle', { class: 'state', r: 5, cx: 18, cy: 23 });
  const name = svg('text', { class: 'host', x: 32, y: 28.5 });
  const word = svg('text', { class: 'word', x: 32, y: 46 });
  const full = svg('title');
  const rows = svg('g');
  const list = new Keyed(rows, makeInstance);
  const node = svg('g', {}, full, frame, state, name, word, rows);
  return {
    node,
    fill: (box) => {
      set(node, { class: `box ${box.className}`, transform: `translate(${box.x} ${box.y})` });
      set(frame, { width: box.width, height: box.height });
      setText(full, `${box.host}: ${box.state}`);
      setText(name, box.label);
      setText(word, box.state);
      list.show(box.rows);
    },
  };
}

function makeInstance() {
  const dot = svg('circle', { r: 5, cx: 18, cy: -4 });
  const name = svg('text', { x: 32 });
  const full = svg('title');
  const node = svg('g', {}, full, dot, name);
  return {
    node,
    fill: ({ y, label, title, className }) => {
      set(node, { class: `instance ${className}`, transform: `translate(0 ${y})` });
      setText(name, label);
      setText(full, title);
    },
  };
}

function makeArrow() {
  const way = svg('path', { class: 'way', 'marker-end': 'url(#tip)' });
  const done = svg('path', { class: 'done', pathLength: 1 });
  const pill = svg('rect', { rx: 10.5, x: -23, y: -10.5, width: 46, height: 21 });
  const words = svg('text', { 'text-anchor': 'middle', y: 4.5 });
  const label = svg('g', { class: 'label' }, pill, words);
  const full = svg('title');
  const node = svg('g', {}, full, way, done, label);
  return {
    node,
    fill: ({ path, middle, progress, words: said, title, className }) => {
      set(node, { class: `arrow ${className}` });
      set(way, { d: path });
      set(done, { d: path, 'stroke-dasharray': `${progress ?? 0} 1` });
      set(label, { transform: `translate(${middle.x} ${middle.y})` });
      setText(words, said);
      setText(full, title);
    },
  };
}

/** A bar with its share beside it, for those who see it and those who do not. */
export function makeBar() {
  const bar = html('progress', { max: 1 });
  const words = html('span', { class: 'share', 'aria-hidden': 'true' });
  const node = html('span', { class: 'bar' }, bar, words);
  return {
    node,
    fill: (progress, label) => {
      set(node, { hidden: progress === null });
      set(bar, { value: progress ?? 0, 'aria-label': label });
      setText(words, percent(progress ?? 0));
    },
  };
}
