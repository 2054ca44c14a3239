import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { apiDescription } from '#compute/main/api-description.js';

type Paths = Readonly<Record<string, Readonly<Record<string, { readonly description?: string }>>>>;

const PAGE = join(process.cwd(), 'docs/services-api.md');
const DESCRIPTION = /^Policy (\S+)\. Versions 2\.(\d+) to 2\.(\d+)\..*?(?: Only with (ebbgate 1\.\d+)\.)?$/;

/** As the page has it: request, versions, rule. */
function rowOf(method: string, path: string, description: string | undefined): string {
  const request = `\`${method.toUpperCase()} ${path.replaceAll(/\{\w+\}/g, '{id}')}\``;
  const [, policy, since, until, ours] = DESCRIPTION.exec(description ?? '') ?? [];
  if (policy === undefined) return [request, 'all', 'of each action its own'].join(' | ');
  const range = [...(since === '1' ? [] : [`from 2.${since}`]), ...(until === '96' ? [] : [`to 2.${until}`])];
  return [request, ours ?? (range.join(' ') || 'all'), `\`${policy}\``].join(' | ');
}

describe('documentation: all requests of the services API', () => {
  it('are on its page, each with its versions and its rule, and no others', async () => {
    const { paths } = JSON.parse(await apiDescription()) as { readonly paths: Paths };
    const rows = Object.entries(paths).flatMap(([path, operations]) =>
      Object.entries(operations).map(([method, { description }]) => rowOf(method, path, description)),
    );
    const [, section = ''] = readFileSync(PAGE, 'utf8').split('\n## All requests\n');
    const [table = ''] = section.split('\n## ');
    const shown = table
      .split('\n')
      .filter((line) => line.startsWith('| `'))
      .map((line) =>
        line
          .split('|')
          .slice(1, -1)
          .map((cell) => cell.trim())
          .join(' | '),
      );
    expect(shown.join('\n'), 'rows of the table, as they should be:').to.equal(rows.join('\n'));
  });
});
