import { diagnostics, type HandledAs } from './diagnostics.js';
import type { Delivery } from './driver.js';
import { DuplicateWindow } from './duplicate-window.js';
import { EarlySettling } from './early-settling.js';
import { Executor } from './executor.js';
import { HeldDeliveries } from './held-deliveries.js';
import type { Intake } from './intake.js';
import { LateSettling, MOST_DELAYED } from './late-settling.js';
import type { LateHandler, MessageHandler } from './message-handler.js';
import type { MessageServerOptions } from './message-server-options.js';
import { errorText, redactedCause } from './redact.js';
import type { SourceNames } from './source-names.js';
import type { Transport } from './transport.js';
import type { WayActions } from './way-actions.js';

const DROPPED = { expired: 'its caller has given up', duplicate: 'a message with this id has run here' };

/** Whom deliveries come from and go to. */
export interface RunnerParts<Request> {
  readonly transport: Transport;
  readonly names: SourceNames;
  readonly handler: MessageHandler<Request> | LateHandler<Request>;
  readonly options: Required<MessageServerOptions>;
}

/**
 * The way of a delivery through a server: waits for a slot and is read; then it is accepted and run ({@link EarlySettling}),
 * or run and accepted ({@link LateSettling}). Each is settled exactly once, and every way out gives the slot back.
 */
export class DeliveryRunner<Request> {
  readonly counts: Record<HandledAs | 'redelivered', number> = {
    run: 0,
    redelivered: 0,
    expired: 0,
    duplicate: 0,
    malformed: 0,
    released: 0,
    gone: 0,
  };
  readonly #transport: Transport;
  readonly #names: SourceNames;
  readonly #handler: MessageHandler<Request> | LateHandler<Request>;
  readonly #way: EarlySettling<Request> | LateSettling<Request>;
  readonly #executor: Executor;
  readonly #held: HeldDeliveries;
  readonly #prefetch: number;
  /** Slots that have ended and are not passed on yet. */
  #ended = 0;

  /** @param intake - hears of what speaks for asking the broker for no more, and for more again */
  constructor(parts: RunnerParts<Request>, intake: Intake) {
    const { transport, names, handler } = parts;
    const { slots, prefetch, duplicateWindow, stallMs, maxHeldMs } = parts.options;
    this.#transport = transport;
    this.#names = names;
    this.#handler = handler;
    this.#prefetch = prefetch;
    this.#executor = new Executor(slots);
    const window = new DuplicateWindow(duplicateWindow);
    const actions = this.#actions();
    this.#way =
      'handle' in handler
        ? new LateSettling(handler, window, intake, actions)
        : new EarlySettling(handler, window, intake, actions);
    const onTooLong = (delivery: Delivery): void => {
      this.release(delivery);
    };
    this.#held = new HeldDeliveries({
      stallMs,
      maxHeldMs,
      onTooLong,
      onStall: () => {
        intake.onStall();
      },
      onRelief: () => {
        intake.onRelief();
      },
    });
  }

  /** Deliveries that it has a use for and has not settled: those that run, too, where they are settled late. */
  get credit(): number {
    const isLate = this.#way instanceof LateSettling;
    return isLate ? this.#executor.slots + this.#prefetch + MOST_DELAYED : this.#prefetch;
  }

  /** Handlers that run. */
  get running(): number {
    return this.#executor.running;
  }

  /** Deliveries that wait for a slot. */
  get waiting(): number {
    return this.#held.size;
  }

  /** Resolves when nothing runs and nothing waits. */
  async whenIdle(): Promise<void> {
    while (this.#executor.running > 0) await this.#executor.whenIdle(); // what waits waits for what runs
  }

  /** Runs it in a free slot, or keeps it until there is one. */
  take(delivery: Delivery): void {
    if (this.#held.size === 0 && this.#executor.tryTake()) this.#begin(delivery);
    else this.#held.push(delivery);
  }

  /** Gives it back to the broker. */
  release(delivery: Delivery): void {
    delivery.release();
    this.#count(delivery, 'released');
  }

  /** Gives back all that wait for a slot, and says how many they were. */
  releaseWaiting(): number {
    let released = 0;
    for (let next = this.#held.shift(); next; next = this.#held.shift(), released += 1) this.release(next);
    return released;
  }

  /** Intake has ended: what waits now waits as long as it takes. */
  stopWatching(): void {
    this.#held.stopWatching();
  }

  /** Where messages are settled late: what was not begun, or waits to go back, goes back. */
  releaseDelayed(): void {
    if (this.#way instanceof LateSettling) this.#way.stopping();
  }

  /** A slot is taken. */
  #begin(delivery: Delivery): void {
    let request: Request;
    try {
      request = this.#handler.read(delivery.message);
    } catch (error) {
      delivery.reject();
      this.#drop(delivery, 'malformed', errorText(error));
      return;
    }
    this.#way.begin(delivery, request);
  }

  #actions(): WayActions {
    return {
      onRun: (delivery) => {
        this.#count(delivery, 'run');
        if (delivery.redelivered) this.#redelivered(delivery);
      },
      onGone: (delivery) => {
        this.#count(delivery, 'gone');
      },
      drop: (delivery, why) => {
        this.#drop(delivery, why, DROPPED[why]);
      },
      release: (delivery) => {
        this.release(delivery);
      },
      endSlot: this.#endSlot,
      failed: this.#failed,
    };
  }

  /** It may have run on a sibling whose link was cut before the broker had its acknowledgement (`decisions.md` 1). */
  #redelivered({ message: { id: messageId } }: Delivery): void {
    this.counts.redelivered += 1;
    const { topic } = this.#names;
    this.#transport.logger.info({ messageId, topic }, 'A message is run that was delivered before');
  }

  readonly #failed = (error: unknown): void => {
    this.#endSlot();
    this.#transport.reportError(redactedCause(error));
  };

  #drop(delivery: Delivery, as: 'malformed' | 'expired' | 'duplicate', detail: string): void {
    const { id: messageId, body } = delivery.message;
    this.#count(delivery, as);
    const { topic } = this.#names;
    const fields = { messageId, topic, size: body.size, reason: as };
    if (as === 'malformed') this.#transport.logger.warn(fields, `Message rejected: ${detail}`);
    else this.#transport.logger.debug(fields, `Message dropped: ${detail}`);
    this.#transport.events.emit('dropped', { reason: as, messageId, topic, detail });
    this.#endSlot();
  }

  /** Gives the slot to the next that waits, or back. A loop: what ends at once calls this again from within. */
  readonly #endSlot = (): void => {
    this.#ended += 1;
    if (this.#ended > 1) return;
    for (; this.#ended > 0; this.#ended -= 1) {
      const next = this.#held.shift();
      if (next) this.#begin(next);
      else this.#executor.give();
    }
  };

  #count(delivery: Delivery, as: HandledAs): void {
    this.counts[as] += 1;
    if (!diagnostics.handled.hasSubscribers) return;
    const { topic, server } = this.#names;
    diagnostics.handled.publish({ messageId: delivery.message.id, topic, server, as });
  }
}
