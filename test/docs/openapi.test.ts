import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { apiDescription } from '#compute/main/api-description.js';

/** What is at a path of members; a slash in a name is written as ~. */
function at(document: unknown, path: string): unknown {
  const names = path.split('/').map((name) => name.replaceAll('~', '/'));
  return names.reduce(
    (inner, name) => (inner as Readonly<Record<string, unknown>> | undefined)?.[name],
    document,
  );
}

describe('the OpenAPI description', () => {
  it('is what the API serves: node packages/compute/dist/main.js openapi > docs/openapi.json', async () => {
    const committed = readFileSync(join(process.cwd(), 'docs/openapi.json'), 'utf8');
    expect(committed).to.equal(await apiDescription());
  });

  it('has a schema for each body, by version, and refers to nothing that is not there', async () => {
    const text = await apiDescription();
    const document: unknown = JSON.parse(text);
    const body = 'paths/~os-services~{service_id}/put/requestBody/content/application~json/schema/anyOf';
    const bodies = at(document, body) as readonly { readonly description: string }[];
    expect(bodies.map(({ description }) => description)).to.deep.equal([
      'From 2.1',
      'From 2.11',
      'From 2.11, ebbgate 1.2',
      'From 2.53',
      'From 2.53, ebbgate 1.2',
    ]);
    for (const [, path = ''] of text.matchAll(/"\$ref": "#\/([^"]+)"/g)) {
      expect(at(document, path), path).to.be.an('object');
    }
  });
});
