import { appendFileSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { MessagingTimeoutError, RequestContext, silentLogger } from '@ebbgate/core';
import type { ServerRequest } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { AcceptedRequests } from '#compute/compute/accepted-requests.js';
import { FileJournal, type JournalChange, type JournalEntry } from '#compute/compute/request-journal.js';
import { MemoryJournal } from '#compute/compute/request-journal.js';
import { UnsettledWriteError } from '#compute/compute/sure-write.js';
import { acceptedBy } from '#compute/conductor/accepted-work.js';
import { conductorJournalIn } from '#compute/main/host-parts.js';
import { CONDUCTOR_NAMESPACE } from '#compute/rpc/conductor-methods.js';
import { CapturedLog } from '../../support/captured-log.js';
import { rejectionOf, turn } from '../../support/deferred.js';
import { privateFolder } from '../../support/rigs/private-folder.js';

const entry = (id: string, args: Record<string, unknown> = {}): JournalEntry => ({
  id,
  method: 'start_instance',
  args,
  context: { request_id: `req-${id}` },
  tries: 0,
});
const ids = (entries: readonly JournalEntry[]): string[] => entries.map(({ id }) => id);

async function inFolder(work: (path: string) => void): Promise<void> {
  const folder = await privateFolder('journal');
  try {
    work(join(folder.path, 'host', 'requests.journal'));
  } finally {
    await folder.remove();
  }
}

describe('the journal of a host as a file (decision 5)', () => {
  it('has after a restart what is open, in its order, as it came', () =>
    inFolder((path) => {
      const journal = new FileJournal(path, silentLogger);
      const args = { big: 2n ** 70n, text: 'a\nb', own: JSON.parse('{"__proto__": {"x": 1}}') as unknown };
      journal.write([{ accepted: entry('a') }, { accepted: entry('b', args) }]);
      journal.write([{ accepted: entry('c') }, { done: 'a' }]);
      const [b, ...others] = new FileJournal(path, silentLogger).entries();
      expect(ids(others)).to.deep.equal(['c']);
      expect(b?.args['big']).to.equal(2n ** 70n);
      expect(JSON.stringify(b?.args['own'])).to.equal('{"__proto__":{"x":1}}');
      expect(b?.context).to.deep.include({ request_id: 'req-b' });
      expect(statSync(path).mode & 0o777).to.equal(0o600); // requests can hold passwords
    }));

  it('leaves out a line that was cut off, and goes on after it', () =>
    inFolder((path) => {
      const log = new CapturedLog();
      const journal = new FileJournal(path, silentLogger);
      journal.write([{ accepted: entry('a') }]);
      appendFileSync(path, '\n{"accepted":{"id":"torn","meth');
      journal.write([{ accepted: entry('b') }]);
      expect(ids(new FileJournal(path, log).entries())).to.deep.equal(['a', 'b']);
      expect(log.at('warn')).to.have.length(1);
      expect(log.ordinaryText()).to.not.contain('torn');
    }));

  it('says which file cannot be written, and that no request is taken, when its disk is full', () =>
    inFolder((path) => {
      mkdirSync(dirname(path), { recursive: true });
      symlinkSync('/dev/full', `${path}.new`); // takes the place of the journal
      const journal = new FileJournal(path, silentLogger);
      expect(() => {
        journal.write([{ accepted: entry('a') }]);
      }).to.throw(`Requests cannot be written down in ${path}, so that none is taken: ENOSPC: `);
      expect(journal.entries()).to.deep.equal([]);
    }));

  it('stays small however much goes through it', () =>
    inFolder((path) => {
      const journal = new FileJournal(path, silentLogger);
      journal.write([{ accepted: entry('stays') }]);
      const args = { image: 'x'.repeat(10_000) };
      for (let n = 0; n < 500; n += 1) {
        journal.write([{ accepted: entry(`n${n}`, args) }]);
        journal.write([{ done: `n${n}` }]);
      }
      expect(readFileSync(path).length).to.be.below(300_000);
      expect(ids(new FileJournal(path, silentLogger).entries())).to.deep.equal(['stays']);
    }));

  it('keeps nothing of what is done when nothing is open, as passwords can be in it', () =>
    inFolder((path) => {
      const journal = new FileJournal(path, silentLogger);
      journal.write([{ accepted: entry('a', { admin_password: 'secret' }) }]);
      expect(readFileSync(path, 'utf8')).to.contain('secret');
      journal.write([{ done: 'a' }]);
      expect(readFileSync(path)).to.have.length(0);
      journal.write([{ accepted: entry('b') }]);
      expect(ids(new FileJournal(path, silentLogger).entries())).to.deep.equal(['b']);
    }));
});

/** A journal in memory that counts its writes. */
class CountedJournal extends MemoryJournal {
  batches: (readonly JournalChange[])[] = [];

  override write(batch: readonly JournalChange[]): void {
    this.batches.push(batch);
    super.write(batch);
  }
}

function request(method: string, messageId: string, args: Record<string, unknown> = {}): ServerRequest {
  return {
    method,
    args,
    context: new RequestContext({}),
    namespace: null,
    version: '6.0',
    topic: 'compute',
    server: 'h',
    isCall: false,
    messageId,
  };
}

describe('what a host has accepted', () => {
  const bed = () => {
    const journal = new CountedJournal();
    const lifetime = new AbortController();
    return { journal, lifetime, accepted: new AcceptedRequests(journal, silentLogger, lifetime.signal) };
  };

  it('is written in one append for all that come together, before it is accepted', async () => {
    const { journal, accepted } = bed();
    const all = [request('start_instance', 'a'), request('stop_instance', 'b')];
    await Promise.all(all.map(async (one) => accepted.accept(one)));
    expect(journal.batches.map((batch) => batch.length)).to.deep.equal([2]);
    expect(ids(accepted.left())).to.deep.equal(['a', 'b']);
  });

  it('is not written when it changes nothing that outlives the process, or its caller takes it back', async () => {
    const { journal, accepted } = bed();
    for (const method of ['external_instance_event', 'get_console_output', 'pre_live_migration', 'no_such'])
      await accepted.accept(request(method, method));
    expect(journal.batches).to.deep.equal([]);
  });

  it('refuses what cannot be written, so that the broker keeps it', async () => {
    const { journal, accepted } = bed();
    journal.write = () => {
      throw new Error('the disk is full');
    };
    const refused = await rejectionOf(Promise.resolve(accepted.accept(request('start_instance', 'a'))));
    expect(refused.message).to.equal('the disk is full');
  });

  it('is struck out with the first record that tells of it, or with its end, and not before', async () => {
    const { accepted } = bed();
    const one = request('start_instance', 'a');
    await accepted.accept(one);
    const left: string[][] = [];
    await accepted.interceptor(one, async () => {
      left.push(ids(accepted.left()));
      accepted.begun();
      await turn();
      left.push(ids(accepted.left()));
    });
    const other = request('stop_instance', 'b');
    await accepted.accept(other);
    await accepted.interceptor(other, async () => {
      await turn();
      left.push(ids(accepted.left()));
    });
    await turn();
    expect([...left, ids(accepted.left())]).to.deep.equal([['a'], [], ['b'], []]);
  });

  it('stays until what goes on in the background has ended', async () => {
    const { accepted } = bed();
    const one = request('start_instance', 'a');
    await accepted.accept(one);
    let end = (): void => undefined;
    let background: Promise<void> = Promise.resolve();
    await accepted.interceptor(one, async () => {
      background = accepted.hold(() => new Promise<void>((resolve) => (end = resolve)));
    });
    await turn();
    expect(ids(accepted.left())).to.deep.equal(['a']);
    end();
    await background;
    await turn();
    expect(accepted.left()).to.deep.equal([]);
  });

  it('stays when it is not known whether it has begun, and when the process ends in the middle of it', async () => {
    const { accepted, lifetime } = bed();
    for (const [id, error] of [
      ['a', new UnsettledWriteError('no answer')],
      ['b', new MessagingTimeoutError('another fault')],
    ] as const) {
      const one = request('start_instance', id);
      await accepted.accept(one);
      await Promise.resolve(accepted.interceptor(one, () => Promise.reject(error))).catch(() => undefined);
    }
    await turn();
    expect(ids(accepted.left())).to.deep.equal(['a']);
    const last = request('start_instance', 'c');
    await accepted.accept(last);
    await accepted.interceptor(last, async () => lifetime.abort());
    await turn();
    expect(ids(accepted.left())).to.deep.equal(['a', 'c']);
  });

  it('counts the runs that have taken it up', async () => {
    const { accepted } = bed();
    await accepted.accept(request('start_instance', 'a'));
    const [first] = accepted.left();
    if (!first) throw new TypeError('it is there');
    let during = -1;
    await accepted.again(first, async () => {
      during = accepted.left()[0]?.tries ?? -1;
    });
    await turn();
    expect([during, ids(accepted.left())]).to.deep.equal([1, []]);
  });
});

describe('what a conductor has accepted (decision 5)', () => {
  it('is in a file for each name and database, whose name tells no credentials', async () => {
    const folder = await privateFolder('journal');
    const at = (database?: string): void => {
      conductorJournalIn(folder.path, 'c1', silentLogger, database).write([{ accepted: entry('a') }]);
    };
    for (const user of ['nova:pa55word', 'other:secret']) at(`postgresql://${user}@db/nova_cell1`);
    for (const database of ['postgresql://db/nova_cell2', 'sqlite:////tmp/a.sqlite', undefined]) at(database);
    const names = readdirSync(join(folder.path, '.conductors')).filter((name) => name !== 'c1.journal');
    await folder.remove();
    expect(names).to.have.length(3);
    for (const name of names) expect(name).to.match(/^c1-[0-9a-f]{8}\.journal$/);
  });

  it('is all that is sent to it without waiting for an answer, until it has ended', async () => {
    const accepted = acceptedBy(new CountedJournal(), silentLogger, new AbortController().signal);
    const asked = { ...request('build_instances', 'a'), namespace: CONDUCTOR_NAMESPACE };
    for (const one of [
      asked,
      { ...asked, method: 'attach_volume', messageId: 'waits' },
      { ...asked, method: 'no_such', messageId: 'unknown' },
      { ...asked, namespace: null, messageId: 'elsewhere' },
    ]) {
      await accepted.accept(one);
    }
    expect(ids(accepted.left())).to.deep.equal(['a']);
    await accepted.interceptor(asked, async () => {
      accepted.begun();
      await turn();
      expect(ids(accepted.left())).to.deep.equal(['a']);
    });
    await turn();
    expect(accepted.left()).to.deep.equal([]);
  });
});
