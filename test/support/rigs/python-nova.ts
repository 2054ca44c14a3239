import { decodeObjects, encodeObjects, Instance, type NovaObject } from '@ebbgate/compute';
import { type OsloPeer, section, startPythonPeer } from './python-oslo.js';

/** Arguments by name; objects in their wire form or as ours. */
export type NovaArgs = Readonly<Record<string, unknown>>;

/** Of whose methods Nova has a client; `compute_task` is the conductor too. */
export type NovaService = 'compute' | 'conductor' | 'scheduler' | 'compute_task';

/** What the peer can be told. */
export type NovaCommand =
  /** A method of one of Nova's own clients, with its names of arguments: `destination`, `host`. */
  | {
      readonly command: 'call_api';
      readonly method: string;
      readonly args: NovaArgs;
      readonly context?: object;
      /** Whose client; default: that of compute hosts. */
      readonly service?: NovaService;
    }
  /** Saves an instance as a compute of Nova does, over its conductor. */
  | {
      readonly command: 'save';
      readonly instance: unknown;
      readonly expected_task_state?: readonly (string | null)[];
    }
  /** A method as it travels, whether Nova's client has it or not. */
  | {
      readonly command: 'call_raw';
      readonly method: string;
      readonly server: string;
      readonly args?: NovaArgs;
      readonly version?: string;
      /** Seconds, as Python has it. */
      readonly timeout?: number;
    }
  /** `ping` and `get_backdoor_port` of the base interface. */
  | { readonly command: 'ping'; readonly topic: string; readonly server: string }
  /** From then on the peer is this compute host; it takes what fits the methods of Nova's ComputeManager. */
  | { readonly command: 'start_server'; readonly topic: string; readonly server: string }
  /** How a method of its servers ends. */
  | { readonly command: 'answer'; readonly method: string; readonly result: unknown }
  | {
      readonly command: 'answer';
      readonly method: string;
      readonly raises: string;
      readonly kwargs?: NovaArgs;
    }
  | { readonly command: 'ready' };

/** A Python process with Nova's own RPC client, objects and argument lists, of Debian's release of Nova. */
export class NovaPeer {
  readonly python: OsloPeer<NovaCommand>;

  constructor(python: OsloPeer<NovaCommand>) {
    this.python = python;
  }

  /** Calls or casts as Nova would. Rejects with OsloError for what it raised. */
  api(method: string, args: NovaArgs, service: NovaService = 'compute'): Promise<unknown> {
    const encoded = encodeObjects(args) as NovaArgs; // a dictionary stays one
    return this.python.send({ command: 'call_api', method, args: encoded, service });
  }

  /** Saves an instance over the conductor, as a compute of Nova does; resolves with it as it is then. */
  async save(instance: Instance, expectedTask: string | null): Promise<Instance> {
    const sent = { instance: encodeObjects(instance), expected_task_state: [expectedTask] };
    const saved = decodeObjects(await this.python.send({ command: 'save', ...sent }));
    if (Instance.is(saved)) return saved;
    throw new TypeError('Nova has told no instance');
  }

  /** Makes a method of its servers end with this result. */
  async answers(method: string, result: NovaObject | boolean | null): Promise<void> {
    await this.python.send({ command: 'answer', method, result: encodeObjects(result) });
  }
}

/**
 * Starts a Python process that is Nova at this URL. Installs `python3-nova` when it is missing: without recommended
 * packages some 140 of them, 55 MB to load, 240 MB on disk, well under two minutes.
 */
export async function startNovaPeer(url: string): Promise<NovaPeer> {
  const python = await startPythonPeer<NovaCommand>(
    {
      script: 'nova_peer.py',
      packages: ['python3-nova'],
      config:
        section('DEFAULT', { transport_url: url, rpc_response_timeout: 20, long_rpc_timeout: 60 }) +
        section('oslo_messaging_rabbit', { rabbit_retry_interval: 1 }),
      url,
    },
    { command: 'ready' },
  );
  return new NovaPeer(python);
}
