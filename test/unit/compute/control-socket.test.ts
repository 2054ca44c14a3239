import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { silentLogger } from '@ebbgate/core';
import { expect } from 'chai';
import { afterEach, beforeEach, describe, it } from 'mocha';
import { overControl } from '#compute/main/control-client.js';
import { controlLine } from '#compute/main/control-line.js';
import { serveControl } from '#compute/main/control-server.js';
import type { Terminal } from '#compute/operator/terminal.js';
import { deferred, rejectionOf } from '../../support/deferred.js';

describe('the control socket of an all-in-one', () => {
  let folder = '';
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'ebbgate-test-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('outlives operators that go away in the middle of what it tells them', async () => {
    const path = join(folder, 'c.sock');
    let told = deferred();
    const tells = async (_argv: readonly string[], { out, signal }: Terminal): Promise<number> => {
      while (!signal.aborted) {
        out('x'.repeat(10_000));
        await setImmediate();
      }
      told.resolve();
      return 0;
    };
    const server = await serveControl(path, tells, silentLogger);
    for (let times = 0; times < 20; times += 1) {
      told = deferred();
      const socket = connect(path);
      socket.on('error', () => undefined).write(controlLine({ argv: ['watch'], screen: null }));
      await once(socket, 'data');
      socket.destroy();
      await told.promise;
    }
    server.close();
    await once(server, 'close');
  });

  it('that goes away says to an operator that the cloud has ended, however it has', async () => {
    const path = join(folder, 'c.sock');
    const server = createServer((socket) => {
      socket.once('data', () => socket.destroy(new Error('the cloud has died')));
      socket.on('error', () => undefined);
    });
    server.listen(path);
    await once(server, 'listening');
    const { signal } = new AbortController();
    const terminal = { out: () => undefined, err: () => undefined, screen: undefined, signal };
    const error = await rejectionOf(overControl(path, ['host', 'list'], terminal));
    expect(error.message).to.equal('The all-in-one has ended meanwhile');
    server.close();
  });
});
