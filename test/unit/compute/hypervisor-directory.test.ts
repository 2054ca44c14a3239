import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { HypervisorDirectory, HypervisorError, HypervisorNetwork, type Hypervisors } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';

function inFolder(work: (folder: string) => void): void {
  const folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
  try {
    work(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function movesGuests(machines: Hypervisors): void {
  const [a, b] = [machines.storeOf('a'), machines.storeOf('b')];
  a.set('u1', 'paused');
  a.set('u1', 'running');
  expect(a.move('u1', 'b')).to.equal(false); // nobody expects it there
  expect(machines.locate('u1')).to.deep.equal(['a']);
  b.expect('u1');
  b.expect('u2');
  b.unexpect('u2');
  b.unexpect('u3');
  expect(machines.expected()).to.deep.equal([{ host: 'b', uuid: 'u1' }]);
  expect(a.move('u1', 'b')).to.equal(true);
  expect(machines.locate('u1')).to.deep.equal(['b']);
  expect([...b.guests()]).to.deep.equal([['u1', 'running']]);
  expect([a.state('u1'), a.expected(), b.expected()]).to.deep.equal([undefined, [], []]);
  expect(b.move('u9', 'a')).to.equal(false);
  b.takeBack('u1'); // nothing was kept of it
  b.keep('u1');
  expect([b.state('u1'), b.kept(), machines.locate('u1')]).to.deep.equal([undefined, ['u1'], []]);
  b.keep('u1');
  b.takeBack('u1');
  expect([b.state('u1'), b.kept()]).to.deep.equal(['running', []]);
  b.keep('u1');
  b.dropKept('u1');
  b.dropKept('u1');
  expect(b.kept()).to.deep.equal([]);
  b.set('u1', 'running');
  b.remove('u1');
  b.remove('u1');
  expect(machines.locate('u1')).to.deep.equal([]);
}

describe('the machines of fake hypervisors', () => {
  it('hand guests over in one step, and keep those that may come back, in memory', () => {
    movesGuests(new HypervisorNetwork());
  });

  it('hand guests over in one step, and keep those that may come back, in a folder', () => {
    inFolder((folder) => {
      movesGuests(new HypervisorDirectory(join(folder, 'new', 'deep')));
    });
  });

  it('keep guests in a folder beyond the process that made them', () => {
    inFolder((folder) => {
      new HypervisorDirectory(folder).storeOf('a').set('u1', 'running');
      const later = new HypervisorDirectory(folder);
      expect([...later.storeOf('a').guests()]).to.deep.equal([['u1', 'running']]);
      expect(readdirSync(join(folder, 'a', 'guests'))).to.deep.equal(['u1.json']);
    });
  });

  it('refuse names that lead elsewhere, and files that tell nothing (SEC-01)', () => {
    inFolder((folder) => {
      const machines = new HypervisorDirectory(folder);
      const store = machines.storeOf('a');
      store.set('u1', 'running');
      for (const bad of ['../b', '..', '', 'a/b', 'a\0', '.hidden', 'x'.repeat(300)]) {
        expect(() => machines.storeOf(bad), bad).to.throw(HypervisorError);
        expect(() => store.set(bad, 'running'), bad).to.throw(HypervisorError);
        expect(() => store.move('u1', bad), bad).to.throw(HypervisorError);
      }
      writeFileSync(join(folder, 'a', 'guests', 'u2.json'), '{"state":"dancing"}');
      expect(() => store.state('u2')).to.throw(HypervisorError, 'tells no state');
    });
  });
});
