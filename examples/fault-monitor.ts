// A fault monitor. It waits until a compute host is down, and then fences it, forces it down, evacuates it, has it repaired, and
// clears it. Nothing but HTTP, and two commands of the operator. How it is started is said below.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';

const USAGE = `Usage: node fault-monitor.js URL HOST
  URL           where the services API is
  HOST          the compute host to watch
in the environment:
  FENCE         the command that makes sure that HOST is off; ends with 0 also when it was off before
  REPAIR        the command that switches it on again; both find its name in the variable HOST
  OS_TOKEN      for the API, when it wants one
Example: FENCE='ipmitool -H bmc-$HOST chassis power off' REPAIR='ipmitool -H bmc-$HOST chassis power on' \\
  node build/examples/fault-monitor.js http://127.0.0.1:8774 compute-a`;

const [url = '', host = ''] = process.argv.slice(2);
const { FENCE = '', REPAIR = '', OS_TOKEN = '', LOOK_MS = '1000' } = process.env;
if ([url, host, FENCE, REPAIR].includes('')) {
  console.error(USAGE);
  process.exit(2);
}
type Answer = Readonly<Record<string, unknown>>;

async function ask(method: string, path: string, body?: object): Promise<Answer> {
  const answer = await fetch(`${url}/v2.1/os-services${path}`, {
    method,
    headers: {
      'OpenStack-API-Version': 'compute 2.53, ebbgate 1.2', // the second has whole hosts evacuated
      'X-Auth-Token': OS_TOKEN,
      ...(body && { 'Content-Type': 'application/json' }),
    },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
  return JSON.parse(text) as Answer;
}

async function run(command: string): Promise<void> {
  console.log(`$ ${command}`);
  const child = spawn('sh', ['-c', command], { stdio: 'inherit', env: { ...process.env, HOST: host } });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`${command} ended with ${String(code)}`);
}

/** Does something again and again until it gives something. A monitor must outlive what it watches: errors are told. */
async function until<T>(what: string, look: () => Promise<T | undefined>): Promise<T> {
  let told = `waits until ${what}`;
  console.log(told);
  for (;;) {
    const found = await look().catch((error: unknown) => {
      if (told !== String(error)) console.log(String(error));
      told = String(error);
    });
    if (found) return found;
    await sleep(Number(LOOK_MS));
  }
}

const dead = await until(`${host} is down`, async () => {
  const { services } = await ask('GET', `?binary=nova-compute&host=${host}`);
  return (services as readonly Answer[]).find(({ state }) => state === 'down');
});
const service = `/${String(dead['id'])}`;
await run(FENCE); // from here on it is certain that nothing runs there: that is what the next request claims
const fenced = { forced_down: true, forced_down_reason: 'fenced by the fault monitor' };
await until('it is forced down', () => ask('PUT', service, fenced));
await until('everything is evacuated', async () => {
  const { evacuation } = (await ask('POST', `${service}/evacuate`)) as Record<string, Answer>; // goes on with what is left
  const { waiting, under_way: moving, evacuated, failed } = evacuation ?? {};
  console.log(`evacuated ${String(evacuated)}, under way ${String(moving)}, failed ${String(failed)}`);
  return waiting === 0 && moving === 0 && failed === 0;
});
await run(REPAIR); // the host starts, removes what was evacuated, and waits
await until('it may be cleared', () => ask('PUT', service, { forced_down: false })); // refused until that is done
console.log(`${host} is back`);
