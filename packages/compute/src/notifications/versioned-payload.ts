/** The payload of a notification in Nova's versioned form. */
export interface VersionedPayload {
  /** Which kind of payload it is. */
  readonly 'nova_object.name': string;
  /** The same for all. */
  readonly 'nova_object.namespace': 'nova';
  /** Of its kind: `major.minor`. */
  readonly 'nova_object.version': string;
  /** What it says. */
  readonly 'nova_object.data': Readonly<Record<string, unknown>>;
}

export function versioned(
  name: string,
  version: string,
  data: Readonly<Record<string, unknown>>,
): VersionedPayload {
  return {
    'nova_object.name': name,
    'nova_object.namespace': 'nova',
    'nova_object.version': version,
    'nova_object.data': data,
  };
}
