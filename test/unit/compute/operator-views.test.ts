import { Flavor, Instance, Migration } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { cloudLines, instanceLines } from '#compute/operator/instance-rows.js';
import type { Sight } from '#compute/operator/sight.js';
import { sightView } from '#compute/operator/sight-views.js';
import type { Terminal } from '#compute/operator/terminal.js';

const uuid = '17d70e80-a67c-4ea9-a0d8-a4f934544079';
const flavor = Flavor.create({ id: 2, name: 'm1.small' });

function instance(
  name: string,
  host: string | null,
  fields: Parameters<typeof Instance.create>[0],
): Instance {
  return Instance.create({
    uuid: name,
    display_name: name,
    host,
    flavor,
    task_state: null,
    ...fields,
  });
}

function migration(fields: Parameters<typeof Migration.create>[0]): Migration {
  return Migration.create({
    uuid: 'm',
    instance_uuid: uuid,
    source_compute: 'a',
    dest_compute: 'b',
    migration_type: 'live-migration',
    status: 'running',
    memory_total: 1000,
    memory_processed: 500,
    ...fields,
  });
}

const SERVICE: Omit<Sight['hosts'][number]['service'], 'host'> = {
  id: 1,
  uuid: 'u',
  binary: 'compute',
  topic: 'compute',
  state: 'running',
  version: 71,
  availabilityZone: null,
  startedAtMs: 0,
  reportedAtMs: 0,
  reportCount: 1,
  drain: null,
  disabled: false,
  disabledReason: null,
  forcedDown: false,
  forcedDownNote: null,
  epoch: 0,
};

const host = (name: string, state: string): Sight['hosts'][number] => ({
  service: { ...SERVICE, host: name },
  host: name,
  state,
  zone: null,
  disabledReason: null,
  total: undefined,
  used: undefined,
  reportedAtMs: 0,
});

function sight(moved: Migration, taskState: 'migrating' | null = 'migrating'): Sight {
  return {
    hosts: [host('a', 'up'), host('b', 'draining'), host('c', 'forced down')],
    instances: [
      instance('vm1', 'a', { uuid, vm_state: 'active', task_state: taskState }),
      instance('vm2', 'a', { vm_state: 'stopped' }),
      instance('vm3', null, { vm_state: 'error' }),
      instance('vm4', 'c', { vm_state: 'deleted' }),
    ],
    moves: new Map([[uuid, moved]]),
  };
}

/** A terminal that keeps what is printed. */
function terminal(columns?: number): Terminal & { readonly text: () => string } {
  let text = '';
  const out = (piece: string): void => void (text += piece);
  const screen = columns === undefined ? undefined : { columns, rows: 24, write: out };
  return { out, err: out, screen, signal: new AbortController().signal, text: () => text };
}

describe('what an operator sees', () => {
  it('is each host with what is on it, what is done to that, and how far it is; what is on no host comes last', () => {
    expect(cloudLines(sight(migration({})))).to.deep.equal([
      'HOST  IS           INSTANCE  STATE    TASK       MOVE',
      'a     up           vm1       active   migrating  a -> b running [########--------]  50 %',
      '                   vm2       stopped  -',
      'b     draining     -',
      'c     forced down  -',
      '-                  vm3       error    -',
    ]);
  });

  it('is a list with ids, too; a cold migration has no bar, as nobody knows how far it is', () => {
    const cold = migration({ migration_type: 'resize', status: 'migrating', dest_compute: null });
    const lines = instanceLines(sight(cold));
    expect(lines[0]).to.match(/^ID +NAME {2}STATE {4}TASK {7}HOST {2}FLAVOR {4}MOVE$/);
    expect(lines[1]).to.equal(`${uuid}  vm1   active   migrating  a     m1.small  a -> ? migrating`);
  });

  it('is drawn in its place on a terminal, within its width', () => {
    const screen = terminal(64);
    const view = sightView(screen, { json: false, now: () => 0 });
    view.show(sight(migration({})));
    expect(screen.text()).to.match(/^HOST/);
    view.show(sight(migration({ status: 'completed' }), null));
    expect(screen.text()).to.contain(`${String.fromCharCode(27)}[6A${String.fromCharCode(27)}[J`);
    expect(screen.text()).to.match(/vm1 +active +- +a -> b completed\n/);
    for (const line of screen.text().split('\n')) expect(line.length).to.be.below(70); // with the control characters
  });

  it('is a line for each change elsewhere, and nothing twice', () => {
    const pipe = terminal();
    const view = sightView(pipe, { json: false, now: () => 1500 });
    for (const seen of [migration({}), migration({}), migration({ memory_processed: 590 })])
      view.show(sight(seen));
    view.show(sight(migration({ status: 'completed' }), null));
    expect(pipe.text().split('\n')).to.deep.equal([
      '  1.50 s  a: up',
      '  1.50 s  b: draining',
      '  1.50 s  c: forced down',
      '  1.50 s  vm1: active/migrating at a',
      '  1.50 s  vm1: migration a -> b running, 40 % copied',
      '  1.50 s  vm2: stopped/- at a',
      '  1.50 s  vm3: error/- at no host',
      '  1.50 s  vm4: deleted/- at c',
      '  1.50 s  vm1: active/- at a',
      '  1.50 s  vm1: migration a -> b completed',
      '',
    ]);
  });

  it('is one JSON object for each change with --json', () => {
    const pipe = terminal();
    const view = sightView(pipe, { json: true, now: () => 0 });
    const seen = sight(migration({}));
    view.show(seen);
    view.show(seen);
    const lines = pipe.text().trimEnd().split('\n');
    expect(lines).to.have.length(4);
    expect(JSON.parse(lines[0] ?? '')).to.deep.include({
      ...{
        id: uuid,
        name: 'vm1',
        host: 'a',
        vm_state: 'active',
        task_state: 'migrating',
        flavor: 'm1.small',
      },
    });
    expect(JSON.parse(lines[0] ?? ''))
      .to.have.property('migration')
      .that.includes({ status: 'running', progress: 0.5 });
  });
});
