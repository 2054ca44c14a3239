// Where everything in the picture is.
import { isOver } from './cloud.js';
import { cut } from './text-width.js';
import { wayOf } from './ways.js';
import { kindOf, percent } from './words.js';

const BOX = { narrowest: 190, widest: 340, head: 60, row: 24, foot: 10 };
const MOST_HOSTS = 48;
const MOST_ROWS = 8;
/** Between the boxes, and beside those that are one below the other: room for the arrows. */
const GAP = { x: 84, y: 48, beside: 48 };

/** Boxes, arrows, and how high all of it is, in a picture of this width. `left` hosts are not in it. */
export function place(cloud, width) {
  const moves = cloud.moveList;
  const hosts = chosen(cloud.hostList, moves);
  const columns = columnsIn(width, hosts.length);
  const free = columns === 1 ? width - GAP.beside : width - 2 - GAP.x * (columns - 1);
  const boxWidth = Math.min(BOX.widest, free / columns);
  const margin = columns === 1 ? 1 : (width - boxWidth * columns - GAP.x * (columns - 1)) / 2;
  const contents = contentsOf(cloud, moves);
  const boxes = [];
  let y = 2;
  for (let begin = 0; begin < hosts.length; begin += columns) {
    const line = hosts
      .slice(begin, begin + columns)
      .map((host) => boxOf(host, contents.get(host.host) ?? [], boxWidth));
    const bottom = y + Math.max(...line.map(({ height }) => height));
    const place = { y, top: y, bottom, room: (columns === 1 ? GAP.beside : GAP.x) / 2 };
    for (const [column, box] of line.entries()) {
      const isLast = columns > 1 && column === columns - 1;
      boxes.push({ ...box, ...place, x: margin + column * (boxWidth + GAP.x), column, isLast });
    }
    y = bottom + GAP.y;
  }
  const byHost = new Map(boxes.map((box) => [box.host, box]));
  const arrows = moves.flatMap((move, index) =>
    arrowOf(move, index, byHost.get(move.source), byHost.get(move.dest)),
  );
  const height = Math.max(60, y - GAP.y + 2, ...arrows.map(({ middle }) => middle.y + 14));
  return { boxes, arrows, height, left: cloud.hosts.size - hosts.length };
}

/** Where something happens comes first, when there are too many. */
function chosen(hosts, moves) {
  if (hosts.length <= MOST_HOSTS) return hosts;
  const busy = new Set(moves.flatMap(({ source, dest }) => [source, dest]));
  const first = hosts.filter(({ host, state }) => state !== 'up' || busy.has(host));
  const shown = new Set([...first, ...hosts].slice(0, MOST_HOSTS));
  return hosts.filter((host) => shown.has(host)).slice(0, MOST_HOSTS);
}

function columnsIn(width, hosts) {
  const room = Math.floor((width + GAP.x) / (BOX.narrowest + GAP.x));
  return Math.max(1, Math.min(room, hosts));
}

/** What is in each box: the instances there, and those that come. */
function contentsOf(cloud, moves) {
  const under = moves.filter((move) => !isOver(move));
  const leaving = new Map(under.map((move) => [move.instance, move]));
  const contents = new Map();
  const add = (host, row) => {
    const rows = contents.get(host);
    if (rows) rows.push(row);
    else contents.set(host, [row]);
  };
  for (const instance of cloud.instanceList) {
    if (instance.host !== null) add(instance.host, rowOf(instance, leaving.get(instance.id)));
  }
  for (const move of under) {
    const isThere = cloud.instances.get(move.instance)?.host === move.dest;
    if (move.dest !== null && !isThere) add(move.dest, guestOf(move));
  }
  // What moves must be seen.
  for (const rows of contents.values()) rows.sort((one, other) => other.moves - one.moves);
  return contents;
}

function rowOf({ id, name, vm_state: state, task_state: task }, move) {
  const doing = task ?? (state === 'active' ? '' : state);
  const label = doing === '' ? name : `${name} · ${doing}`;
  const className = move ? 'leaves' : state === 'error' ? 'failed' : state === 'active' ? '' : 'still';
  return { id, instance: id, label, title: `${name}: ${task ?? state}`, className, moves: move ? 1 : 0 };
}

function guestOf({ id, instance, name, source }) {
  return { id, instance, label: name, title: `${name} comes from ${source}`, className: 'comes', moves: 1 };
}

function boxOf({ id, host, state }, contents, width) {
  const few = contents.length <= MOST_ROWS ? contents : contents.slice(0, MOST_ROWS - 1);
  const fits = few.map((row) => ({ ...row, label: cut(row.label, width - 44) }));
  const more = contents.length - fits.length;
  const last = { id: 'more', label: `and ${more} more`, title: '', className: 'more' };
  const rows = more === 0 ? fits : [...fits, last];
  const none = { id: 'none', label: 'no instances', title: '', className: 'more' };
  const shown = (rows.length === 0 ? [none] : rows).map((row, index) => ({
    ...row,
    y: BOX.head + index * BOX.row + 12,
  }));
  return {
    id,
    host,
    state,
    label: cut(host, width - 44, 'host'),
    className: state.replaceAll(' ', '-'),
    width,
    height: BOX.head + shown.length * BOX.row + BOX.foot,
    rows: shown,
  };
}

/** From the row of the instance to the row that it is to have; nothing when one of the hosts is not shown. */
function arrowOf(move, index, from, to) {
  if (!from || !to || from === to) return [];
  const begin = levelOf(from, move);
  const end = levelOf(to, move);
  const { path, middle } = wayOf({ from, to, begin, end, aside: ((index % 5) - 2) * 7 });
  const title = `${move.name}: ${move.source} to ${move.dest}, ${kindOf(move)}, ${move.status}`;
  const className = isOver(move) ? (move.status === 'error' ? 'failed' : 'over') : '';
  const words = move.progress !== null ? percent(move.progress) : move.status === 'finished' ? 'waits' : '…';
  return [{ id: move.id, path, middle, progress: move.progress, words, title, className }];
}

function levelOf(box, { instance }) {
  const row = box.rows.find((one) => one.instance === instance);
  return box.y + (row ? row.y - 4 : 24);
}
