import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import type { HttpApp } from '#compute/http/app.js';
import { type ClientPatience, HttpServer } from '#compute/http/http-server.js';
import { sendJson } from '#compute/http/json-answer.js';
import { type Deferred, deferred } from '../../support/deferred.js';
import { eventually } from '../../support/rigs/deadline.js';
import { type HttpBed, withHttp } from './http-bed.js';

const LIST = 'GET /v2.1/os-services HTTP/1.1\r\nHost: localhost\r\n\r\n';
const LONG = 'GET /long HTTP/1.1\r\nHost: localhost\r\n\r\n';
const PIECES = 'GET /pieces HTTP/1.1\r\nHost: localhost\r\n\r\n';
const HALF = 'PUT /v2.1/os-services/enable HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n';

const GATE = 'GET /gate HTTP/1.1\r\nHost: localhost\r\n\r\n';

interface Served {
  readonly bed: HttpBed;
  readonly server: HttpServer;
  readonly open: () => Promise<Socket>;
  /** The requests for `/gate` that have begun, each answered when it is let through. */
  readonly atGate: Deferred<string>[];
}

/** An API that listens, with so much patience. */
async function withServer(patience: ClientPatience, work: (served: Served) => Promise<void>): Promise<void> {
  await withHttp(async (bed) => {
    atLength(bed.app.fastify);
    const atGate: Deferred<string>[] = [];
    bed.app.fastify.get('/gate', { config: { isPublic: true } }, () => {
      atGate.push(deferred());
      return atGate.at(-1)?.promise;
    });
    const server = new HttpServer(bed.app, { host: '127.0.0.1', port: 0 }, patience);
    await server.start();
    const sockets: Socket[] = [];
    const open = async (): Promise<Socket> => {
      const socket = connect(server.address?.port ?? 0, '127.0.0.1');
      sockets.push(socket.on('error', () => undefined)); // some are cut off
      await once(socket, 'connect');
      return socket;
    };
    try {
      await work({ bed, server, open, atGate });
    } finally {
      for (const socket of sockets) socket.destroy();
      await server.stop();
      await server.wait({ timeoutMs: 1000 }).catch(() => undefined);
    }
  });
}

/** Answers with more than a connection takes that nobody reads from, whole or in pieces. */
function atLength(app: HttpApp['fastify']): void {
  const isPublic = { config: { isPublic: true } };
  app.get('/long', isPublic, () => 'x'.repeat(20_000_000));
  app.get('/pieces', isPublic, (_request, reply) =>
    sendJson(reply, { list: Array.from({ length: 200 }, () => 'x'.repeat(100_000)) }),
  );
}

async function begun({ tasks }: HttpBed, requests = 1): Promise<void> {
  await eventually('the requests have begun', 2000, () => tasks.snapshot().length === requests);
}

