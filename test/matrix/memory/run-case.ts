import { randomNumbers } from '../../support/rigs/random-faults.js';
import type { RecordedJob } from '#compute/main-job/recorded-job.js';
import type { Party, Way } from '../parties.js';
import { type Flow, MEMBERS, type Sight } from './flows.js';
import { pass } from './simulated-time.js';
import { type Drained, Site } from './site.js';
import { Steps } from './steps.js';

/** One cell of the matrix: the party gets the signal at that step of the flow. */
export interface Case {
  readonly flow: Flow;
  readonly party: Party;
  readonly way: Way;
  /** From 1. */
  readonly step: number;
}

/** How the instance was in the end. */
export interface Ending extends Sight {
  /** What each step was. */
  readonly labels: readonly string[];
  /** What who asked was told, if not that it is done or on its way. */
  readonly refusal: string | undefined;
  /** One that got SIGTERM had not been reached by the flow by then: it may be refused. */
  readonly mayBeRefused: boolean;
}

/** How often, and how long, it is looked whether all has come to its end. */
const LOOK_MS = 1000;
const LOOKS = 900;

/**
 * Does what the flow is, with the signal in the middle of it, until all has come to its end.
 * @param at - undefined: nobody gets a signal
 */
export async function runCase(
  recorded: RecordedJob,
  flow: Flow,
  seed: number,
  opsServer: boolean,
  at?: Omit<Case, 'flow'>,
): Promise<Ending> {
  const steps = new Steps(randomNumbers(seed));
  const site = new Site(recorded, steps, { cells: flow.cells, opsServer });
  await site.start();
  const uuid = await flow.before(site);
  for (let isIdle = false; !isIdle; isIdle = site.isIdle) await pass(LOOK_MS);
  const signal = new Signal(site, at);
  steps.arm(at && { step: at.step, act: () => signal.strike() });
  const answer = new Answer(flow.ask(site, uuid));
  let sight: Sight = { words: '', problems: [] };
  for (let look = 0; look < LOOKS; look += 1) {
    await pass(LOOK_MS);
    const unclean = await signal.unclean();
    const { words, problems } = await flow.look(site, uuid);
    const open = [
      ...(answer.isThere ? [] : ['who asked has no answer']),
      ...(site.isIdle ? [] : ['something is still being done']),
      ...site.ledger.problems((server) => site.isUp(server)),
    ];
    sight = { words, problems: [...unclean, ...problems, ...open] };
    if (problems.length + open.length === 0) break;
  }
  steps.disarm();
  await site.stop();
  return {
    ...sight,
    labels: steps.labels,
    refusal: answer.refusal,
    mayBeRefused: signal.mayBeRefused,
  };
}

/** What who asks is told. */
class Answer {
  refusal: string | undefined;
  readonly #given = new AbortController();

  constructor(asked: Promise<unknown>) {
    asked.then(
      () => {
        this.#given.abort();
      },
      (error: unknown) => {
        this.refusal = String(error);
        this.#given.abort();
      },
    );
  }

  get isThere(): boolean {
    return this.#given.signal.aborted;
  }
}

/** What is done to a party, once. */
class Signal {
  /** One of the party had not been reached by the flow. */
  mayBeRefused = false;
  readonly #site: Site;
  readonly #members: readonly string[];
  readonly #way: Way | undefined;
  #ends: readonly Promise<Drained | undefined>[] = [];

  constructor(site: Site, at: Omit<Case, 'flow'> | undefined) {
    this.#site = site;
    this.#members = at ? MEMBERS[at.party] : [];
    this.#way = at?.way;
  }

  strike(): void {
    const site = this.#site;
    this.mayBeRefused = this.#members.some((owner) => !site.steps.hasReached(owner));
    this.#ends = this.#members.map((owner) =>
      this.#way === 'TERM' ? site.drain(owner) : site.kill(owner).then(() => undefined),
    );
  }

  /** Resolves when all of the party run again, with what was wrong with their ends. */
  async unclean(): Promise<readonly string[]> {
    const drains = await Promise.all(this.#ends);
    return drains.flatMap((drain) => {
      if (!drain || (drain.code === 0 && drain.problems.length === 0)) return [];
      return [`${drain.owner} ended with ${String(drain.code)}: ${drain.problems.join(', ')}`];
    });
  }
}
