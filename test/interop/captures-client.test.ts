import { RemoteErrorRegistry } from '@ebbgate/rpc';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { readCapture } from './replay/capture.js';
import { CASES, isReplayed } from './replay/cases.js';
import { ClientReplay, recordedSends, type Sent } from './replay/client.js';
import {
  actualOutcome,
  actualPublish,
  expectedOutcome,
  expectedPublish,
  holdsNaN,
} from './replay/client-expected.js';
import { OurSide } from './replay/our-side.js';
import { recordedErrors } from './replay/recorded-errors.js';

/** A few milliseconds pass between the start of a call and what is read of it. */
const SOON_MS = 1_000;

function checkPublish(replay: ClientReplay, sent: Sent): void {
  const event = replay.published.get(sent);
  if (!event) throw new Error('Nothing was published');
  const { deadline, ...published } = actualPublish(event);
  expect(published).to.deep.equal(expectedPublish(sent.event));
  const { expiration } = sent.event.properties;
  if (expiration === undefined) expect(deadline, 'deadline').to.equal(undefined);
  else expect(Number(deadline) - event.atMs).to.be.within(Number(expiration) - SOON_MS, Number(expiration));
}

describe('our client in the place of the recorded one (W1, W5, W10, W14, W17, W26)', function () {
  this.timeout(20_000);

  for (const [name, cover] of Object.entries(CASES)) {
    if (!isReplayed(cover, 'client')) continue;
    const sends = recordedSends(readCapture(name));

    it(`${name}: publishes the same and reaches the same outcome, ${String(sends.length)} times (RPC-01, RPC-16)`, async () => {
      expect(sends).to.not.have.lengthOf(0);
      const side = await OurSide.start(cover.options);
      const replay = new ClientReplay(
        side,
        cover.knowsNoErrors ? new RemoteErrorRegistry() : recordedErrors(),
      );
      try {
        for (const sent of sends) {
          const [settled] = await Promise.allSettled([replay.send(sent)]);
          if (holdsNaN(sent.inner['args'])) {
            expect(actualOutcome(settled)).to.deep.equal({ code: 'ERR_SERIALIZATION' }); // W14
            continue;
          }
          checkPublish(replay, sent);
          expect(actualOutcome(settled), JSON.stringify(sent.seen)).to.deep.equal(expectedOutcome(sent));
        }
      } finally {
        await side.close();
      }
    });
  }
});
