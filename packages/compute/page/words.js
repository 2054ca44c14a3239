// Words for what happens.
import { isOver } from './cloud.js';

const MOST = 3;

/** What somebody who only listens is told of a change; empty: nothing. */
export function newsOf(cloud, { before, change }) {
  const told = [
    ...(change.hosts ?? []).map((host) => ofHost(host, before)),
    ...movesIn(cloud, change, before),
  ];
  const news = told.filter((text) => text !== undefined);
  if (news.length > MOST) return `${news.length} things have changed.`;
  return news.join(' ');
}

function ofHost({ id, host, state }, { hosts }) {
  const was = hosts.get(id)?.state;
  return was === state ? undefined : `${host} is ${state}.`;
}

function movesIn(cloud, { migrations = [] }, before) {
  return migrations.map((move) => {
    const was = before.migrations.get(move.id);
    const name = cloud.nameOf(move.instance);
    if (!was && !isOver(move)) return `${name} moves from ${move.source} to ${move.dest ?? 'another host'}.`;
    if (was && !isOver(was) && isOver(move)) return `The move of ${name} is ${move.status}.`;
    return undefined;
  });
}

const KINDS = new Map([
  ['live-migration', 'live'],
  ['migration', 'cold'],
]);

/** `live-migration` as people say it. */
export function kindOf({ type }) {
  return KINDS.get(type) ?? type;
}

/** 0.4321 as `43 %`. */
export function percent(share) {
  return `${Math.floor(share * 100)} %`;
}

/** Milliseconds as people say them. */
export function duration(ms) {
  const seconds = Math.max(0, Math.round(ms / 1000));
  if (seconds < 100) return `${seconds} s`;
  const minutes = Math.round(seconds / 60);
  return minutes < 100 ? `${minutes} min` : `${Math.round(minutes / 60)} h`;
}

/** `1 host`, `2 hosts`. */
export function count(number, one, many = `${one}s`) {
  return `${number} ${number === 1 ? one : many}`;
}
