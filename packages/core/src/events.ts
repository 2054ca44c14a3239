import { types } from 'node:util';
import { EventEmitter } from 'eventemitter3';

/** What a transport tells: names, and the arguments of each. Nothing here carries a payload or a secret. */
type Handlers<Events> = { [Name in keyof Events]: (event: Events[Name]) => void };

/**
 * Typed events. A listener that throws harms nobody: what it threw goes to `onListenerError`, once, and emitting goes
 * on with the next listener.
 */
export class TypedEvents<Events extends object> {
  readonly #emitter = new EventEmitter();
  readonly #onListenerError: (error: unknown, event: string) => void;

  constructor(onListenerError: (error: unknown, event: string) => void) {
    this.#onListenerError = onListenerError;
  }

  /** Adds a listener. Returns what takes it away again. */
  on<Name extends keyof Events & string>(name: Name, listener: Handlers<Events>[Name]): () => void {
    const guarded = (event: Events[Name]): void => {
      this.#call(name, listener, event);
    };
    this.#emitter.on(name, guarded);
    return () => void this.#emitter.off(name, guarded);
  }

  /** Tells every listener, at once and in order; what one throws is reported and stops none of the others. */
  emit<Name extends keyof Events & string>(name: Name, event: Events[Name]): void {
    this.#emitter.emit(name, event);
  }

  /** Somebody listens: what is costly to tell need not be told otherwise. */
  has(name: keyof Events & string): boolean {
    return this.#emitter.listenerCount(name) > 0;
  }

  #call<Name extends keyof Events & string>(
    name: Name,
    listener: Handlers<Events>[Name],
    event: Events[Name],
  ): void {
    try {
      const call: (event: Events[Name]) => unknown = listener; // an async one returns a promise, whatever its type says
      const result = call(event);
      if (!types.isPromise(result)) return; // of another realm too
      result.catch((error: unknown) => {
        this.#onListenerError(error, name);
      });
    } catch (error) {
      this.#onListenerError(error, name);
    }
  }
}
