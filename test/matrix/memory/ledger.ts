/** One request, as the broker has it. */
interface Entry {
  readonly what: string;
  /** Empty: any of the topic. */
  readonly server: string;
  /** Its sender is told when nobody takes it in time. */
  readonly isCall: boolean;
  isSent: boolean;
  taken: number;
}

/** What was sent to servers, and what of it was taken: each request by the id of its message. */
export class Ledger {
  readonly #entries = new Map<string, Entry>();

  begins(id: string, what: string, server: string, isCall: boolean): void {
    this.#entries.set(id, { what, server, isCall, isSent: false, taken: 0 });
  }

  /** The broker has it, and its sender knows. */
  isSent(id: string): void {
    const entry = this.#entries.get(id);
    if (entry) entry.isSent = true;
  }

  isTaken(id: string): void {
    const entry = this.#entries.get(id);
    if (entry) entry.taken += 1;
  }

  /**
   * What is wrong once nothing is under way: casts that nobody took, and requests that were taken twice.
   * @param isUp - whether a server runs: what is for others waits for them
   */
  problems(isUp: (server: string) => boolean): readonly string[] {
    return [...this.#entries.values()].flatMap(({ what, server, isCall, isSent, taken }) => {
      if (taken > 1) return [`${what} was taken ${String(taken)} times`];
      return isSent && !isCall && taken === 0 && isUp(server) ? [`${what} was sent, and is lost`] : [];
    });
  }
}
