import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { TestProcess } from '../support/processes.js';
import { sharedRabbit } from '../support/rigs/shared-rabbit.js';

const EXAMPLE = fileURLToPath(new URL('../../examples/handing-over-worker.js', import.meta.url));
const STEPS = Array.from({ length: 20 }, (_, index) => index + 1);
const rabbit = await sharedRabbit();

/** The processes of the example on one broker. */
class Site {
  readonly #env: Readonly<Record<string, string>>;
  readonly #all: TestProcess[] = [];

  constructor(url: string) {
    this.#env = { EBBGATE_URL: url, STEP_MS: '150', STEPS: String(STEPS.length) };
  }

  async worker(name: string, sibling: string): Promise<TestProcess> {
    const worker = this.#start('worker', name, sibling);
    await worker.line(/ serves; /);
    return worker;
  }

  /** Orders a job of a worker. */
  customer(worker: string): TestProcess {
    return this.#start('customer', worker);
  }

  async dispose(): Promise<void> {
    for (const process of this.#all) process.signal('SIGKILL');
    await Promise.all(this.#all.map(({ ended }) => ended));
  }

  #start(...args: readonly string[]): TestProcess {
    const process = new TestProcess(EXAMPLE, args, this.#env);
    this.#all.push(process);
    return process;
  }
}

async function withSite(work: (site: Site) => Promise<void>): Promise<void> {
  const site = new Site(await rabbit.vhost());
  try {
    await work(site);
  } finally {
    await site.dispose();
  }
}

/** The steps that a worker has done, as the customer's book says. */
function stepsOf({ lines }: TestProcess, worker: string): readonly number[] {
  return lines.flatMap((line) => {
    const [, step] = new RegExp(`^step (\\d+) by ${worker}$`).exec(line) ?? [];
    return step === undefined ? [] : [Number(step)];
  });
}

function finishes({ lines }: TestProcess): readonly string[] {
  return lines.filter((line) => line.startsWith('finished'));
}

const CLEAN = { code: 0, signal: null };

describe('workers that hand over their long jobs, as processes on RabbitMQ', function () {
  this.timeout(40_000);

  it('a worker that gets SIGTERM gives its job with the last checkpoint to its sibling and exits with 0; the job is finished once (GS-2, GS-37)', () =>
    withSite(async (site) => {
      const first = await site.worker('worker-1', 'worker-2');
      const second = await site.worker('worker-2', 'worker-1');
      const customer = site.customer('worker-1');
      await customer.line('step 2 by worker-1');
      first.signal('SIGTERM');
      expect(await first.ended).to.deep.equal(CLEAN);
      expect(finishes(customer)).to.deep.equal([]); // it has not waited for the end
      expect(await customer.ended).to.deep.equal(CLEAN);
      const [before, after] = [stepsOf(customer, 'worker-1'), stepsOf(customer, 'worker-2')];
      expect([...before, ...after]).to.deep.equal(STEPS);
      expect(customer.lines).to.include(`worker-2 goes on after step ${before.length}`);
      expect(finishes(customer)).to.deep.equal(['finished by worker-2']);
      second.signal('SIGTERM');
      expect(await second.ended).to.deep.equal(CLEAN);
      expect(first.stderr + second.stderr + customer.stderr).to.equal('');
    }));

  it('a worker whose sibling is not there finishes its job before it exits with 0 (GS-2, GS-72)', () =>
    withSite(async (site) => {
      const only = await site.worker('worker-1', 'worker-2');
      const customer = site.customer('worker-1');
      await customer.line('step 2 by worker-1');
      only.signal('SIGTERM');
      expect(await only.ended).to.deep.equal(CLEAN);
      expect(await customer.ended).to.deep.equal(CLEAN);
      expect(only.lines).to.include('worker-2 takes nothing: ERR_UNDELIVERABLE');
      expect(stepsOf(customer, 'worker-1')).to.deep.equal(STEPS);
      expect(finishes(customer)).to.deep.equal(['finished by worker-1']);
    }));

  it('a worker whose sibling has ended, and left its queue, finishes its job before it exits with 0 (GS-72)', () =>
    withSite(async (site) => {
      const first = await site.worker('worker-1', 'worker-2');
      const second = await site.worker('worker-2', 'worker-1');
      second.signal('SIGTERM');
      expect(await second.ended).to.deep.equal(CLEAN);
      const customer = site.customer('worker-1');
      await customer.line('step 2 by worker-1');
      first.signal('SIGTERM');
      expect(await first.ended).to.deep.equal(CLEAN);
      expect(await customer.ended).to.deep.equal(CLEAN);
      expect(first.lines).to.include('worker-2 takes nothing: ERR_TIMEOUT');
      expect(stepsOf(customer, 'worker-1')).to.deep.equal(STEPS);
      expect(finishes(customer)).to.deep.equal(['finished by worker-1']);
    }));

  it('in one process, in memory, both workers drain, and the job is finished once', async () => {
    const process = new TestProcess(EXAMPLE, [], { EBBGATE_URL: 'memory:', STEP_MS: '20', STEPS: '6' });
    expect(await process.ended).to.deep.equal(CLEAN);
    expect([stepsOf(process, 'worker-1'), stepsOf(process, 'worker-2')]).to.deep.equal([
      [1, 2, 3],
      [4, 5, 6],
    ]);
    expect(finishes(process)).to.deep.equal(['finished by worker-2']);
    expect(process.lines.filter((line) => line.endsWith('has drained: clean'))).to.have.length(2);
  });
});
