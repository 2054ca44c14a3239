import type { Records } from '@ebbgate/compute';
import type { Life, Steps } from './steps.js';

/** The records as a process has them whose changes are steps. @param lifeNow - the run that asks */
export function steppedRecords(steps: Steps, lifeNow: () => Life, records: Records): Records {
  const { instances, migrations, services, allocations } = records;
  const change = <T>(what: string, work: () => Promise<T>): Promise<T> => steps.change(lifeNow(), what, work);
  const ask = <T>(work: () => Promise<T>): Promise<T> => steps.question(lifeNow(), work);
  return {
    services,
    instances: {
      create: (record) => change('new instance', () => instances.create(record)),
      get: (uuid) => ask(() => instances.get(uuid)),
      find: (where) => ask(() => instances.find(where)),
      update: (uuid, changes, expected) =>
        change(`instance ${changes.vm_state ?? ''}/${changes.task_state ?? '-'}`, () =>
          instances.update(uuid, changes, expected),
        ),
    },
    migrations: {
      create: (record) => change('new migration', () => migrations.create(record)),
      get: (uuid) => ask(() => migrations.get(uuid)),
      find: (where) => ask(() => migrations.find(where)),
      update: (uuid, changes, expected) => {
        const write = () => migrations.update(uuid, changes, expected);
        // How far it is is told again and again.
        return changes.status === undefined ? ask(write) : change(`migration ${changes.status}`, write);
      },
    },
    allocations: {
      report: (name, total) => allocations.report(name, total),
      forget: (name) => allocations.forget(name),
      capacities: () => ask(() => allocations.capacities()),
      find: (where) => ask(() => allocations.find(where)),
      claim: (consumer, host, resources) =>
        change('claim', () => allocations.claim(consumer, host, resources)),
      transfer: (from, to) => change('transfer of claims', () => allocations.transfer(from, to)),
      release: (consumer, host) => change('release of claims', () => allocations.release(consumer, host)),
    },
  };
}
