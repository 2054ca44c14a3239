// A worker that drains before it ends: start it, send it SIGTERM while it works, and look at its exit code.
import { createTransport } from '@ebbgate/core';
import { RpcClient, RpcServer } from '@ebbgate/rpc';
import { launch, Service, taskInterceptor, TaskRegistry } from '@ebbgate/service';

const transport = createTransport('memory:'); // another URL, and the driver for it, when its clients are other processes
const registry = new TaskRegistry();
const endpoint = {
  resize: async (_context: unknown, { seconds }: { seconds: number }) => {
    await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
    console.log('resized');
  },
};
const newRequestServer = new RpcServer(transport, { topic: 'images', server: 'worker-1' }, [endpoint], {
  interceptors: [taskInterceptor(registry)],
});
const service = new Service({
  name: 'images',
  host: 'worker-1',
  newRequestServer,
  registry,
  onExit: () => transport.close(),
});
service.events.on('step', ({ phase, name }) => console.log(`${phase} ${name}`));
service.events.on('exited', ({ outcome }) => console.log(`drained: ${outcome}`));

service.events.on('state', ({ state }) => {
  if (state === 'running') void work();
});

launch(service); // starts it; a signal may come first, so that it never runs

async function work(): Promise<void> {
  await new RpcClient(transport, { topic: 'images', server: 'worker-1' }).cast({}, 'resize', { seconds: 5 });
  console.log(`working; stop me with: kill ${process.pid}`);
}
