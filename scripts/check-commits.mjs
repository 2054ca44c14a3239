// Conventional commits, by one regular expression: `type(scope)!: subject`, at most 100 characters.
import { run } from './lib/run.mjs';

const COUNT = 50;
const HEADER =
  /^(build|chore|ci|docs|feat|fix|perf|refactor|revert|style|test)(\([a-z0-9-]+(, ?[a-z0-9-]+)*\))?!?: \S.*$/;
const MADE_BY_GIT = /^(Merge|Revert) /;

// A shallow clone has fewer commits, an empty one none: what is there is checked.
const { code, output } = await run('git', ['log', `--max-count=${COUNT}`, '--format=%h %s'], {
  capture: true,
}).catch(() => ({ code: 1, output: 'git is not installed' }));
if (code !== 0) {
  console.log(`No commits to check (${output.trim().split('\n')[0]}).`);
  process.exit(0);
}
const bad = output
  .split('\n')
  .filter((line) => line !== '')
  .filter((line) => {
    const subject = line.slice(line.indexOf(' ') + 1);
    return !MADE_BY_GIT.test(subject) && (subject.length > 100 || !HEADER.test(subject));
  });
for (const line of bad) console.log(`Not a conventional commit: ${line}`);
process.exitCode = bad.length === 0 ? 0 : 1;
