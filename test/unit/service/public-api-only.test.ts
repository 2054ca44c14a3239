import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { docExamples } from '../../support/doc-examples.js';

const IMPORT = /(?:\bfrom|\bimport\(?)\s*'([^']+)'/g;
const FRAMEWORK = ['@ebbgate/core', '@ebbgate/rpc', '@ebbgate/service'];

function importsOf(code: string): readonly string[] {
  return [...code.matchAll(IMPORT)].map(([, specifier = '']) => specifier);
}

/** Everything that the sources of a package import, but their own files. */
function importsOfPackage(name: string): ReadonlySet<string> {
  const folder = join('packages', name, 'src');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    file.endsWith('.ts'),
  );
  const all = files.flatMap((file) => importsOf(readFileSync(join(folder, file), 'utf8')));
  return new Set(all.filter((specifier) => !specifier.startsWith('.')));
}

describe('a service with an ops topic that drains', () => {
  it('needs nothing of the framework but its public names: the example of the service guide (GS-77)', () => {
    const code = docExamples('docs/service-guide.md').flatMap(({ file, code }) =>
      file === undefined ? [] : [code],
    );
    const imports = new Set(code.flatMap(importsOf).filter((specifier) => !specifier.startsWith('./')));
    expect([...imports].sort()).to.deep.equal(FRAMEWORK);
    for (const name of ['Service', 'TaskRegistry', 'taskInterceptor', 'openOperation', 'RpcServer'])
      expect(code.join('')).to.include(name);
  });

  it('needs nothing else in the compute service either, nor does the service package of the others (GS-77)', () => {
    for (const [name, below] of [
      ['compute', ['core', 'driver-amqp', 'driver-redis', 'notify', 'rpc', 'service']],
      ['service', ['core', 'rpc']],
    ] as const) {
      const ours = [...importsOfPackage(name)].filter((specifier) => /^(@ebbgate\/|#|\/)/.test(specifier));
      const outside = ours.filter((specifier) => !below.some((one) => specifier === `@ebbgate/${one}`));
      expect(outside, name).to.deep.equal([]);
      expect(ours, name).to.include('@ebbgate/rpc');
    }
  });
});
