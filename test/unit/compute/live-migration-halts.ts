import { SOURCE, DEST, type TestCloud } from './test-cloud.js';

/** A live migration that stands still. */
export interface Halted {
  readonly uuid: string;
  goOn(): Promise<void>;
}

/** Ways to have one halted in a status. */
export const HALTS: Readonly<Record<string, (test: TestCloud) => Promise<Halted>>> = {
  queued: async (test) => {
    const first = await haltedAt(test, SOURCE, 'copy-memory');
    const uuid = await test.bootActive();
    await test.migrate(uuid);
    await test.migrationBecomes(uuid, 'queued');
    return { uuid, goOn: () => first.goOn() };
  },
  preparing: (test) => haltedAt(test, DEST, 'pre-live-migration'),
  'preparing, without its event': async (test) => {
    const uuid = await test.bootActive();
    test.cloud.networking.hold(uuid);
    const isPlugged = plugged(test);
    await test.migrate(uuid);
    await isPlugged;
    return { uuid, goOn: () => test.cloud.networking.release(uuid) };
  },
  running: (test) => haltedAt(test, SOURCE, 'copy-memory'),
  'running, all copied': (test) => haltedAt(test, SOURCE, 'switch-over'),
  'running (post-copy)': async (test) => {
    const rest = test.virt(SOURCE).steps.hold('post-copy');
    const { uuid } = await haltedAt(test, SOURCE, 'copy-memory');
    await test.cloud.actions.forceCompleteLiveMigration({}, uuid);
    await rest.reached;
    return { uuid, goOn: async () => rest.release() };
  },
};

export async function haltedAt(
  test: TestCloud,
  host: string,
  step: 'pre-live-migration' | 'copy-memory' | 'switch-over',
): Promise<Halted> {
  const uuid = await test.bootActive();
  const hold = test.virt(host).steps.hold(step, uuid);
  await test.migrate(uuid);
  await hold.reached;
  return { uuid, goOn: async () => hold.release() };
}

/** Resolves when the interfaces are plugged at the destination. */
function plugged({ cloud: { networking } }: TestCloud): Promise<void> {
  const plug = networking.plug.bind(networking);
  return new Promise((resolve) => {
    networking.plug = async (uuid, host) => {
      await plug(uuid, host);
      resolve();
    };
  });
}
