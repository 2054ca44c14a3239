import { MessagingError } from '@ebbgate/core';
import { Liveness } from '@ebbgate/compute';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { showWork, watchWork } from '#compute/operator/looks.js';
import type { Operated } from '#compute/operator/work.js';
import { SOURCE, type TestCloud, withCloud } from './test-cloud.js';

/** An instance in ERROR, since it could not be suspended. */
async function failed(test: TestCloud): Promise<string> {
  const uuid = await test.bootActive(SOURCE);
  test.virt(SOURCE).steps.failNext('suspend', new MessagingError('the disk is full', { code: 'ERR_TEST' }));
  await test.cloud.controls.ask({}, uuid, 'suspend');
  await test.becomes(uuid, 'error/-');
  await test.idle(SOURCE);
  return uuid;
}

/** What a command prints until it ends, or has printed this. */
async function printed(
  test: TestCloud,
  work: ReturnType<typeof watchWork>,
  until: string,
): Promise<readonly string[]> {
  const enough = new AbortController();
  let text = '';
  const out = (more: string): void => {
    text += more;
    if (text.includes(until)) enough.abort();
  };
  const api = { records: test.cloud.records, liveness: new Liveness() };
  const cloud = { api } as unknown as Operated; // of which only this is used
  const terminal = { out, err: out, screen: undefined, signal: enough.signal };
  await work(cloud, terminal).catch((error: unknown) => {
    if (!enough.signal.aborted) throw error;
  });
  return text.trimEnd().split('\n');
}

describe('why an operation has failed (compute-rpc 3)', () => {
  it('is told by instance show, and with --json', () =>
    withCloud({}, async (test) => {
      const uuid = await failed(test);
      const row = (await printed(test, showWork(uuid, {}), '\0')).find((line) => line.startsWith('fault'));
      expect(row).to.contain('"message":"the disk is full"').and.contain(`"host":"${SOURCE}"`);
      const [json = ''] = await printed(test, showWork(uuid, { json: true }), '\0');
      expect((JSON.parse(json) as { fault: unknown }).fault).to.deep.include({ code: 500, host: SOURCE });
    }));

  it('is told by instance watch: a line elsewhere than on a terminal, a member with --json', () =>
    withCloud({}, async (test) => {
      const uuid = await failed(test);
      const lines = await printed(test, watchWork({}), 'the disk is full');
      expect(lines.at(-1)).to.match(/ vm1: the disk is full$/);
      const [json = ''] = await printed(test, watchWork({ json: true }), 'the disk is full');
      expect(JSON.parse(json)).to.deep.include({ id: uuid, vm_state: 'error' });
    }));
});
