/** The terminal, as far as a picture needs it. */
export interface Screen {
  write(text: string): void;
  readonly columns: number;
  readonly rows: number;
  /** Whether colours may be used; absent: no. */
  hasColors?(): boolean;
}

const ESCAPE = String.fromCharCode(27);

/** Lines on a terminal that are taken back before the next ones. */
export class Picture {
  readonly #screen: Screen;
  #drawn = 0;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** @param paint - colours a line that has been cut to the width of the screen */
  draw(lines: readonly string[], paint: (line: string) => string = (line) => line): void {
    // More lines than the screen has could not be taken back.
    const shown = lines
      .slice(0, this.#screen.rows - 1)
      .map((line) => paint(line.slice(0, this.#screen.columns - 1)));
    this.erase();
    this.#screen.write(`${shown.join('\n')}\n`);
    this.#drawn = shown.length;
  }

  erase(): void {
    if (this.#drawn > 0) this.#screen.write(`${ESCAPE}[${this.#drawn}A${ESCAPE}[J`);
    this.#drawn = 0;
  }
}
