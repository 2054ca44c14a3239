/** What ends the main job before its verdict, and the exit codes that shells give to these signals. */
export const INTERRUPTION_CODES = { SIGINT: 130, SIGTERM: 143 } as const;

/** The job was told to end. */
export class Interruption extends Error {
  readonly exitCode: number;

  constructor(signal: keyof typeof INTERRUPTION_CODES) {
    super(`Ended by ${signal} before there was a verdict`);
    this.name = 'Interruption';
    this.exitCode = INTERRUPTION_CODES[signal];
  }
}
