import { MessagingTimeoutError, silentLogger } from '@ebbgate/core';
import { onceAnswered, UnsettledWriteError } from '#compute/compute/sure-write.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { rejectionOf } from '../../support/deferred.js';

/** So long that there is time for a second try, and not for a third. */
const PATIENT = {
  recordsPatienceMs: 250,
  logger: silentLogger,
  lifetime: new AbortController().signal,
};

describe('records that give no answer (COMP-07)', () => {
  it('are waited for once, also by an operation whose records wait for themselves', async () => {
    const asked: string[] = [];
    const silent = (): Promise<never> => {
      asked.push('record');
      return Promise.reject(new MessagingTimeoutError('no answer'));
    };
    const operation = (): Promise<never> => {
      asked.push('operation');
      return onceAnswered(PATIENT, silent);
    };
    const error = await rejectionOf(onceAnswered(PATIENT, operation));
    expect(error).to.be.instanceOf(UnsettledWriteError);
    expect(asked).to.deep.equal(['operation', 'record', 'record']);
  });
});
