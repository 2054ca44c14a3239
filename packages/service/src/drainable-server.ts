/**
 * What a service needs of a server; `RpcServer` and every message server has it. Each method is idempotent and may be
 * called from any state.
 */
export interface DrainableServer {
  /** Resolves when messages can arrive. */
  start(): Promise<unknown>;
  /** Takes no new message; resolves when the broker sends none. What was fetched before still runs. */
  stop(): Promise<unknown>;
  /**
   * Resolves when everything taken is finished, its replies and acknowledgements are out. At the time limit it hands
   * back what has not begun and rejects with `ERR_WAIT_TIMEOUT`.
   */
  wait(options: { readonly timeoutMs: number }): Promise<ServerEnd | undefined>;
  /**
   * Resolves when no handler runs and no fetched message waits for its turn. With it a drain also waits for messages
   * that were fetched and are not yet in the task registry.
   */
  whenIdle?(): Promise<void>;
}

/** What `wait()` tells. */
export interface ServerEnd {
  /** What could not be confirmed with the broker, in words. */
  readonly unconfirmed: readonly string[];
}
