import { InvalidTargetError } from './errors.js';
import { showAs } from './inspection.js';

/** The members of a {@link Target}. Null is the same as absent. */
export interface TargetOptions {
  /** The naming scope of the topic. Absent: the control exchange of the transport. */
  readonly exchange?: string | null | undefined;
  /** What the receivers have in common. */
  readonly topic?: string | null | undefined;
  /** Which interface of the receivers. Absent: the null namespace. */
  readonly namespace?: string | null | undefined;
  /** `major.minor` or `major.minor.revision`. */
  readonly version?: string | null | undefined;
  /** One receiver of the topic, by its name. */
  readonly server?: string | null | undefined;
  /** All receivers of the topic. Wins over `server`. */
  readonly fanout?: boolean | null | undefined;
  /** Namespaces that an endpoint answers to besides its own; null in it is the null namespace. */
  readonly legacyNamespaces?: readonly (string | null)[] | null | undefined;
}

const TEXTS = ['exchange', 'topic', 'namespace', 'version', 'server'] as const;
const NAMES: ReadonlySet<string> = new Set([...TEXTS, 'fanout', 'legacyNamespaces']);
const VERSION = /^\d+\.\d+(?:\.\d+)?$/;
/** Longest piece of a wrong value that is repeated in an error. */
const SHOWN = 60;

/**
 * Where a message goes, or what a receiver answers to. What each use needs: an RPC server `topic` and `server`; a
 * client `topic`; an endpoint at most `namespace`, `version` and `legacyNamespaces`; notifications `topic`.
 * It never changes; {@link Target.with} makes another one.
 */
export class Target {
  static {
    showAs(Target, (target) => target.toString());
  }

  /** Scope of the topic; undefined for the transport's control exchange. */
  readonly exchange: string | undefined;
  /** The name that servers listen to. */
  readonly topic: string | undefined;
  /** Which of several interfaces on the topic; undefined for the one without a name. */
  readonly namespace: string | undefined;
  /** Of the interface, `major.minor`. */
  readonly version: string | undefined;
  /** One server of the topic instead of any. */
  readonly server: string | undefined;
  /** To all servers of the topic. */
  readonly fanout: boolean | undefined;
  /** The namespace, then the legacy ones. Null is the null namespace. */
  readonly acceptedNamespaces: readonly (string | null)[];

  /** @throws InvalidTargetError (`ERR_INVALID_TARGET`) naming the member, its value and what would be right. */
  constructor(options: TargetOptions = {}) {
    checkTarget(options);
    this.exchange = options.exchange ?? undefined;
    this.topic = options.topic ?? undefined;
    this.namespace = options.namespace ?? undefined;
    this.version = options.version ?? undefined;
    this.server = options.server ?? undefined;
    this.fanout = options.fanout ?? undefined;
    this.acceptedNamespaces = Object.freeze([this.namespace ?? null, ...(options.legacyNamespaces ?? [])]);
    Object.freeze(this);
  }

  /**
   * A target with some members changed: an absent one keeps its value, an explicit null takes it away. The legacy
   * namespaces are kept too, which oslo.messaging loses.
   *
   * @throws InvalidTargetError (`ERR_INVALID_TARGET`), as the constructor.
   */
  with(overrides: TargetOptions): Target {
    checkTarget(overrides);
    return new Target({
      exchange: pick(overrides.exchange, this.exchange),
      topic: pick(overrides.topic, this.topic),
      namespace: pick(overrides.namespace, this.namespace),
      version: pick(overrides.version, this.version),
      server: pick(overrides.server, this.server),
      fanout: pick(overrides.fanout, this.fanout),
      legacyNamespaces: pick(overrides.legacyNamespaces, this.acceptedNamespaces.slice(1)),
    });
  }

  /** Are all members the same, the accepted namespaces in their order too? */
  equals(other: Target): boolean {
    return (
      TEXTS.every((name) => this[name] === other[name]) &&
      this.fanout === other.fanout &&
      this.acceptedNamespaces.length === other.acceptedNamespaces.length &&
      this.acceptedNamespaces.every((namespace, index) => namespace === other.acceptedNamespaces[index])
    );
  }

  /** `<Target exchange=e, topic=t, …>`, as Python shows it: what is unset, empty or false is left out. */
  toString(): string {
    const members = TEXTS.filter((name) => Boolean(this[name])).map((name) => `${name}=${this[name] ?? ''}`);
    if (this.fanout === true) members.push('fanout=True');
    return `<Target ${members.join(', ')}>`;
  }
}

function pick<Value>(override: Value | null | undefined, own: Value | undefined): Value | null | undefined {
  return override === undefined ? own : override;
}

/** Options come from JavaScript and from configuration files too, so nothing is taken from their types. */
function checkTarget(options: object): void {
  for (const [name, value] of Object.entries(options) as [string, unknown][]) {
    if (!NAMES.has(name)) {
      throw new InvalidTargetError(`A target has no ${cut(name)}; it has ${[...NAMES].join(', ')}`);
    }
    if (value === undefined || value === null) continue;
    const right = wanted(name, value);
    if (right === undefined) continue;
    throw new InvalidTargetError(`The ${name} of a target is ${valueText(value)}; it must be ${right}`);
  }
}

/** What would be right, if the value is not. */
function wanted(name: string, value: unknown): string | undefined {
  if (name === 'fanout') return typeof value === 'boolean' ? undefined : 'a boolean';
  if (name === 'legacyNamespaces') {
    return isNamespaces(value) ? undefined : 'an array of text and null';
  }
  if (typeof value !== 'string') return 'text';
  if (name === 'version' && !VERSION.test(value)) return '"major.minor" or "major.minor.revision"';
  return undefined;
}

function isNamespaces(value: unknown): boolean {
  return Array.isArray(value) && value.every((one) => one === null || typeof one === 'string');
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(cut(value));
  return typeof value === 'number' || typeof value === 'boolean' ? String(value) : `of type ${typeof value}`;
}

function cut(text: string): string {
  return text.length <= SHOWN ? text : `${text.slice(0, SHOWN)}…`;
}
