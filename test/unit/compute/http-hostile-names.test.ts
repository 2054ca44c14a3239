import { expect } from 'chai';
import { describe, it } from 'mocha';
import { textTable } from '#compute/operator/text-table.js';
import { CapturedLog } from '../../support/captured-log.js';
import { withHttp } from './http-bed.js';

const LIST = '/v2.1/os-services';
/** They do something to a terminal, turn what stands beside them, cannot be seen, or are half of a character. */
const UNSEEN = ['\0', '\u001b[31m', '\u007f', '\u009b', '\u202e', '\u2066', '\u200b', '\u2028', '\ud800'];

describe('compute: hostile names at the HTTP API', () => {
  it('are no names: what is not seen, as upstream (SEC-06)', () =>
    withHttp(async (bed) => {
      const made = async (server: object): Promise<string> => {
        const body = { server: { name: 'a', flavorRef: '1', imageRef: 'i', ...server } };
        const answer = await bed.send('POST', '/v2.1/servers', { version: '2.19', body });
        return answer.status === 400 ? (answer.body.badRequest?.message ?? '') : 'taken';
      };
      for (const sign of UNSEEN) {
        for (const field of ['name', 'description', 'key_name'])
          expect(await made({ [field]: `x${sign}y` }), JSON.stringify(sign)).to.contain(field);
      }
      for (const name of ['<b>&"\'', '--database', '__proto__', 'für 人 🚀', '../..'])
        expect(await made({ name, description: `${name}\n` }), name).to.equal('taken');
      expect(await made({ description: 'two\r\n\tlines' })).to.equal('taken');
      expect(await made({ name: 'two\nlines' })).to.contain('name');
    }));

  it('are no projects in a path: no header and no record gets them (SEC-06)', () =>
    withHttp(async (bed) => {
      for (const project of ['p%00', 'p%0d%0aSet-Cookie:%20x', '%e2%80%ae', '%20p']) {
        const answer = await bed.send('GET', `/v2.1/${project}/servers`);
        expect([answer.status, answer.body.badRequest?.message], project).to.deep.equal([
          400,
          'Malformed request URL: its project is no name',
        ]);
      }
    }));

  it('are no place that links lead to: a Host is a name or an address (SEC-06)', () =>
    withHttp(
      async (bed) => {
        const statusOf = async (host: string): Promise<number> =>
          (await bed.send('GET', '/v2.1', { headers: { host } })).status;
        for (const host of ['api', 'api.example:8774', '127.0.0.1', '[::1]:8774', 'a_b'])
          expect(await statusOf(host), host).to.equal(200);
        for (const host of ['a/b', 'a"><b>', 'a b', 'user@api', 'api:x', 'ä', '[x]'])
          expect(await statusOf(host), host).to.equal(400);
      },
      { validator: { isOpen: false, validate: () => undefined } },
    ));

  it('do nothing to the terminal of an operator (SEC-06)', () => {
    const [line] = textTable([UNSEEN.map((sign) => `a${sign}b`), []]);
    expect(line)
      .to.match(/^[ -~]+$/)
      .and.contain('a?[31mb');
  });
});

describe('compute: refusals of the HTTP API', () => {
  it('fill no log, whoever asks however often: also 503 for a stream too many, or during a drain', async () => {
    const log = new CapturedLog();
    await withHttp(
      async (bed) => {
        expect((await bed.send('GET', '/page/events')).status).to.equal(503);
        bed.app.refuseNewWork();
        expect((await bed.send('GET', LIST)).status).to.equal(503);
        expect(log.at('debug').map(({ message }) => message)).to.deep.equal([
          'A request was refused',
          'A request was refused',
        ]);
        expect([...log.at('error'), ...log.at('warn')]).to.deep.equal([]);
      },
      { streams: { maxClients: 0 } },
      log,
    );
  });
});
