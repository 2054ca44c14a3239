import { pass } from './simulated-time.js';

/** Most that passes before a message or a change arrives, in simulated milliseconds. */
const MOST_DELAY_MS = 40;

/** One run of a process, which may die: nothing that it does from then on happens, and nothing that it asks is answered. */
export class Life {
  readonly owner: string;
  readonly #death = new AbortController();

  constructor(owner: string) {
    this.owner = owner;
  }

  /** Asked again after everything that takes time. */
  isOver(): boolean {
    return this.#death.signal.aborted;
  }

  end(): void {
    this.#death.abort();
  }
}

/** What is to happen at one of the steps. */
export interface Strike {
  /** Which, from 1. */
  readonly step: number;
  /** Called in the middle of it: synchronous. */
  readonly act: () => void;
}

/**
 * The steps of a flow: each message that is sent or arrives, and each change of a record, before and after, whoever does it.
 * Between them some time passes, at random, so that each seed is another schedule.
 */
export class Steps {
  readonly #random: () => number;
  readonly #lives = new Map<string, Life>();
  readonly #reached = new Set<string>();
  readonly #labels: string[] = [];
  #strike: Strike | undefined;
  #isArmed = false;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** From here on steps count. */
  arm(strike: Strike | undefined): void {
    this.#strike = strike;
    this.#reached.clear();
    this.#isArmed = true;
  }

  /** They count no more. */
  disarm(): void {
    this.#isArmed = false;
  }

  /** What each step was, in their order. */
  get labels(): readonly string[] {
    return this.#labels;
  }

  /** That process has taken a message of the flow. */
  hasReached(owner: string): boolean {
    return this.#reached.has(owner);
  }

  /** The run that a process is in; the next one after a death. */
  lifeOf(owner: string): Life {
    const known = this.#lives.get(owner);
    if (known && !known.isOver()) return known;
    const life = new Life(owner);
    this.#lives.set(owner, life);
    return life;
  }

  /** It dies at this very moment. */
  kill(owner: string): void {
    this.lifeOf(owner).end();
  }

  /** Something that one of them does, which others see: two steps. */
  async change<T>(life: Life, what: string, work: () => T | Promise<T>): Promise<T> {
    this.#step(`${life.owner}: ${what}`);
    if (life.isOver()) return never();
    await this.#delay();
    if (life.isOver()) return never();
    const result = await work();
    this.#step(`${life.owner}: ${what}, done`);
    return life.isOver() ? never() : result;
  }

  /** Something that it only asks, or tells without a step. */
  async question<T>(life: Life, work: () => Promise<T>): Promise<T> {
    if (life.isOver()) return never();
    const answer = await work();
    return life.isOver() ? never() : answer;
  }

  /** A message has come to it. */
  arrives(life: Life): void {
    this.#step(`a message comes to ${life.owner}`);
  }

  /** It has taken one. */
  takes({ owner }: Life): void {
    if (this.#isArmed) this.#reached.add(owner);
  }

  #step(label: string): void {
    if (!this.#isArmed) return;
    this.#labels.push(label);
    if (this.#labels.length === this.#strike?.step) this.#strike.act();
  }

  #delay(): Promise<void> {
    return pass(this.#random() * MOST_DELAY_MS);
  }
}

/** What a process is told that is gone. */
function never(): Promise<never> {
  return new Promise(() => undefined);
}
