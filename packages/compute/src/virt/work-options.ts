/** What can be said of work that takes long. */
export interface WorkOptions {
  /** Ends the work: it undoes what it began and rejects with OperationAbortedError. */
  readonly signal?: AbortSignal;
}
