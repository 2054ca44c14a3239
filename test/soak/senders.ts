import { Notifier } from '@ebbgate/notify';
import { RpcClient } from '@ebbgate/rpc';
import { failureOf, type Notebook, type Way } from './records.js';
import { NOTIFICATIONS, type Role, type RoleSettings, SERVERS, type StartRole, TOPIC } from './role.js';

/** Every so often a call is for one server, whose queue may be deleted under it. */
const DIRECT_EVERY = 4;

/** What answers with another's answer is wrong, and no error of ours. */
class WrongAnswerError extends Error {}

/** Sends at a constant pace, whatever becomes of it. */
class Pace {
  readonly #notes: Notebook;
  readonly #name: string;
  readonly #timer: NodeJS.Timeout;
  readonly #open = new Set<Promise<void>>();
  #sent = 0;

  constructor({ name, everyMs }: RoleSettings, notes: Notebook, tick: (number: number) => void) {
    this.#notes = notes;
    this.#name = name;
    let ticks = 0;
    this.#timer = setInterval(() => tick((ticks += 1)), everyMs);
  }

  /** Notes that it is sent, and how it settles. */
  send(way: Way, work: (id: string) => Promise<unknown>): void {
    this.#sent += 1;
    const id = `${this.#name}-${this.#sent}`;
    this.#notes.note({ is: 'sent', id, way });
    const settled = work(id).then(
      () => {
        this.#notes.note({ is: 'settled', id });
      },
      (error: unknown) => {
        this.#notes.note({ is: 'settled', id, failure: failureOf(error) });
      },
    );
    this.#open.add(settled);
    void settled.finally(() => this.#open.delete(settled));
  }

  /** Resolves when all has settled. */
  async quiesce(): Promise<void> {
    clearInterval(this.#timer);
    await Promise.all(this.#open);
  }
}

/** Calls and casts. */
export const startClient: StartRole = (settings, transport, notes) => {
  const client = new RpcClient(transport, { topic: TOPIC }, { timeoutMs: settings.timeoutMs });
  const direct = SERVERS.map((server) => client.prepare({ server }));
  const call = async (to: RpcClient, id: string): Promise<void> => {
    const answer = await to.call({}, 'work', { id });
    if (answer !== id) throw new WrongAnswerError(`${id} was answered by ${String(answer)}`);
  };
  const pace = new Pace(settings, notes, (number) => {
    const isDirect = number % DIRECT_EVERY === 0;
    const to = (isDirect && direct[(number / DIRECT_EVERY) % direct.length]) || client;
    pace.send('call', (id) => call(to, id));
    pace.send('cast', (id) => client.cast({}, 'work', { id }));
  });
  return roleOf(pace, () => transport.close());
};

/** Tells, and waits for the promise. */
export const startNotifier: StartRole = (settings, transport, notes) => {
  const notifier = new Notifier(transport, {
    publisherId: settings.name,
    topics: [NOTIFICATIONS],
    timeoutMs: settings.timeoutMs,
  });
  const pace = new Pace(settings, notes, () => {
    pace.send('notification', (id) => notifier.info({}, 'soak.told', { id }));
  });
  return roleOf(pace, () => transport.close());
};

function roleOf(pace: Pace, close: () => Promise<void>): Role {
  const end = async (): Promise<void> => {
    await pace.quiesce();
    await close();
  };
  return { ready: Promise.resolve(), quiesce: () => pace.quiesce(), end, close };
}
