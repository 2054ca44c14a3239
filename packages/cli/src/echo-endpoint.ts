import type { RequestContext } from '@ebbgate/core';

/** What `--echo` serves. */
export interface EchoEndpoint {
  /** Answers with its argument `message`; null when there is none. */
  echo(context: RequestContext, args: Record<string, unknown>): unknown;
  /** Answers with nothing, whatever it is given. */
  sink(): null;
}

/** The endpoint of `serve --echo`. */
export function echoEndpoint(): EchoEndpoint {
  return {
    // Arguments are names from the wire: what is inherited is no argument.
    echo: (_context, args) => (Object.hasOwn(args, 'message') ? args['message'] : null),
    sink: () => null,
  };
}
