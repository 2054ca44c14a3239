import type { Delivery, MaybePromise } from './driver.js';
import type { DuplicateWindow } from './duplicate-window.js';
import type { Intake } from './intake.js';
import type { MessageHandler } from './message-handler.js';
import type { WayActions } from './way-actions.js';

/** The way of a delivery that is accepted first and run afterwards (at most once). */
export class EarlySettling<Request> {
  readonly #handler: MessageHandler<Request>;
  readonly #window: DuplicateWindow;
  readonly #intake: Intake;
  readonly #actions: WayActions;

  constructor(
    handler: MessageHandler<Request>,
    window: DuplicateWindow,
    intake: Intake,
    actions: WayActions,
  ) {
    this.#handler = handler;
    this.#window = window;
    this.#intake = intake;
    this.#actions = actions;
  }

  /** A slot is taken, and the message was read. */
  begin(delivery: Delivery, request: Request): void {
    if (this.#isSuperfluous(delivery, request)) return;
    if (this.#handler.beforeAccept) this.#journalThenAccept(delivery, request);
    else this.#accept(delivery, request);
  }

  #isSuperfluous(delivery: Delivery, request: Request): boolean {
    const why = this.#whyNot(delivery, request);
    if (why === undefined) return false;
    const accepted = delivery.accept(); // acknowledged: nobody else shall run it either
    if (typeof accepted !== 'boolean') accepted.catch(() => undefined); // the broker will give it to somebody: as before
    this.#actions.drop(delivery, why);
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
    this.#actions.release(delivery);
    this.#actions.failed(error);
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
    else this.#actions.drop(delivery, why);
  }

  #run(delivery: Delivery, request: Request): void {
    const id = this.#handler.idOf(request);
    if (id !== undefined) this.#window.add(id);
    this.#actions.onRun(delivery);
    try {
      const work = this.#handler.run(request);
      if (work === undefined) this.#actions.endSlot();
      else work.then(this.#actions.endSlot, this.#actions.failed);
    } catch (error) {
      this.#actions.failed(error);
    }
  }

  /** The channel died before the acceptance: the broker gives the message to somebody, so it must not run here. */
  #gone(delivery: Delivery): void {
    this.#actions.onGone(delivery);
    this.#actions.endSlot();
  }
}