describe('compute: slow clients of the HTTP API', () => {
  it('hold no drain up: neither one that stops in its request, nor one that does not read its answer (HTTP-01)', () =>
    withServer({ drainMs: 5 }, async ({ bed, server, open }) => {
      (await open()).write(`${HALF}Content-Length: 9\r\n\r\n{"`);
      (await open()).pause().write(LONG);
      (await open()).pause().write(PIECES);
      await begun(bed, 3);
      await server.stop();
      await server.wait({ timeoutMs: 2000 });
      await bed.tasks.whenIdle();
    }));

  it('are waited for a while: who sends the rest in time is answered (HTTP-01)', () =>
    withServer({ drainMs: 2000 }, async ({ bed, server, open }) => {
      await bed.service('h1');
      const body = JSON.stringify({ host: 'h1', binary: 'nova-compute' });
      const socket = await open();
      socket.write(`${HALF}Content-Length: ${body.length}\r\n\r\n`);
      await begun(bed);
      await server.stop();
      socket.write(body);
      const [answer] = (await once(socket.setEncoding('utf8'), 'data')) as [string];
      expect(answer).to.match(/^HTTP\/1\.1 200 /);
      await server.wait({ timeoutMs: 2000 });
    }));

  it('are cut off when they read nothing of an answer', () =>
    withServer({ readMs: 5 }, async ({ bed, open }) => {
      (await open()).pause().write(LONG);
      (await open()).pause().write(PIECES);
      await begun(bed, 2);
      await bed.tasks.whenIdle();
    }));

  it('get all of an answer in pieces while they read, also when a drain begins (HTTP-01)', () =>
    withServer({ drainMs: 20_000 }, async ({ bed, server, open }) => {
      const socket = await open();
      socket.pause().write(PIECES);
      await begun(bed);
      await server.stop();
      let size = 0;
      socket.on('data', (part: Buffer) => (size += part.length)).resume();
      await once(socket, 'close');
      expect(size).to.be.above(20_000_000);
      await server.wait({ timeoutMs: 2000 });
    }));

  it('that go with several requests unanswered leave no task behind (HTTP-01)', () =>
    withServer({}, async ({ bed, open }) => {
      const socket = await open();
      socket.pause().write(`${LONG}${PIECES}${LIST}`);
      await begun(bed, 3);
      socket.destroy();
      await bed.tasks.whenIdle();
    }));

  it('may be idle longer between two requests than in one', () =>
    withServer({ readMs: 5 }, async ({ bed, open }) => {
      const accepted = once(bed.app.fastify.server, 'connection') as Promise<[Socket]>;
      const socket = await open();
      const [served] = await accepted;
      socket.write(LIST);
      await once(socket, 'data');
      await bed.tasks.whenIdle();
      expect(served.timeout).to.be.above(60_000);
    }));
});

describe('compute: requests to the HTTP API that do not wait for answers', () => {
  it('are begun one after the other, and not at all when their connection is gone', () =>
    withServer({}, async ({ bed, open, atGate }) => {
      const socket = await open();
      socket.write(GATE.repeat(3));
      await begun(bed, 3);
      await eventually('the first has begun', 2000, () => atGate.length > 0);
      expect(atGate.length).to.equal(1);
      atGate[0]?.resolve('open');
      await once(socket, 'data');
      await eventually('the second has begun', 2000, () => atGate.length > 1);
      expect([atGate.length, bed.tasks.snapshot().length]).to.deep.equal([2, 2]);
      socket.destroy();
      await bed.tasks.whenIdle();
      const other = await open();
      other.write(LIST);
      await once(other, 'data'); // by now the third would have begun
      expect(atGate.length).to.equal(2);
    }));

  it('are not begun any more once a drain begins, also behind an answer that is on its way (HTTP-01, HTTP-02)', () =>
    withServer({ drainMs: 20_000 }, async ({ bed, server, open, atGate }) => {
      const socket = await open();
      socket.write(`${PIECES}${GATE}`);
      await begun(bed, 2);
      await once(socket, 'data');
      socket.pause(); // so that the first is not answered before the drain begins
      await server.stop();
      socket.resume();
      await once(socket, 'close');
      await server.wait({ timeoutMs: 2000 });
      expect(atGate.length).to.equal(0);
    }));
});

describe('compute: what is no request, at the HTTP API', () => {
  it('is answered in the form of OpenStack, and the connection closed (HTTP-03)', () =>
    withServer({}, async ({ open }) => {
      const answers: string[] = [];
      for (const text of ['\x16\x03\x01\r\n\r\n', `GET / HTTP/1.1\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`]) {
        const socket = await open();
        let answer = '';
        socket.setEncoding('utf8').on('data', (part: string) => (answer += part));
        socket.write(text, 'latin1');
        await once(socket, 'close');
        answers.push(answer);
      }
      const [garbage = '', long = ''] = answers;
      expect(garbage)
        .to.match(/^HTTP\/1\.1 400 /)
        .and.contain('{"badRequest":{"code":400,');
      expect(long)
        .to.match(/^HTTP\/1\.1 431 /)
        .and.contain('{"computeFault":{"code":431,');
    }));
});
