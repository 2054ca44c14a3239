// npm run matrix -- --processes: every flow, stopped at every message, each service a process on a broker of our own, which
// is RabbitMQ, the same by AMQP 1.0 with --transport amqp10, or Redis with --transport redis.
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { tableOf, writeSection } from '../table.js';
import { type MatrixBroker, startBroker, TRANSPORTS, type TransportName } from './broker.js';
import { controlCases } from './control.js';
import { FLOWS } from './flows.js';
import { PARTIES, WAYS } from '../parties.js';
import type { MatrixCase, MatrixResult } from './matrix-case.js';
import { failureOf } from './failure.js';
import { allCases, type Chosen, type FlowSteps, flowsOf, representativeCases } from './plan.js';
import { Progress } from './progress.js';
import { MatrixRunner } from './runner.js';

const PAGE = 'docs/operations/drain-matrix.md';
const print = (line: string): void => void process.stderr.write(`${line}\n`);

const { values } = parseArgs({
  options: {
    processes: { type: 'boolean', default: false },
    transport: { type: 'string', default: 'rabbit' },
    flow: { type: 'string' },
    party: { type: 'string' },
    way: { type: 'string' },
    step: { type: 'string' },
    seed: { type: 'string', default: '1' },
    representative: { type: 'boolean', default: false },
    'no-ops-server': { type: 'boolean', default: false },
    lanes: { type: 'string', default: '2' },
    json: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});

/** @throws RangeError that names what it may be */
function oneOf<Word extends string>(
  what: string,
  words: readonly Word[],
  given: string | undefined,
): Word | undefined {
  const word = words.find((one) => one === given);
  if (given !== undefined && word === undefined)
    throw new RangeError(`--${what} must be one of ${words.join(', ')}`);
  return word;
}

/** What is chosen, and what the processes talk over. */
interface Choice {
  readonly chosen: Chosen;
  readonly transport: TransportName;
}

/** What is no choice ends the command, before anything is started. */
function choiceOf(): Choice {
  try {
    return readChoice();
  } catch (error) {
    print(`error: ${error instanceof Error ? error.message : String(error)}`);
    process.exit(2);
  }
}

function readChoice(): Choice {
  const names = FLOWS.map(({ name }) => name);
  const chosen = {
    flow: oneOf('flow', names, values.flow),
    party: oneOf('party', PARTIES, values.party),
    way: oneOf('way', WAYS, values.way),
    ...(values.step !== undefined && { step: Number(values.step) }),
  };
  return { chosen, transport: oneOf('transport', TRANSPORTS, values.transport) ?? 'rabbit' };
}

/** Without ops servers and nothing chosen: the negative control. */
function casesOf(steps: FlowSteps, chosen: Chosen): readonly MatrixCase[] {
  const opsServer = !values['no-ops-server'];
  if (values.representative) return representativeCases(steps, Number(values.seed), chosen);
  if (!opsServer && chosen.flow === undefined) return controlCases(steps);
  return allCases(steps, chosen, opsServer);
}

async function run(broker: MatrixBroker, chosen: Chosen): Promise<readonly MatrixResult[]> {
  const opsServer = !values['no-ops-server'];
  const runner = new MatrixRunner(broker, { opsServer, lanes: Number(values.lanes) });
  try {
    print('counting the messages of each flow, undisturbed');
    const cases = casesOf(await runner.stepsOf(flowsOf(chosen)), chosen);
    const progress = new Progress(cases.length, print);
    progress.begun();
    return await runner.run(cases, (result) => progress.done(result));
  } finally {
    await runner.dispose();
  }
}

async function tell(results: readonly MatrixResult[], transport: TransportName): Promise<void> {
  const bad = results.filter(({ problems }) => problems.length > 0);
  for (const one of bad) print(`\n${failureOf(one)}`);
  console.log(tableOf(results));
  if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify(results, null, 2)}\n`);
  const kind = values.representative ? 'the representative set' : 'what was chosen, at every message';
  const date = new Date().toISOString().slice(0, 10);
  if (values.write)
    await writeSection(
      PAGE,
      transport === 'rabbit' ? 'processes' : `processes-${transport}`,
      `Run on ${date}: ${kind}, ${results.length} runs.\n\n${tableOf(results)}`,
    );
  process.exitCode = bad.length === 0 ? 0 : 1;
}

for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130)); // rigs go with us
const { chosen, transport } = choiceOf();
print('starting a broker');
const { broker, dispose } = await startBroker(transport);
try {
  await tell(await run(broker, chosen), transport);
} finally {
  await dispose();
}
