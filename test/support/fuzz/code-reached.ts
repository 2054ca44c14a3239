import { type Profiler, Session } from 'node:inspector';

/** The characters of each script that have run, as far as one observer has seen. */
export class Known {
  readonly #scripts = new Map<string, Uint8Array>();
  /** How many. */
  size = 0;

  /** Adds the places that are marked; gives how many are new. */
  add(script: string, marks: Uint8Array): number {
    const known = this.#upTo(script, marks.byteLength);
    let added = 0;
    for (const [at, mark] of marks.entries()) {
      if (mark === 0 || known[at] === 1) continue;
      known[at] = 1;
      added += 1;
    }
    this.size += added;
    return added;
  }

  /** What is told of a script ends with the last function of it that has run. */
  #upTo(script: string, length: number): Uint8Array {
    const known = this.#scripts.get(script) ?? new Uint8Array(0);
    if (known.byteLength >= length) return known;
    const longer = new Uint8Array(length);
    longer.set(known);
    this.#scripts.set(script, longer);
    return longer;
  }
}

/** Node's own code, and the search itself. */
const OTHERS = /^(?!file:)|\/test\/support\/fuzz\//;

/** Which code of ours and of packages has run, by V8's own count of blocks: nothing is changed in the code for it. */
export class CodeReached {
  readonly #session = new Session();

  /** Code that is loaded afterwards is counted. */
  constructor() {
    this.#session.connect();
    this.#session.post('Profiler.enable');
    this.#session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: true });
  }

  /** Adds what has run since the last look to what is known; gives how much of that is new. */
  look(known: Known): number {
    let added = 0;
    for (const { scriptId, url, functions } of this.#take()) {
      if (!OTHERS.test(url)) added += known.add(scriptId, marksOf(functions));
    }
    return added;
  }

  #take(): readonly Profiler.ScriptCoverage[] {
    let taken: readonly Profiler.ScriptCoverage[] = [];
    // In its own thread a session answers before `post` returns.
    this.#session.post('Profiler.takePreciseCoverage', (error, { result }) => {
      if (error) throw error;
      taken = result;
    });
    return taken;
  }
}

/** Outer functions and blocks come before those within them, which say it more exactly. */
function marksOf(functions: readonly Profiler.FunctionCoverage[]): Uint8Array {
  const ranges = functions.flatMap((one) => one.ranges);
  const marks = new Uint8Array(Math.max(0, ...ranges.map(({ endOffset }) => endOffset)));
  for (const { startOffset, endOffset, count } of ranges)
    marks.fill(count > 0 ? 1 : 0, startOffset, endOffset);
  return marks;
}
