import { AsyncLocalStorage } from 'node:async_hooks';
import type { Deadline } from './deadline.js';

/** The members of a context: request id, user, project, trace headers, …; any plain values. */
export type ContextValues = Readonly<Record<string, unknown>>;

/**
 * What a request carries besides its arguments, and how much of its caller's patience is left. Endpoints get one as
 * their first argument; {@link currentContext} finds it again anywhere below.
 */
export class RequestContext {
  /** As sent by the caller. Keyed by names from the wire: an object without a prototype when it came from there. */
  readonly values: ContextValues;
  /** Calls made with this context are not bounded by the request being served either. */
  readonly isDetached: boolean;
  readonly #deadline: Deadline | undefined;
  /** What this is a copy of; itself when it is none. */
  #original: RequestContext = this;
  #isAnswered = false;

  constructor(values: ContextValues = {}, deadline?: Deadline, isDetached = false) {
    this.values = values;
    this.#deadline = deadline;
    this.isDetached = isDetached;
  }

  /** When the caller gives up; undefined when it waits for nothing: for casts, and once the request is answered. */
  get deadline(): Deadline | undefined {
    return this.#original.#isAnswered ? undefined : this.#deadline;
  }

  /** The member `request_id`, if it is text. */
  get requestId(): string | undefined {
    const id = this.values['request_id'];
    return typeof id === 'string' ? id : undefined;
  }

  /** Milliseconds until the caller gives up; Infinity when it never does. */
  get remainingMs(): number {
    return this.deadline?.remainingMs ?? Infinity;
  }

  /** A copy with some members replaced, under the same deadline. */
  with(values: ContextValues): RequestContext {
    const merged = Object.create(null) as Record<string, unknown>; // names may come from the wire
    return this.withOnly(Object.assign(merged, this.values, values));
  }

  /** A copy with these members alone, under the same deadline. */
  withOnly(values: ContextValues): RequestContext {
    const copy = new RequestContext(values, this.#deadline, this.isDetached);
    copy.#original = this.#original;
    return copy;
  }

  /** The same members under no deadline: for work that goes on after the caller has left. */
  detached(): RequestContext {
    return new RequestContext(this.values, undefined, true);
  }

  /**
   * Told by the server when its method has returned or thrown: the caller waits no more, so its deadline bounds nothing of
   * what goes on, neither here nor in copies.
   */
  answered(): void {
    this.#original.#isAnswered = true;
  }
}

const storage = new AsyncLocalStorage<RequestContext>();

/** The context of the request being served here, if any. */
export function currentContext(): RequestContext | undefined {
  return storage.getStore();
}

/** What a sender may give as its context: members, a context, or nothing: the context of the request being served here. */
export type CallerContext = RequestContext | ContextValues | undefined;

const EMPTY = new RequestContext();

/** The context of a message from what its sender gave. */
export function contextOf(given: CallerContext): RequestContext {
  if (given instanceof RequestContext) return given;
  return given ? new RequestContext(given) : (currentContext() ?? EMPTY);
}

/** Runs `work` with `context` as its {@link currentContext}; what it starts inherits it. */
export function runWithContext<Args extends unknown[], T>(
  context: RequestContext,
  work: (...args: Args) => T,
  ...args: Args
): T {
  return storage.run(context, work, ...args);
}
