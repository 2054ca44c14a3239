import { Deadline, type Listener, MessageServer, type MessageServerOptions } from '@ebbgate/core';
import type { Clock } from '@sinonjs/fake-timers';
import { deferred, type Deferred, turn } from '../../../support/deferred.js';
import {
  ScriptedDelivery,
  type ScriptedListener,
  scriptedTransport,
  SOURCE,
  wireMessage,
} from './scripted-driver.js';
import { Walk } from './walk.js';

export type Manner = 'at once' | 'later' | 'never' | 'fails';

/** On a driver whose every answer comes in a manner of its own. */
export class ScriptedWalk extends Walk {
  readonly server: MessageServer<string>;
  readonly deliveries: {
    readonly delivery: ScriptedDelivery;
    readonly mayRun: boolean;
    answers: boolean[];
  }[] = [];
  readonly #bed = scriptedTransport({ sendTimeoutMs: 1000 });
  readonly #later: Deferred<undefined>[] = [];
  readonly #options: MessageServerOptions;
  /** Listeners whose connection was cut: nothing can be settled there. */
  readonly #gone = new Set<ScriptedListener>();
  manner: Record<'listen' | 'stop' | 'close' | 'pause' | 'accept', Manner> = {
    listen: 'at once',
    stop: 'at once',
    close: 'at once',
    pause: 'at once',
    accept: 'at once',
  };

  constructor(options: MessageServerOptions) {
    super();
    this.#options = options;
    const { transport, driver } = this.#bed;
    transport.events.on('error', () => {});
    driver.onListen = (listener) => {
      listener.onStop = () => this.#answer('stop', undefined);
      listener.onClose = () => this.#answer('close', []);
      listener.onPause = () => this.#answer('pause', undefined);
      listener.onResume = () => this.#answer('pause', undefined);
      return this.#answer<Listener>('listen', listener);
    };
    this.server = new MessageServer(transport, SOURCE, this.handler, options);
  }

  override onBegin(id: string): void {
    const seen = this.deliveries.filter(({ delivery }) => delivery.message.id === id);
    if (!seen.some(({ answers }) => answers.includes(true)))
      this.faults.push(`${id} runs and is not accepted`);
    if (!seen.some(({ mayRun }) => mayRun)) this.faults.push(`${id} runs, and came after stop() was called`);
  }

  arrive(count: number, expires: boolean): void {
    const listener = this.#bed.driver.listeners.at(-1);
    for (let left = count; listener && left > 0; left -= 1) {
      const answers: boolean[] = [];
      const message = wireMessage(undefined, expires ? Deadline.after(100) : undefined);
      const mayRun = this.last === 'start' && ['starting', 'listening'].includes(this.server.state);
      const accept = (): boolean | Promise<boolean> => {
        const answer = !this.#gone.has(listener);
        if (this.manner.accept === 'at once') {
          answers.push(answer);
          return answer;
        }
        return this.#answer('accept', answer).then((yes) => {
          const now = yes && !this.#gone.has(listener);
          answers.push(now);
          return now;
        });
      };
      const open = this.deliveries.filter(({ delivery }) => delivery.settled.length === 0).length;
      if (open >= (this.#options.prefetch ?? 1)) return; // the broker keeps to the credit
      // Noted before it is handed over: its handler may begin at once.
      const note: { delivery: ScriptedDelivery; mayRun: boolean; answers: boolean[] } = {
        delivery: new ScriptedDelivery(message, accept),
        mayRun,
        answers,
      };
      this.deliveries.push(note);
      listener.onDelivery(note.delivery);
    }
  }

  cut(): void {
    for (const listener of this.#bed.driver.listeners) this.#gone.add(listener);
  }

  answerAll(): void {
    for (const { resolve } of this.#later.splice(0)) resolve(undefined);
  }

  async finish(clock: Clock): Promise<void> {
    this.manner = {
      listen: 'at once',
      stop: 'at once',
      close: 'at once',
      pause: 'at once',
      accept: 'at once',
    };
    for (let round = 0; round < 6; round += 1) {
      this.stop();
      this.wait();
      for (let ends = 0; ends < 20; ends += 1) {
        this.answerAll();
        this.handler.endAll();
        await turn();
      }
      await clock.tickAsync(1100);
    }
    await this.#bed.transport.close();
  }

  async #answer<T>(what: keyof ScriptedWalk['manner'], value: T): Promise<T> {
    const manner = this.manner[what];
    if (manner === 'fails') throw new Error(`${what} failed`);
    // What never comes is for what has a time limit; an acceptance has none.
    if (manner === 'never' && what !== 'accept') return new Promise(() => {});
    if (manner !== 'at once') {
      const later = deferred<undefined>();
      this.#later.push(later);
      await later.promise;
    }
    return value;
  }
}
