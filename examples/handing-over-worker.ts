// Workers whose long jobs go on elsewhere when they drain: a worker that gets SIGTERM hands its job, with the last checkpoint,
// to a sibling, and ends. Who has a job is in the customer's book alone, so that two workers can never both finish it. In one
// process, in memory, the first of two workers is told to end after three steps:
//
//   node handing-over-worker.js
//
// Or each in a process of its own, on a broker; then send one of the workers SIGTERM:
//
//   export EBBGATE_URL=rabbit://guest:guest@127.0.0.1:5672/
//   node handing-over-worker.js worker worker-1 worker-2      # its own name, then those of its siblings
//   node handing-over-worker.js worker worker-2 worker-1
//   node handing-over-worker.js customer worker-1             # who is to begin
import { setTimeout as pause } from 'node:timers/promises';
import { createTransport, MessagingError, type RequestContext, type Transport } from '@ebbgate/core';
import { rabbitDriver } from '@ebbgate/driver-amqp';
import { DrainingError, RpcClient, RpcServer, type SendOptions } from '@ebbgate/rpc';
import { budgetsFromConfig, launch, Service, taskInterceptor, TaskRegistry } from '@ebbgate/service';

const TOPIC = 'counting';
const OPS_TOPIC = 'counting-ops';
const BOOK_TOPIC = 'book';
const DETACHED = { detached: true };
const { EBBGATE_URL: url = 'memory:', STEP_MS = '200', STEPS = '10' } = process.env;

interface Job {
  readonly id: string;
  readonly steps: number;
  /** The last checkpoint. */
  readonly done: number;
}

const open = (): Transport => createTransport(url, { drivers: [rabbitDriver] });

/** What the customer knows of one job: who has it, and how far it is. Whoever does not have it is told so. */
class Book {
  readonly finished: Promise<void>;
  readonly #onStep: (done: number) => void;
  #owner: string | null = null;
  #finish: () => void = () => undefined;

  constructor(onStep: (done: number) => void) {
    this.#onStep = onStep;
    this.finished = new Promise((resolve) => {
      this.#finish = resolve;
    });
  }

