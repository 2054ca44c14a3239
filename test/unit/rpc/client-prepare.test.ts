import { ConfigurationError, InvalidTargetError } from '@ebbgate/core';
import { type PrepareOptions, RpcClient, RpcVersionCapError } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf } from '../../support/deferred.js';
import { type RpcBed, useBed } from '../../support/rpc-bed.js';

const FULL = {
  exchange: 'x1',
  topic: 't1',
  namespace: 'n1',
  version: '1.4',
  server: 's1',
  fanout: false,
};

/** What prepare() may be given for the members of a target, and what comes of it. */
const TARGET_CASES: readonly (readonly [keyof typeof FULL, string | boolean])[] = [
  ['exchange', 'x2'],
  ['topic', 't2'],
  ['namespace', 'n2'],
  ['version', '1.9'],
  ['server', 's2'],
  ['fanout', true],
];

describe('RpcClient.prepare()', () => {
  const bed = useBed();
  const full = (): RpcClient => new RpcClient(bed().transport, FULL);

  for (const [name, value] of TARGET_CASES) {
    it(`replaces ${name}, keeps it when absent, resets it by null, and leaves the parent (COMP-05)`, () => {
      const parent = full();
      const others = TARGET_CASES.map(([other]) => other).filter((other) => other !== name);
      const replaced = parent.prepare({ [name]: value });
      expect(replaced.target[name]).to.equal(value);
      for (const other of others) expect(replaced.target[other], other).to.equal(FULL[other]);
      expect(parent.prepare({ [name]: undefined }).target[name]).to.equal(FULL[name]);
      expect(parent.prepare({}).target[name]).to.equal(FULL[name]);
      expect(parent.prepare({ [name]: null }).target[name]).to.equal(undefined);
      expect(parent.target[name]).to.equal(FULL[name]);
    });
  }

  it('can be prepared again, each step on top of the one before', () => {
    const first = full().prepare({ topic: 't2', server: null });
    const second = first.prepare({ version: '1.0', namespace: null });
    const third = second.prepare({ topic: 't3', fanout: true });
    expect(third.target).to.include({ exchange: 'x1', topic: 't3', version: '1.0', fanout: true });
    expect(third.target.server).to.equal(undefined);
    expect(third.target.namespace).to.equal(undefined);
    expect([first.target.topic, second.target.topic, first.target.version]).to.deep.equal([
      't2',
      't2',
      '1.4',
    ]);
  });

  it('refuses bad values at once, naming what is wrong, and unknown names', () => {
    const refused: readonly (readonly [unknown, RegExp])[] = [
      [{ version: '1' }, /major and minor integer. Got 1/],
      [{ version: 'a.b' }, /major and minor integer/],
      [{ version: '' }, /major and minor integer/],
      [{ versionCap: '2' }, /major and minor integer/],
      [{ versionCap: 2 }, /a value of type number/],
      [{ timeoutMs: 0 }, /timeoutMs must be .* above 0, not 0/],
      [{ timeoutMs: -1 }, /timeoutMs/],
      [{ timeoutMs: Number.NaN }, /timeoutMs/],
      [{ timeoutMs: Infinity }, /timeoutMs/],
      [{ timeoutMs: '5' }, /timeoutMs/],
      [{ callMonitorTimeoutMs: 0 }, /callMonitorTimeoutMs/],
      [{ callMonitorTimeoutMs: Infinity }, /callMonitorTimeoutMs/],
      [{ retry: 1.5 }, /retry must be a whole number, not 1.5/],
      [{ retry: '3' }, /retry/],
      [{ transportOptions: { atLeastOnce: 'yes' } }, /atLeastOnce must be true or false/],
      [{ transportOptions: { persistent: true } }, /knows no "persistent"/],
      [{ transportOptions: true }, /transportOptions must be an object/],
      [{ timeout: 5 }, /no "timeout".*timeoutMs/],
      [{ constructor: 5 }, /no "constructor"/],
    ];
    for (const [options, why] of refused) {
      expect(() => full().prepare(options as PrepareOptions), JSON.stringify(options)).to.throw(
        ConfigurationError,
        why,
      );
    }
    for (const options of [{ topic: 5 }, { fanout: 'yes' }, { version: 1.4 }, { server: {} }]) {
      expect(() => full().prepare(options as unknown as PrepareOptions)).to.throw(InvalidTargetError);
    }
  });

  it('checks the options of a new client in the same way', () => {
    const make = (options: object) => () => new RpcClient(bed().transport, FULL, options);
    expect(make({ timeoutMs: -5 })).to.throw(ConfigurationError, /timeoutMs/);
    expect(make({ versionCap: 'x' })).to.throw(ConfigurationError, /major and minor/);
    expect(make({ retries: 5 })).to.throw(ConfigurationError, /no "retries"/);
    expect(make({ timeoutMs: null, versionCap: null, retry: null, transportOptions: null })).to.not.throw();
  });

  it('rejects an option of a send that has no effect there, before anything is sent (CORE-09)', async () => {
    const seen: unknown[] = [];
    await bed().serve({ m: () => seen.push('m') });
    const misplaced: object = { timeoutMs: 5 };
    for (const sending of [
      bed().client().call({}, 'm', {}, misplaced),
      bed().client().cast({}, 'm', {}, misplaced),
    ]) {
      const error = await rejectionOf(sending);
      expect(error).to.be.instanceOf(ConfigurationError);
      expect(error.message).to.include('"timeoutMs"');
    }
    await bed().client().call({}, 'm', {}, {});
    expect(seen).to.deep.equal(['m']);
  });

  it('sends to the topic, the exchange and the server that were prepared', async () => {
    const reached: string[] = [];
    const at = (name: string): object => ({ here: () => reached.push(name) && name });
    await bed().serve(at('t1@s1'), {}, { topic: 't1', server: 's1' });
    await bed().serve(at('t1@s2'), {}, { topic: 't1', server: 's2' });
    await bed().serve(at('t2'), {}, { topic: 't2', server: 's1' });
    await bed().serve(at('x'), {}, { exchange: 'other', topic: 't1', server: 's1' });
    const client = new RpcClient(bed().transport, { topic: 't1' });
    expect(await client.prepare({ server: 's2' }).call({}, 'here')).to.equal('t1@s2');
    expect(await client.prepare({ topic: 't2' }).call({}, 'here')).to.equal('t2');
    expect(await client.prepare({ exchange: 'other' }).call({}, 'here')).to.equal('x');
    expect(
      await client.prepare({ server: 's2' }).prepare({ server: null, topic: 't2' }).call({}, 'here'),
    ).to.equal('t2');
    expect(reached).to.deep.equal(['t1@s2', 't2', 'x', 't2']);
  });

  it('resets the time-out, the monitor and the transport options to those of a bare client', async () => {
    const parent = bed().client(
      { timeoutMs: 25, transportOptions: { atLeastOnce: false } },
      { topic: 'nobody-listens' },
    );
    expect(await rejectionOf(parent.call({}, 'm'))).to.include({ code: 'ERR_TIMEOUT' });
    const strict = parent.prepare({ transportOptions: null });
    expect(await rejectionOf(strict.call({}, 'm'))).to.include({ code: 'ERR_UNDELIVERABLE' });
    expect(await rejectionOf(parent.prepare({ topic: 'nobody' }).call({}, 'm'))).to.include({
      code: 'ERR_TIMEOUT',
    });
  });
});

