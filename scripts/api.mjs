// Writes (--local) or checks the API report of each public package: packages/NAME/NAME.api.md.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { packageNames } from './lib/build.mjs';
import { root } from './lib/run.mjs';

const local = process.argv.includes('--local');
const reportFolder = join(root, 'build/api/reports');
mkdirSync(reportFolder, { recursive: true });

/** Which quotes a literal type has depends on whether the compiler has built everything or only what had changed. */
function withOneKindOfQuotes(report) {
  return report.replaceAll(/"([^"'\\\n]*)"/g, "'$1'");
}

function configOf(configFile) {
  const configObject = ExtractorConfig.loadFile(configFile);
  // What is in the repository is compared and written here, and not by the extractor.
  configObject.apiReport.reportFolder = reportFolder;
  return ExtractorConfig.prepare({
    configObject,
    configObjectFullPath: configFile,
    packageJsonFullPath: join(configFile, '../package.json'),
  });
}

let failed = false;
for (const name of packageNames()) {
  const configFile = join(root, 'packages', name, 'api-extractor.json');
  if (!existsSync(configFile)) continue;
  const config = configOf(configFile);
  const { succeeded, errorCount } = Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      // Said once here, shorter, in place of advice on copying files by hand.
      message.handled ||= message.messageId.startsWith('console-');
    },
  });
  const path = join(root, 'packages', name, `${name}.api.md`);
  const report = withOneKindOfQuotes(readFileSync(config.reportFilePath, 'utf8'));
  const isNew = !existsSync(path) || readFileSync(path, 'utf8') !== report;
  if (isNew && local) writeFileSync(path, report);
  if (isNew)
    console.log(`${name}: ${local ? 'report written' : 'out of date; run `npm run api` and commit it'}`);
  if (!succeeded) console.log(`${name}: ${errorCount} errors`);
  failed ||= !succeeded || (isNew && !local);
}
process.exitCode = failed ? 1 : 0;