  /** The job passes from one worker, or from nobody, to another. */
  claim(
    _context: RequestContext,
    { from, worker, done }: { from: string | null; worker: string; done: number },
  ) {
    if (this.#owner !== from) return false;
    this.#owner = worker;
    console.log(`${worker} goes on after step ${String(done)}`);
    return true;
  }

  checkpoint(_context: RequestContext, { worker, done }: { worker: string; done: number }) {
    if (this.#owner !== worker) return false;
    console.log(`step ${String(done)} by ${worker}`);
    this.#onStep(done);
    return true;
  }

  finish(_context: RequestContext, { worker }: { worker: string }) {
    if (this.#owner !== worker) return false;
    this.#owner = 'nobody';
    console.log(`finished by ${worker}`);
    this.#finish();
    return true;
  }
}

class Worker {
  readonly service: Service;
  readonly #name: string;
  readonly #siblings: readonly string[];
  readonly #tasks = new TaskRegistry();
  readonly #book: RpcClient;
  readonly #ops: RpcClient;

  constructor(name: string, siblings: readonly string[]) {
    const transport = open();
    this.#name = name;
    this.#siblings = siblings;
    this.#book = new RpcClient(transport, { topic: BOOK_TOPIC });
    this.#ops = new RpcClient(transport, { topic: TOPIC }).prepare({ topic: OPS_TOPIC, timeoutMs: 2000 });
    const endpoint = {
      begin: (_context: RequestContext, { job }: { job: Job }) => this.#take(job, null),
      take_over: (_context: RequestContext, { job, from }: { job: Job; from: string }) =>
        this.#take(job, from),
    };
    const interceptors = [taskInterceptor(this.#tasks)];
    const serverOn = (topic: string): RpcServer =>
      new RpcServer(transport, { topic, server: name }, [endpoint], { interceptors });
    this.service = new Service({
      name: TOPIC,
      host: name,
      registry: this.#tasks,
      newRequestServer: serverOn(TOPIC),
      opsServer: serverOn(OPS_TOPIC),
      budgets: budgetsFromConfig({ manager_shutdown_timeout: 60, graceful_shutdown_timeout: 80 }),
      onExit: () => transport.close(),
    });
    this.service.events.on('exited', ({ outcome }) => console.log(`${name} has drained: ${outcome}`));
  }

  get #drains(): boolean {
    return this.service.state === 'draining';
  }

  /** Begins a job, or goes on with one that a sibling has: from here on it is ours, and a drain waits for it. */
  async #take(job: Job, from: string | null): Promise<void> {
    if (this.#drains) throw new DrainingError(`${this.#name} takes nothing: it drains`);
    if (!(await this.#tell('claim', { from, done: job.done }, {})))
      throw new Error(`${job.id} is not to be had`);
    void this.#tasks.track({ name: 'count', instance: job.id }, () => this.#work(job)).catch(console.error);
  }

  /**
   * At each checkpoint it may end: in a drain, with a sibling that goes on; or when the book says that another one has it.
   * What it sends is detached: else the deadline of the request that has begun it would be its own.
   */
  async #work(job: Job): Promise<void> {
    let { done } = job;
    let asked = false;
    while (done < job.steps) {
      if (this.#drains && !asked) {
        asked = true;
        if (await this.#handOver({ ...job, done })) return;
      }
      await pause(Number(STEP_MS)); // the work
      done += 1;
      if (!(await this.#tell('checkpoint', { done }, DETACHED))) return;
    }
    await this.#tell('finish', {}, DETACHED);
  }

  /** The first sibling that answers has it. False: nobody has answered, and we finish it, if the book lets us. */
  async #handOver(job: Job): Promise<boolean> {
    for (const server of this.#siblings) {
      try {
        await this.#ops.prepare({ server }).call({}, 'take_over', { job, from: this.#name }, DETACHED);
        return true;
      } catch (error) {
        console.log(
          `${server} takes nothing: ${error instanceof MessagingError ? error.code : String(error)}`,
        );
      }
    }
    console.log(`${this.#name} finishes ${job.id} itself`);
    return false;
  }

  /** Whether the book agrees: false when the job is another's. */
  #tell(method: 'claim' | 'checkpoint' | 'finish', args: object, options: SendOptions): Promise<unknown> {
    return this.#book.call({}, method, { ...args, worker: this.#name }, options);
  }
}

/** Has one job done, and waits for its end. */
async function order(worker: string, onStep: (done: number) => void = () => undefined): Promise<void> {
  const transport = open();
  const book = new Book(onStep);
  const { finished } = book;
  const endpoint = {
    claim: book.claim.bind(book),
    checkpoint: book.checkpoint.bind(book),
    finish: book.finish.bind(book),
  };
  const server = new RpcServer(transport, { topic: BOOK_TOPIC, server: 'customer' }, [endpoint]);
  await server.start();
  const job: Job = { id: 'job-1', steps: Number(STEPS), done: 0 };
  await new RpcClient(transport, { topic: TOPIC }).prepare({ server: worker }).call({}, 'begin', { job });
  await finished;
  await server.stop();
  await server.wait();
  await transport.close();
}

/** Both workers and their customer here: each drains as it would at a signal to a process of its own. */
async function inOneProcess(): Promise<void> {
  const names = ['worker-1', 'worker-2'];
  const launched = names.map((name) => {
    const { service } = new Worker(
      name,
      names.filter((other) => other !== name),
    );
    return { service, run: launch(service, { signals: [], exit: () => undefined }) };
  });
  await Promise.all(launched.map(({ service }) => service.start()));
  await order('worker-1', (done) => {
    if (done === 3) launched[0]?.run.terminate('SIGTERM');
  });
  for (const { run } of launched) {
    run.terminate('SIGTERM');
    process.exitCode ||= await run.done;
  }
}

const [role, name = '', ...siblings] = process.argv.slice(2);
if (role === 'worker') {
  const { service } = new Worker(name, siblings);
  launch(service);
  await service.start();
  console.log(`${name} serves; stop it with: kill ${String(process.pid)}`);
} else if (role === 'customer') await order(name);
else await inOneProcess();
