import type { RecordedJob } from '#compute/main-job/recorded-job.js';
import { WAYS } from '../parties.js';
import type { Counted, Outcome } from '../table.js';
import { type Flow, FLOWS } from './flows.js';
import { type Case, type Ending, runCase } from './run-case.js';
import type { SimulatedTime } from './simulated-time.js';

/** Which cases of all that there are; what is left out is not narrowed down. */
export interface Selection {
  readonly flow?: string | undefined;
  readonly party?: string | undefined;
  readonly way?: string | undefined;
  readonly step?: number | undefined;
  /** Which of so many parts of them, from 1. */
  readonly part: number;
  readonly parts: number;
  readonly opsServer: boolean;
  /** Ends with the first in which something is wrong. */
  readonly untilBroken?: boolean;
  /** Of what passes between the steps. */
  readonly seed: number;
}

/** What is told of a case. */
export interface Result extends Counted {
  /** Its place among all that are selected. */
  readonly number: number;
  readonly step: number;
  /** What happened at that step. */
  readonly at: string;
  /** How the instance was in the end. */
  readonly words: string;
}

/** Runs each case that is selected; gives its result as soon as it is there. */
export async function* runMatrix(
  time: SimulatedTime,
  recorded: RecordedJob,
  { opsServer, seed, part, parts, untilBroken = false, ...wish }: Selection,
): AsyncGenerator<Result> {
  let number = 0;
  for (const flow of FLOWS.filter(({ name }) => wish.flow === undefined || name === wish.flow)) {
    const whole = await time.run(() => runCase(recorded, flow, seed, opsServer));
    const wrong = [...whole.problems, ...(whole.refusal === undefined ? [] : [whole.refusal])];
    if (wrong.length > 0) throw new Error(`${flow.name} by itself: ${wrong.join('; ')}`);
    for (const each of casesOf(flow, whole.labels.length, wish)) {
      number += 1;
      if (number % parts !== part - 1) continue;
      const ending = await time.run(() => runCase(recorded, flow, seed, opsServer, each));
      const result = { number, ...resultOf(each, whole, ending) };
      yield result;
      if (untilBroken && result.problems.length > 0) return;
    }
  }
}

function casesOf(
  flow: Flow,
  steps: number,
  wish: Pick<Selection, 'party' | 'way' | 'step'>,
): readonly Case[] {
  const all = flow.parties.flatMap((party) =>
    WAYS.flatMap((way) =>
      Array.from({ length: steps }, (_, index): Case => ({ flow, party, way, step: index + 1 })),
    ),
  );
  return all.filter(
    ({ party, way, step }) =>
      (wish.party === undefined || wish.party === party) &&
      (wish.way === undefined || wish.way === way) &&
      (wish.step === undefined || wish.step === step),
  );
}

function resultOf({ flow, party, way, step }: Case, whole: Ending, ending: Ending): Omit<Result, 'number'> {
  const { words, labels, problems } = ending;
  const outcome = outcomeOf(way, whole, ending);
  const at = labels[step - 1] ?? 'it was over before';
  const isWrong = outcome === 'none of these' && problems.length === 0;
  const told = isWrong ? [`it had begun, and is not completed: ${words}`] : problems;
  return { flow: flow.name, party, way, step, at, words, outcome, problems: told };
}

/** After SIGTERM what has begun is completed; after a death it may be put back (`graceful-shutdown.md` GS-2, GS-102). */
function outcomeOf(way: Case['way'], whole: Ending, { problems, words, mayBeRefused }: Ending): Outcome {
  if (problems.length > 0) return 'none of these';
  if (words === whole.words) return 'completed';
  if (way === 'TERM') return mayBeRefused ? 'refused' : 'none of these';
  return words.includes('error/-') ? 'in ERROR' : 'put back';
}
