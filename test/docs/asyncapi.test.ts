import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { COMPUTE_EVENTS, COMPUTE_METHODS, CONDUCTOR_METHODS, SCHEDULER_METHODS } from '@ebbgate/compute';
import { asyncApiDescription } from '#compute/main/asyncapi-description.js';
import { at, checkAsyncApi } from '../support/asyncapi-schema.js';

describe('the AsyncAPI description of the compute service', () => {
  it('is what the tables give: node packages/compute/dist/main.js asyncapi > docs/asyncapi.json', () => {
    const committed = readFileSync(join(process.cwd(), 'docs/asyncapi.json'), 'utf8');
    expect(committed).to.equal(asyncApiDescription());
  });

  it('is one by the schema of the specification, and refers to nothing that is not there', () => {
    checkAsyncApi(JSON.parse(asyncApiDescription()));
  });

  it('has each method that the service answers to, and each event that it sends', () => {
    const operations = at(JSON.parse(asyncApiDescription()), ['operations']) as Record<string, unknown>;
    const names = Object.keys(operations);
    for (const table of [COMPUTE_METHODS, CONDUCTOR_METHODS, SCHEDULER_METHODS])
      for (const name of Object.keys(table))
        expect(
          names.some((one) => one.endsWith(`.${name}`)),
          name,
        ).to.equal(true);
    for (const type of Object.keys(COMPUTE_EVENTS.events))
      expect(
        names.some((one) => one.startsWith(`versioned_notifications.${type}.`)),
        type,
      ).to.equal(true);
  });
});
