import { inspect } from 'node:util';
import type { RequestContext } from '@ebbgate/core';
import type { Instance, VmState } from '@ebbgate/compute';
import { isFinal } from '#compute/objects/states.js';
import { eventually } from '../../support/rigs/deadline.js';
import { BIGGER } from './resize-words.js';
import type { TestCloud } from './test-cloud.js';

/** Something that users ask for, and what it ends in when it is not refused. */
interface Wish {
  readonly name: string;
  readonly from: readonly VmState[];
  /** One that was moved while it was stopped is stopped again afterwards. */
  readonly to: readonly VmState[];
  /** More than one host, or a choice of one: a host that drains makes the answer no, and everything stays as it was. */
  readonly refusable?: boolean;
  readonly ask: (test: TestCloud, context: RequestContext, uuid: string) => Promise<unknown>;
}

function plain(
  name: 'pause' | 'unpause' | 'suspend' | 'resume' | 'unrescue',
  from: VmState,
  to: VmState,
): Wish {
  return {
    name,
    from: [from],
    to: [to],
    ask: ({ cloud }, context, uuid) => cloud.controls.ask(context, uuid, name),
  };
}

const WISHES: readonly Wish[] = [
  plain('pause', 'active', 'paused'),
  plain('unpause', 'paused', 'active'),
  plain('suspend', 'active', 'suspended'),
  plain('resume', 'suspended', 'active'),
  plain('unrescue', 'rescued', 'active'),
  {
    name: 'rescue',
    from: ['active', 'stopped'],
    to: ['rescued'],
    ask: ({ cloud }, context, uuid) => cloud.controls.rescue(context, uuid),
  },
  {
    name: 'set password',
    from: ['active'],
    to: ['active'],
    ask: ({ cloud }, context, uuid) => cloud.controls.setPassword(context, uuid, 'secret'),
  },
  {
    name: 'stop',
    from: ['active'],
    to: ['stopped'],
    ask: ({ cloud }, context, uuid) => cloud.actions.stop(context, uuid),
  },
  {
    name: 'start',
    from: ['stopped'],
    to: ['active'],
    ask: ({ cloud }, context, uuid) => cloud.actions.start(context, uuid),
  },
  {
    name: 'reboot',
    from: ['active'],
    to: ['active'],
    ask: ({ cloud }, context, uuid) => cloud.actions.reboot(context, uuid),
  },
  {
    name: 'reboot hard',
    from: ['active', 'stopped'],
    to: ['active'],
    ask: ({ cloud }, context, uuid) => cloud.actions.reboot(context, uuid, 'hard'),
  },
  {
    name: 'rebuild',
    from: ['active'],
    to: ['active'],
    ask: ({ cloud }, context, uuid) => cloud.rebuilds.rebuild(context, uuid),
  },
  {
    name: 'snapshot',
    from: ['active'],
    to: ['active'],
    ask: ({ cloud }, context, uuid) => cloud.actions.snapshot(context, uuid),
  },
  {
    name: 'shelve',
    from: ['active'],
    to: ['shelved_offloaded'],
    ask: ({ cloud }, context, uuid) => cloud.controls.shelve(context, uuid),
  },
  {
    name: 'unshelve',
    from: ['shelved_offloaded'],
    to: ['active'],
    refusable: true,
    ask: ({ cloud }, context, uuid) => cloud.controls.unshelve(context, uuid),
  },
  {
    name: 'live migration',
    from: ['active'],
    to: ['active'],
    refusable: true,
    ask: ({ cloud }, context, uuid) => cloud.servers.liveMigrate(context, uuid, null),
  },
  {
    name: 'cold migration',
    from: ['active', 'stopped'],
    to: ['resized'],
    refusable: true,
    ask: ({ cloud }, context, uuid) => cloud.moves.migrate(context, uuid, null),
  },
  {
    name: 'resize',
    from: ['active'],
    to: ['resized'],
    refusable: true,
    ask: ({ cloud }, context, uuid) => cloud.moves.resize(context, uuid, BIGGER),
  },
  {
    name: 'confirm',
    from: ['resized'],
    to: ['active', 'stopped'],
    ask: ({ cloud }, context, uuid) => cloud.moves.confirmResize(context, uuid),
  },
  {
    name: 'revert',
    from: ['resized'],
    to: ['active', 'stopped'],
    ask: ({ cloud }, context, uuid) => cloud.moves.revertResize(context, uuid),
  },
];

