import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ConfigurationError } from '@ebbgate/core';
import { Notifier } from '@ebbgate/notify';
import { shellPattern } from '#notify/pattern.js';
import { expect } from 'chai';
import { after, before, describe, it } from 'mocha';
import { until } from '../../support/deferred.js';
import { Collecting, useNotifyBed } from '../../support/notify-bed.js';

const ROUTING = `
group_1:
  test:
    accepted_events:
      - compute.instance.*
      - '*.host[12].end'
    accepted_priorities:
      - INFO
      - war?
  log:
    accepted_priorities: [error]
group_2:
  test:
    accepted_events: [compute.*]
  messagingv2:
`;

describe('the driver routing', () => {
  const bed = useNotifyBed();
  let folder = '';
  const fileOf = (text: string): string => {
    const path = join(folder, `routing-${String(Math.random()).slice(2)}.yaml`);
    writeFileSync(path, text);
    return path;
  };
  const make = (text: string): Notifier =>
    new Notifier(bed().transport, { drivers: ['routing'], routingFile: fileOf(text) });

  before(() => {
    folder = mkdtempSync(join(tmpdir(), 'ebbgate-routing-'));
  });
  after(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  it('gives a notification to the drivers of all groups whose rules take it, each once', async () => {
    const notifier = make(ROUTING);
    const all = new Collecting(['info', 'warn', 'error']);
    await bed().listen([all.endpoint]);
    await notifier.info({}, 'compute.instance.create', 1);
    await notifier.warn({}, 'network.host1.end', 2);
    await notifier.warn({}, 'network.host3.end', 3);
    await notifier.error({}, 'network.port', 4);
    await until(() => all.seen.length === 4);
    expect(notifier.recorded.map(({ payload }) => payload)).to.deep.equal([1, 2]);
    expect(
      bed()
        .log.at('error')
        .map(({ message }) => message),
    ).to.deep.equal(['oslo.messaging.notification.network.port']);
  });

  for (const [what, text, error] of [
    ['that is no YAML', 'a: [', 'cannot be read'],
    ['whose groups are none', '- a', 'must be a mapping'],
    ['with an unknown driver', 'g: { kafka: {} }', '"kafka"'],
    ['with itself', 'g: { routing: {} }', 'itself'],
    ['with an unknown rule', 'g: { log: { events: [] } }', '"events"'],
    ['with a rule that is no list', 'g: { log: { accepted_events: x } }', 'list of text'],
  ] as const) {
    it(`refuses a file ${what} when it is made (CORE-09)`, () => {
      expect(() => make(text)).to.throw(ConfigurationError, error);
    });
  }

  for (const [pattern, text, isMatch] of [
    ['a*', 'abc', true],
    ['a*', 'ba', false],
    ['a?c', 'abc', true],
    ['a?c', 'ac', false],
    ['[!a]b', 'bb', true],
    ['[!a]b', 'ab', false],
    ['[a-c]', 'b', true],
    ['a.b', 'axb', false],
    ['a+(b)', 'a+(b)', true],
    ['[', '[', true],
    ['[]]', ']', true],
  ] as const) {
    it(`reads the pattern ${pattern} as Python's fnmatch does: ${text}`, () => {
      expect(shellPattern(pattern).matchesAll(text)).to.equal(isMatch);
    });
  }
});
