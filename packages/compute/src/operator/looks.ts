import { nameOf } from '../objects/instance.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { textOf } from './actions.js';
import { LOOK_MS } from './follow.js';
import { instanceLines, moveText } from './instance-rows.js';
import { checkHost, findInstance } from './named.js';
import { plainInstance } from './plain-objects.js';
import { Lookout, newestMove, type Sight } from './sight.js';
import { sightView } from './sight-views.js';
import { textTable } from './text-table.js';
import { OperatorError, type Work } from './work.js';

type Given = Readonly<Record<string, unknown>>;

/** All instances, once. */
export function listWork(given: Given): Work {
  return async ({ api }, terminal) => {
    const host = textOf(given, 'host');
    if (host !== undefined) await checkHost(api, host, '--host: ');
    const sight = onlyAt(await new Lookout(api).look(), host);
    const { instances, moves } = sight;
    const text =
      given['json'] === true
        ? JSON.stringify(instances.map((one) => plainInstance(one, moves.get(one.get('uuid')))))
        : instanceLines(sight).join('\n');
    terminal.out(`${text}\n`);
  };
}

/** All that happens, until the operator has had enough. */
export function watchWork(given: Given): Work {
  return async ({ api }, terminal) => {
    const host = textOf(given, 'host');
    const lookout = new Lookout(api);
    const beganAt = performance.now();
    const view = sightView(terminal, {
      json: given['json'] === true,
      now: () => performance.now() - beganAt,
    });
    for (;;) {
      view.show(onlyAt(await lookout.look(), host));
      await sleep(LOOK_MS, undefined, { signal: terminal.signal });
    }
  };
}

function onlyAt({ hosts, instances, moves }: Sight, host: string | undefined): Sight {
  if (host === undefined) return { hosts, instances, moves };
  return {
    hosts: hosts.filter((one) => one.host === host),
    instances: instances.filter((one) => one.find('host') === host),
    moves,
  };
}

/** All about one instance. */
export function showWork(nameOrUuid: string, given: Given): Work {
  return async ({ api }, terminal) => {
    const instance = await findInstance(api, nameOrUuid);
    const migration = await newestMove(api, instance.get('uuid'));
    const plain = plainInstance(instance, migration);
    if (given['json'] === true) {
      terminal.out(`${JSON.stringify(plain)}\n`);
      return;
    }
    const rows = Object.entries(plain).map(([name, value]) => [name, cell(value)]);
    const last = migration ? `${migration.get('migration_type')} ${moveText(migration)}` : '-';
    const lines = textTable([...rows.filter(([name]) => name !== 'migration'), ['last migration', last]]);
    terminal.out(`${lines.join('\n')}\n`);
  };
}

function cell(value: unknown): string {
  if (value === null || value === '') return '-';
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** What the guest has written. */
export function consoleWork(nameOrUuid: string, lines: number | null): Work {
  return async ({ api, apiOf, context }, terminal) => {
    const uuid = (await findInstance(api, nameOrUuid)).get('uuid');
    const output = await (await apiOf(uuid)).actions.consoleOutput(context, uuid, lines);
    terminal.out(output.endsWith('\n') || output === '' ? output : `${output}\n`);
  };
}

/** Whether a console listens at that port. @throws OperatorError when it does not */
export function validateWork(nameOrUuid: string, given: Given): Work {
  const [port, type] = [textOf(given, 'port') ?? '', textOf(given, 'type') ?? ''];
  return async ({ api, apiOf, context }, terminal) => {
    const instance = await findInstance(api, nameOrUuid);
    const uuid = instance.get('uuid');
    const isRight = await (await apiOf(uuid)).actions.validateConsole(context, uuid, { port, type });
    if (!isRight)
      throw new OperatorError(`No ${type} console of ${nameOf(instance)} listens at port ${port}`);
    terminal.out(`A ${type} console of ${nameOf(instance)} listens at port ${port}\n`);
  };
}