describe('the version cap of a client', () => {
  const bed = useBed();
  const client = (versionCap: string | null, version: string | null = null): RpcClient =>
    bed().client({ versionCap }, { version });

  /** [cap, asked, may it be sent] */
  const TABLE: readonly (readonly [string | null, string | null | undefined, boolean])[] = [
    [null, '1.0', true],
    [null, null, true],
    [null, 'junk', true],
    ['1.5', '1.5', true],
    ['1.5', '1.4', true],
    ['1.5', '1.0', true],
    ['1.5', '1.6', false],
    ['1.10', '1.9', true],
    ['1.9', '1.10', false],
    ['1.5', '2.0', false],
    ['2.0', '1.5', false],
    ['1.5', '1.5.1', false],
    ['1.5.2', '1.5.1', true],
    ['1.5', null, false],
    ['1.5', 'junk', false],
    ['1.5', '1', false],
    ['1.5', '', false],
  ];

  for (const [cap, asked, may] of TABLE) {
    it(`${may ? 'lets' : 'does not let'} ${String(asked)} be sent under ${String(cap)} (RPC-11)`, () => {
      expect(client(cap).canSendVersion(asked)).to.equal(may);
    });
  }

  it('is asked for the version of the target when none is given (RPC-11)', () => {
    expect(client('1.5', '1.6').canSendVersion()).to.equal(false);
    expect(client('1.5', '1.2').canSendVersion()).to.equal(true);
    expect(client('1.5').canSendVersion()).to.equal(false);
    expect(client('1.5', '1.6').prepare({ version: '1.1' }).canSendVersion()).to.equal(true);
    expect(client('1.5', '1.6').prepare({ versionCap: null }).canSendVersion()).to.equal(true);
    expect(client('1.5').canSendVersion(1.2 as unknown as string)).to.equal(false);
  });

  it('stops call, cast and fanout before anything is sent, and says why (RPC-11)', async () => {
    const seen: string[] = [];
    await bed().serve({ m: () => seen.push('m') });
    const capped = client('1.5', '1.6');
    const sends = [
      capped.call({}, 'm'),
      capped.cast({}, 'm'),
      capped.prepare({ fanout: true }).cast({}, 'm'),
      capped.prepare({ version: '2.0' }).call({}, 'm'),
    ];
    for (const send of sends) {
      const error = await rejectionOf(send);
      expect(error).to.be.instanceOf(RpcVersionCapError);
      expect(error).to.include({ code: 'ERR_VERSION_CAP', versionCap: '1.5', outcome: 'not-sent' });
      expect(error.message).to.match(/(1\.6|2\.0).*1\.5/);
    }
    const unset = await rejectionOf(client('1.5').cast({}, 'm'));
    expect(unset).to.be.instanceOf(RpcVersionCapError);
    expect(unset.message).to.contain('No RPC version was given');
    await client('1.5', '1.0').call({}, 'm');
    expect(seen).to.deep.equal(['m']);
  });
});

describe('calls through a client with bad targets', () => {
  const bed = useBed();

  const start = async (use: RpcBed): Promise<string[]> => {
    const seen: string[] = [];
    await use.serve({ m: () => seen.push('m') });
    return seen;
  };

  it('refuses a call with fanout before anything is sent (RPC-10)', async () => {
    const seen = await start(bed());
    const client = bed().client();
    const error = await rejectionOf(client.prepare({ fanout: true }).call({}, 'm'));
    expect(error).to.be.instanceOf(InvalidTargetError);
    expect(error.message).to.contain('A call cannot be used with fanout');
    expect(bed().pending).to.equal(0);
    await client.call({}, 'm');
    expect(seen).to.deep.equal(['m']);
  });

  it('refuses to send without a topic', async () => {
    const client = bed().client({}, { topic: null });
    for (const send of [
      client.call({}, 'm'),
      client.cast({}, 'm'),
      client.prepare({ topic: '' }).cast({}, 'm'),
    ]) {
      expect(await rejectionOf(send)).to.include({ code: 'ERR_INVALID_TARGET' });
    }
  });
});
