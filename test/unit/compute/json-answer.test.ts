import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { jsonPieces } from '#compute/http/json-answer.js';
import { timeText } from '#compute/http/times.js';
import { withHttp } from './http-bed.js';

const value = fc.oneof(fc.jsonValue({ maxDepth: 1 }), fc.constant(undefined));
const list = fc.array(value, { maxLength: 170, size: 'max' });
const answers = fc.dictionary(fc.string(), fc.oneof(list, value), { maxKeys: 4 });

describe('compute: what the HTTP API answers', () => {
  it('is the same JSON in pieces as it is whole', () => {
    fc.assert(
      fc.property(answers, (answer) => {
        expect(jsonPieces(answer).join('')).to.equal(JSON.stringify(answer));
      }),
    );
  });

  it('goes out in pieces when its list is long, with the length of all of them', () =>
    withHttp(async (bed) => {
      for (let at = 0; at < 120; at += 1) await bed.service(`host${at}`);
      await bed.records.services.update('compute', 'host7', { disabled: true, disabledReason: 'düster' });
      const url = '/v2.1/os-services';
      const { body, headers } = await bed.app.fastify.inject({ method: 'GET', url });
      expect(body).to.equal(JSON.stringify({ services: await bed.listed() }));
      expect(headers['content-type']).to.equal('application/json; charset=utf-8');
      expect(headers['content-length']).to.equal(String(Buffer.byteLength(body)));
      const head = await bed.app.fastify.inject({ method: 'HEAD', url });
      expect([head.body, head.headers['content-length']]).to.deep.equal(['', headers['content-length']]);
      expect(jsonPieces(JSON.parse(body) as object).length).to.be.above(2);
    }));

  it('has times as `datetime` of Python writes them, whichever is written after which', () => {
    const anyMs = fc.double({ min: -8.64e15, max: 8.64e15, noNaN: true });
    const nearMs = fc.double({ min: 1.8e12 - 90_000, max: 1.8e12 + 90_000, noNaN: true });
    fc.assert(
      fc.property(fc.array(fc.oneof(anyMs, nearMs), { minLength: 1 }), (times) => {
        for (const atMs of times)
          expect(timeText(atMs)).to.equal(`${new Date(atMs).toISOString().slice(0, -1)}000`);
      }),
    );
    expect(() => timeText(NaN)).to.throw(RangeError);
  });
});
