import { it } from 'mocha';

/** The `it` of a suite that keeps what the manifest leaves out: a test tells it, as a run with skipped tests counts as failed. */
export class ManifestIt {
  readonly leftOut: string[] = [];
  readonly it = Object.assign((title: string, run: () => Promise<void>) => it(title, run), {
    skip: (title: string) => this.leftOut.push(title),
  });
}
