import { nameOf } from '../objects/instance.js';
import { Picture, type Screen } from '../main-job/picture.js';
import { PlainView } from '../main-job/plain-view.js';
import { instanceEvent, migrationEvent } from '../main-job/record-events.js';
import { cloudLines, instanceLines, shortFault } from './instance-rows.js';
import { plainInstance } from './plain-objects.js';
import type { Sight } from './sight.js';
import type { Terminal } from './terminal.js';

/** Shows what is seen, one sight after the other. */
export interface SightView {
  show(sight: Sight): void;
}

/** @param how - `json`: one object for each change; `now`: milliseconds since the command began */
export function sightView(
  terminal: Terminal,
  { json, now }: { readonly json: boolean; readonly now: () => number },
): SightView {
  if (json) return jsonView(terminal);
  return terminal.screen ? pictureOf(terminal.screen) : plainView(terminal, now);
}

/** One table, drawn again in its place when something has changed. */
function pictureOf(screen: Screen): SightView {
  const picture = new Picture(screen);
  let drawn = '';
  return {
    show: (sight) => {
      const lines = sight.hosts.length > 0 ? cloudLines(sight) : narrow(instanceLines(sight));
      if (drawn !== lines.join('\n')) picture.draw(lines);
      drawn = lines.join('\n');
    },
  };
}

/** Without the ids, for which there is no room beside a bar. */
function narrow(lines: readonly string[]): readonly string[] {
  const column = lines[0]?.indexOf('NAME') ?? 0;
  return lines.map((line) => line.slice(column));
}

/** A line for each thing that has changed. */
function plainView(terminal: Terminal, now: () => number): SightView {
  const plain = new PlainView((text) => {
    terminal.out(text);
  });
  const hosts = new Map<string, string>();
  const faults = new Map<string, string>();
  return {
    show: ({ hosts: seen, instances, moves }) => {
      for (const { host, state } of seen) {
        if (hosts.get(host) !== state) plain.show(now(), { kind: 'note', text: `${host}: ${state}` });
        hosts.set(host, state);
      }
      for (const instance of instances) {
        plain.show(now(), instanceEvent(instance));
        const fault = shortFault(instance);
        if (fault !== '' && faults.get(instance.get('uuid')) !== fault)
          plain.show(now(), { kind: 'note', text: `${nameOf(instance)}: ${fault}` });
        faults.set(instance.get('uuid'), fault);
        const migration = moves.get(instance.get('uuid'));
        if (migration) plain.show(now(), migrationEvent(migration, nameOf(instance)));
      }
    },
  };
}

function jsonView(terminal: Terminal): SightView {
  const told = new Map<string, string>();
  return {
    show: ({ instances, moves }) => {
      for (const instance of instances) {
        const uuid = instance.get('uuid');
        const line = JSON.stringify(plainInstance(instance, moves.get(uuid)));
        if (told.get(uuid) !== line) terminal.out(`${line}\n`);
        told.set(uuid, line);
      }
    },
  };
}
