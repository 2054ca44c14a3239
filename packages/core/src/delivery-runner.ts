import { diagnostics, type HandledAs } from './diagnostics.js';
import type { Delivery, MaybePromise, ServerSource } from './driver.js';
import { DuplicateWindow } from './duplicate-window.js';
import { Executor } from './executor.js';
import { HeldDeliveries } from './held-deliveries.js';
import type { Intake } from './intake.js';
import type { MessageHandler } from './message-handler.js';
import type { MessageServerOptions } from './message-server-options.js';
import { errorText, redactedCause } from './redact.js';
import type { Transport } from './transport.js';

const DROPPED = { expired: 'its caller has given up', duplicate: 'a message with this id has run here' };

/** Whom deliveries come from and go to. */
export interface RunnerParts<Request> {
  readonly transport: Transport;
  readonly source: ServerSource;
  readonly handler: MessageHandler<Request>;
  readonly options: Required<MessageServerOptions>;
}

/**
 * The way of a delivery through a server: waits for a slot, is read, checked, accepted and run. Settles each exactly once,
 * and every way out gives the slot back.
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
  readonly #source: ServerSource;
  readonly #handler: MessageHandler<Request>;
  readonly #executor: Executor;
  readonly #window: DuplicateWindow;
  readonly #held: HeldDeliveries;
  readonly #intake: Intake;
  /** Slots that have ended and are not passed on yet. */
  #ended = 0;

  /** @param intake - hears of what speaks for asking the broker for no more, and for more again */
  constructor(parts: RunnerParts<Request>, intake: Intake) {
    const { slots, duplicateWindow, stallMs, maxHeldMs } = parts.options;
    this.#transport = parts.transport;
    this.#source = parts.source;
    this.#handler = parts.handler;
    this.#executor = new Executor(slots);
    this.#window = new DuplicateWindow(duplicateWindow);
    const onTooLong = (delivery: Delivery): void => {
      this.release(delivery);
    };
    this.#intake = intake;
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
    if (this.#isSuperfluous(delivery, request)) return;
    if (this.#handler.beforeAccept) this.#journalThenAccept(delivery, request);
    else this.#accept(delivery, request);
  }

  #isSuperfluous(delivery: Delivery, request: Request): boolean {
    const why = this.#whyNot(delivery, request);
    if (why === undefined) return false;
    const accepted = delivery.accept(); // acknowledged: nobody else shall run it either
    if (typeof accepted !== 'boolean') accepted.catch(() => undefined); // the broker will give it to somebody: as before
    this.#drop(delivery, why, DROPPED[why]);
    return true;
  }

  #whyNot(delivery: Delivery, request: Request): 'expired' | 'duplicate' | undefined {
    if (delivery.message.deadline?.expired) return 'expired';
    const id = this.#handler.idOf(request);
    return id !== undefined && this.#window.has(id) ? 'duplicate' : undefined;
  }

  #journalThenAccept(delivery: Delivery, request: Request): void {
    let journalled: MaybePromise<void>;
    try {
      journalled = this.#handler.beforeAccept?.(request);
    } catch (error) {
      this.#notJournalled(delivery, error);
      return;
    }
    if (journalled === undefined) {
      this.#intake.onAccepted();
      this.#accept(delivery, request);
      return;
    }
    journalled.then(
      () => {
        this.#intake.onAccepted();
        // Time has passed: its caller may have given up, or a copy of it may have begun.
        if (!this.#isSuperfluous(delivery, request)) this.#accept(delivery, request);
      },
      (error: unknown) => {
        this.#notJournalled(delivery, error);
      },
    );
  }

  #notJournalled(delivery: Delivery, error: unknown): void {
    this.#intake.onRefused(); // first: what goes back must not come here again at once
    this.release(delivery);
    this.#failed(error);
  }

  #accept(delivery: Delivery, request: Request): void {
    const accepted = delivery.accept();
    if (accepted === true) this.#run(delivery, request);
    else if (accepted === false) this.#gone(delivery);
    else {
      accepted.then(
        (yes) => {
          if (yes) this.#runAccepted(delivery, request);
          else this.#gone(delivery);
        },
        () => {
          this.#gone(delivery);
        },
      );
    }
  }

  /** As {@link #run}, when time has passed since the checks. */
  #runAccepted(delivery: Delivery, request: Request): void {
    const why = this.#whyNot(delivery, request);
    if (why === undefined) this.#run(delivery, request);
    else this.#drop(delivery, why, DROPPED[why]);
  }

  #run(delivery: Delivery, request: Request): void {
    const id = this.#handler.idOf(request);
    if (id !== undefined) this.#window.add(id);
    this.#count(delivery, 'run');
    if (delivery.redelivered) this.#redelivered(delivery);
    try {
      const work = this.#handler.run(request);
      if (work === undefined) this.#endSlot();
      else work.then(this.#endSlot, this.#failed);
    } catch (error) {
      this.#failed(error);
    }
  }

  /** It may have run on a sibling whose link was cut before the broker had its acknowledgement (`decisions.md` 1). */
  #redelivered({ message: { id: messageId } }: Delivery): void {
    this.counts.redelivered += 1;
    const { topic } = this.#source;
    this.#transport.logger.info({ messageId, topic }, 'A message is run that was delivered before');
  }

  readonly #failed = (error: unknown): void => {
    this.#endSlot();
    this.#transport.reportError(redactedCause(error));
  };

  /** The channel died before the acceptance: the broker gives the message to somebody, so it must not run here. */
  #gone(delivery: Delivery): void {
    this.#count(delivery, 'gone');
    this.#endSlot();
  }

  #drop(delivery: Delivery, as: 'malformed' | 'expired' | 'duplicate', detail: string): void {
    const { id: messageId, body } = delivery.message;
    this.#count(delivery, as);
    const { topic } = this.#source;
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
    const { topic, server } = this.#source;
    diagnostics.handled.publish({ messageId: delivery.message.id, topic, server, as });
  }
}
