import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Ajv, type ValidateFunction } from 'ajv';
import { expect } from 'chai';

const require = createRequire(import.meta.url);
let compiled: ValidateFunction | undefined;

/** The schema of the specification, which has JSON Schema's own within it; compiled once. */
function specification(): ValidateFunction {
  const path = require.resolve('@asyncapi/specs/schemas/3.0.0.json');
  const ajv = new Ajv({ strict: false, meta: false, validateSchema: false, validateFormats: false });
  return (compiled ??= ajv.compile(JSON.parse(readFileSync(path, 'utf8')) as object));
}

/** It is an AsyncAPI 3 document by the schema of the specification, and refers to nothing that is not there. */
export function checkAsyncApi(document: unknown): void {
  const validate = specification();
  const isValid = validate(document);
  expect(validate.errors ?? [], 'by the schema of the specification').to.deep.equal([]);
  expect(isValid).to.equal(true);
  for (const [, path = ''] of JSON.stringify(document).matchAll(/"\$ref":"#\/([^"]+)"/g))
    expect(at(document, path.split('/')), path).to.not.equal(undefined);
}

/** What is at a path of members. */
export function at(document: unknown, path: readonly string[]): unknown {
  return path.reduce((inner, name) => (inner as Record<string, unknown> | undefined)?.[name], document);
}
