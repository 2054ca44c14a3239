import { MessagingError } from '@ebbgate/core';
import { type Instance, nameOf } from '../objects/instance.js';
import type { Migration } from '../objects/migration.js';
import type { Action } from './actions.js';
import { type Ending, follow } from './follow.js';
import { findInstance } from './named.js';
import { plainInstance } from './plain-objects.js';
import { newestMove } from './sight.js';
import { sightView } from './sight-views.js';
import type { Terminal } from './terminal.js';
import { type Operated, OperatorError, type Work } from './work.js';

/** What all commands can be told that change something. */
export interface ActionOptions {
  readonly json: boolean;
  /** Follow it to its end. */
  readonly wait: boolean;
  readonly timeoutMs: number;
}

/** Has one thing done to an instance, and tells of it. */
export function actionWork(
  action: Action,
  nameOrUuid: string,
  options: ActionOptions,
  given: Readonly<Record<string, unknown>>,
): Work {
  return async (cloud, terminal) => {
    const instance = await findInstance(cloud.api, nameOrUuid);
    const uuid = instance.get('uuid');
    const move = await newestMove(cloud.api, uuid);
    const told = await orRefused(action.name, instance, async () =>
      action.ask({ ...cloud, api: await cloud.apiOf(uuid), instance, uuid, move, given }),
    );
    const { doing, ending, isMove } = action;
    const said = `${nameOf(instance)} ${doing}${told === undefined ? '' : `: ${told}`}`;
    const notMove = isMove ? move?.get('uuid') : undefined;
    await concluded(cloud, terminal, { instance, notMove, ending, said }, options);
  };
}

/** What was asked for, and how its end is known. */
export interface Begun {
  readonly instance: Instance;
  readonly notMove?: string | undefined;
  readonly ending: Ending;
  /** A line for people. */
  readonly said: string;
}

/** Tells what was asked for; follows it when that is wished; with `--json` prints what has become of the instance. */
export async function concluded(
  { api }: Operated,
  terminal: Terminal,
  { said, ...begun }: Begun,
  { json, wait, timeoutMs }: ActionOptions,
): Promise<void> {
  const uuid = begun.instance.get('uuid');
  let migration: Migration | undefined;
  if (!json) terminal.out(`${said}\n`);
  if (wait) {
    const beganAt = performance.now();
    const view = json
      ? { show: () => undefined }
      : sightView(terminal, { json, now: () => performance.now() - beganAt });
    ({ migration } = await follow(api, { ...begun, timeoutMs }, view, terminal.signal));
  }
  if (!json) return;
  const now = await api.records.instances.get(uuid);
  terminal.out(`${JSON.stringify(plainInstance(now, migration))}\n`);
}

/** A refusal, in words: which command, which instance, and what is not as it must be. */
async function orRefused<T>(command: string, instance: Instance, ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof MessagingError) || !REFUSALS.has(error.code)) throw error;
    const uuid = instance.get('uuid');
    const name = nameOf(instance);
    const why = error.message
      .replace(`instance ${uuid}: `, '')
      .replaceAll(new RegExp(`(instance )?${uuid}`, 'gi'), name)
      .replace(
        /task_state is (\S+), expected null/,
        'task_state is $1, and must be none: something is being done to it',
      )
      .replace(', expected ', ', and must be ');
    throw new OperatorError(`Cannot ${command} ${name}: ${why}`, { cause: error });
  }
}

const REFUSALS: ReadonlySet<string> = new Set(['ERR_UNEXPECTED_STATE', 'ERR_HOST_DOWN', 'ERR_NOT_FOUND']);
