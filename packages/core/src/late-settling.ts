import { DelayedDeliveries } from './delayed-deliveries.js';
import type { Delivery, MaybePromise } from './driver.js';
import type { DuplicateWindow } from './duplicate-window.js';
import type { Intake } from './intake.js';
import type { LateHandler, Verdict } from './message-handler.js';
import type { WayActions } from './way-actions.js';

/** Deliveries that wait to go back hold credit: at most so many. */
export const MOST_DELAYED = 64;
/** A copy of what is handled right now, or a message whose handler failed by a fault of its own, goes back so much later. */
const LATER_MS = 1000;

/**
 * The way of a delivery that is handled first and settled afterwards (at least once). What comes again because its channel
 * was lost before the acknowledgement is not handled twice here.
 */
export class LateSettling<Request> {
  readonly #handler: LateHandler<Request>;
  readonly #window: DuplicateWindow;
  readonly #intake: Intake;
  readonly #actions: WayActions;
  readonly #delayed: DelayedDeliveries;
  readonly #underWay = new Set<string>();

  constructor(handler: LateHandler<Request>, window: DuplicateWindow, intake: Intake, actions: WayActions) {
    this.#handler = handler;
    this.#window = window;
    this.#intake = intake;
    this.#actions = actions;
    this.#delayed = new DelayedDeliveries(MOST_DELAYED, (delivery) => {
      actions.release(delivery);
    });
  }

  /** A slot is taken, and the message was read. */
  begin(delivery: Delivery, request: Request): void {
    const id = this.#handler.idOf(request);
    if (id !== undefined && this.#window.has(id)) {
      this.#accept(delivery);
      this.#actions.drop(delivery, 'duplicate');
    } else if (id !== undefined && this.#underWay.has(id)) {
      this.#goBack(delivery, LATER_MS);
      this.#actions.endSlot();
    } else this.#handle(delivery, request, id);
  }

  /** Intake has ended: what waits to go back goes now, and what was not begun. */
  stopping(): void {
    this.#delayed.releaseAll();
    this.#handler.onStopping?.();
  }

  #handle(delivery: Delivery, request: Request, id: string | undefined): void {
    if (id !== undefined) this.#underWay.add(id);
    this.#actions.onRun(delivery);
    try {
      const verdict = this.#handler.handle(request);
      if (!isPromise(verdict)) this.#settle(delivery, verdict, id);
      else
        verdict.then(
          (later) => {
            this.#settle(delivery, later, id);
          },
          (error: unknown) => {
            this.#handlerFailed(delivery, id, error);
          },
        );
    } catch (error) {
      this.#handlerFailed(delivery, id, error);
    }
  }

  #settle(delivery: Delivery, verdict: Verdict, id: string | undefined): void {
    if (id !== undefined) this.#underWay.delete(id);
    if (verdict === 'reject') delivery.reject();
    else if (verdict !== 'accept') this.#goBack(delivery, verdict.releaseAfterMs);
    else {
      if (id !== undefined) this.#window.add(id); // whatever becomes of the acknowledgement
      this.#accept(delivery);
    }
    this.#actions.endSlot();
  }

  #handlerFailed(delivery: Delivery, id: string | undefined, error: unknown): void {
    if (id !== undefined) this.#underWay.delete(id);
    this.#goBack(delivery, LATER_MS);
    this.#actions.failed(error);
  }

  #accept(delivery: Delivery): void {
    const accepted = delivery.accept();
    if (accepted === true) return;
    const gone = (): void => {
      this.#actions.onGone(delivery);
    };
    if (accepted === false) gone();
    else
      accepted.then((yes) => {
        if (!yes) gone();
      }, gone);
  }

  #goBack(delivery: Delivery, afterMs: number): void {
    if (this.#intake.isEnded) this.#actions.release(delivery);
    else this.#delayed.add(delivery, afterMs);
  }
}

function isPromise(verdict: MaybePromise<Verdict>): verdict is Promise<Verdict> {
  return typeof verdict === 'object' && 'then' in verdict;
}
