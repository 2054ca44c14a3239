import { readFileSync } from 'node:fs';
import { expect } from 'chai';
import { describe, it } from 'mocha';
import { parseAllDocuments } from 'yaml';
import { z } from 'zod';
import { type Daemon, read, READERS } from './given-flags.js';

const MANIFEST = new URL('../../../../deploy/kubernetes/ebbgate-compute.yaml', import.meta.url);
const UNIT = new URL('../../../../deploy/systemd/ebbgate-compute.service', import.meta.url);

const workloads = z
  .array(
    z.looseObject({
      kind: z.enum(['StatefulSet', 'Deployment']),
      spec: z.looseObject({
        template: z.looseObject({
          spec: z.looseObject({
            terminationGracePeriodSeconds: z.number(),
            containers: z.tuple([
              z.looseObject({
                args: z.array(z.string()).min(1),
                env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).min(1),
                readinessProbe: z.looseObject({
                  httpGet: z.object({ path: z.literal('/readyz'), port: z.number() }),
                }),
                livenessProbe: z.looseObject({
                  httpGet: z.object({ path: z.literal('/livez'), port: z.number() }),
                }),
              }),
            ]),
          }),
        }),
      }),
    }),
  )
  .min(1);

const isDaemon = (name: string): name is Daemon => name in READERS;

describe('the files in deploy/', () => {
  it('give daemons in Kubernetes options that they know, probes that reach them, and the time that a drain may take (GS-7, GS-85)', () => {
    const documents = parseAllDocuments(readFileSync(MANIFEST, 'utf8')).map((one) => one.toJS() as unknown);
    for (const { spec } of workloads.parse(documents)) {
      const { terminationGracePeriodSeconds, containers } = spec.template.spec;
      const [{ args, env, readinessProbe, livenessProbe }] = containers;
      const variables = Object.fromEntries(
        env
          .map(({ name, value = 'compute-0' }) => [name, value] as const)
          .filter(([name]) => name.startsWith('EBBGATE_')),
      );
      const [daemon = '', ...argv] = args.map((arg) => arg.replace('$(NAME)', 'compute-0'));
      if (!isDaemon(daemon)) throw new TypeError(`${daemon} is no daemon`);
      expect(variables['EBBGATE_TERMINATION_GRACE_PERIOD']).to.equal(String(terminationGracePeriodSeconds));
      const health = readinessProbe.httpGet.port;
      expect(livenessProbe.httpGet.port).to.equal(health);
      expect(read(daemon, argv, variables)).to.deep.include({ health, healthHost: '0.0.0.0' });
    }
  });

  it('have systemd end a host before what it needs until its end (GS-2)', () => {
    const [, after = ''] = /^After=(.*)$/m.exec(readFileSync(UNIT, 'utf8')) ?? [];
    expect(after.split(' ')).to.include.members(['rabbitmq-server.service', 'ebbgate-conductor.service']);
  });

  it('start a daemon under systemd with options that it knows', () => {
    const [, line = ''] =
      /^ExecStart=\/usr\/bin\/env ebbgate-compute (.*)$/m.exec(readFileSync(UNIT, 'utf8')) ?? [];
    const [daemon = '', ...argv] = line.replace('%H', 'compute-0').split(' ');
    if (!isDaemon(daemon)) throw new TypeError(`${daemon} is no daemon`);
    expect(read(daemon, argv)).to.deep.include({ host: 'compute-0', stateDir: '/var/lib/ebbgate' });
  });
});
