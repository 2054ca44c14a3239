// Writes (--local) or checks the API report of each public package: packages/NAME/NAME.api.md.
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { Extractor, ExtractorConfig } from '@microsoft/api-extractor';
import { packageNames } from './lib/build.mjs';
import { root } from './lib/run.mjs';

const local = process.argv.includes('--local');
let failed = false;
for (const name of packageNames()) {
  const configFile = join(root, 'packages', name, 'api-extractor.json');
  if (!existsSync(configFile)) continue;
  const config = ExtractorConfig.loadFileAndPrepare(configFile);
  const result = Extractor.invoke(config, {
    localBuild: local,
    messageCallback: (message) => {
      // Said once here, shorter, in place of advice on copying files by hand.
      message.handled ||= message.messageId.startsWith('console-');
    },
  });
  if (result.apiReportChanged && local) console.log(`${name}: report written`);
  if (result.apiReportChanged && !local)
    console.log(`${name}: out of date; run \`npm run api\` and commit the change`);
  if (!result.succeeded && !result.apiReportChanged) console.log(`${name}: ${result.errorCount} errors`);
  failed ||= !result.succeeded;
}
process.exitCode = failed ? 1 : 0;