/** Nothing takes longer, on a machine that is busy. */
export const PATIENCE_MS = 20_000;

/** Who asks, and what was seen of it. */
export interface Watching {
  readonly random: () => number;
  /** A context with a request id of its own. */
  readonly context: (what: string) => RequestContext;
  /** What was asked for has been done. */
  readonly onDone: (wish: string) => void;
  /** What is not as it must be. */
  readonly onProblem: (text: string) => void;
}

/**
 * The owner of one instance: asks for one thing after the other, each when the one before is over, and says what has become
 * neither what was asked for nor, where that may be, what it was before.
 */
export async function beUser(
  test: TestCloud,
  uuid: string,
  steps: number,
  watching: Watching,
): Promise<void> {
  for (let step = 0; step < steps; step += 1) {
    const before = await test.cloud.records.instances.get(uuid);
    const possible = WISHES.filter(({ from }) => from.includes(before.get('vm_state')));
    const wish = possible[Math.floor(watching.random() * possible.length)];
    if (!wish) {
      watching.onProblem(`${uuid} is ${stateOf(before)}, from where nothing leads on`);
      return;
    }
    await ask(test, before, wish, watching);
  }
}

async function ask(test: TestCloud, before: Instance, wish: Wish, watching: Watching): Promise<void> {
  const uuid = before.get('uuid');
  const what = `${wish.name} of ${uuid} at ${String(before.find('host'))}`;
  const outcome = await wish.ask(test, watching.context(what), uuid).then(
    () => undefined,
    (error: unknown) => ({ refused: error }),
  );
  const after = await whenOver(test, uuid).catch(async () => {
    const { instances, migrations } = test.cloud.records;
    const now = await instances.get(uuid);
    const moves = (await migrations.find({ instance_uuid: uuid })).map((one) => one.get('status'));
    watching.onProblem(`${what} is not over: ${stateOf(now)}, migrations ${moves.join(', ')}`);
    return now;
  });
  const isAsBefore = after.get('vm_state') === before.get('vm_state');
  if (outcome) {
    if (!isTyped(outcome.refused)) watching.onProblem(`${what} has failed: ${inspect(outcome.refused)}`);
    if (!isAsBefore) watching.onProblem(`${what} was refused, and it is ${stateOf(after)}`);
  } else if (wish.to.includes(after.get('vm_state'))) watching.onDone(wish.name);
  else if (wish.refusable !== true || !isAsBefore)
    watching.onProblem(`${what} has made it ${stateOf(after)}`);
}

/** Resolves when nothing is being done to an instance any more, and no migration of it is under way. */
function whenOver({ cloud: { records } }: TestCloud, uuid: string): Promise<Instance> {
  return eventually('the end of what was asked for', PATIENCE_MS, async () => {
    const migrations = await records.migrations.find({ instance_uuid: uuid });
    const isOver = migrations.every((one) => isFinal(one.get('status')) || one.get('status') === 'finished');
    const instance = await records.instances.get(uuid);
    return isOver && instance.get('task_state') === null && instance;
  });
}

function stateOf(instance: Instance): string {
  return `${instance.get('vm_state')}/${instance.get('task_state') ?? '-'}@${String(instance.find('host'))}`;
}

/** The error says what was refused, and nobody has waited for it in vain. */
export function isTyped(error: unknown): boolean {
  const code = (error as { readonly code?: unknown } | undefined)?.code;
  return typeof code === 'string' && code.startsWith('ERR_') && code !== 'ERR_TIMEOUT';
}
