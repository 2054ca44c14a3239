import { isDeepStrictEqual } from 'node:util';
import { expect } from 'chai';
import fc from 'fast-check';
import { describe, it } from 'mocha';
import { type Form, FORMS, type RpcBed, useBed } from '../../support/rpc-bed.js';

/** What anybody might hand to a call: plain values, and most of what JavaScript has besides. */
const values = fc.anything({
  maxDepth: 4,
  maxKeys: 6,
  withBigInt: true,
  withBoxedValues: true,
  withDate: true,
  withMap: true,
  withNullPrototype: true,
  withObjectString: true,
  withSet: true,
  withSparseArray: true,
  withTypedArray: true,
  stringUnit: 'binary',
});

const specials = fc.constantFrom<unknown>(
  new Date(0),
  new Date(Number.NaN),
  Number.NaN,
  Infinity,
  -Infinity,
  -0,
  2 ** 53,
  2n ** 64n,
  -(10n ** 5000n),
  undefined,
  null,
  Symbol('s'),
  () => 1,
  /x/,
  new Error('e'),
  new URL('http://h/'),
  Buffer.from('abc'),
  new Float64Array(2),
  new WeakMap(),
  Promise.resolve(1),
  '\ud800',
  '\u0000',
  '\u2028',
  '__proto__',
  JSON.parse('{"__proto__":{"polluted":true}}'),
  Object.create({ inherited: 1 }),
  { toJSON: () => ({ again: [1] }) },
  { toJSON: () => undefined },
  [undefined, , 3], // eslint-disable-line no-sparse-arrays -- it is what is sent
  {
    get fails(): never {
      throw new Error('no');
    },
  },
  new (class Thing {
    a = 1;
  })(),
);

const named = fc.dictionary(
  fc.oneof(fc.string(), fc.constantFrom('__proto__', 'constructor', 'toString')),
  fc.oneof(values, specials),
  {
    maxKeys: 5,
  },
);

type Outcome =
  { readonly value: unknown } | { readonly code: unknown; readonly path: unknown; readonly name: string };

describe('a call with messages as objects and as bytes', () => {
  const beds = new Map<Form, () => RpcBed>(FORMS.map((form) => [form, useBed(form)]));

  /** What the method got and what the caller got; both give back the value `given`. */
  async function outcomes(form: Form, send: (use: RpcBed) => Promise<unknown>): Promise<Outcome> {
    try {
      return { value: await send((beds.get(form) as () => RpcBed)()) };
    } catch (error) {
      const { name, code, path } = error as Error & { code?: unknown; path?: unknown };
      return { name, code, path };
    }
  }

  async function same(send: (use: RpcBed) => Promise<unknown>): Promise<void> {
    const [local, viaBytes] = await Promise.all(FORMS.map((form) => outcomes(form, send)));
    if (!isDeepStrictEqual(local, viaBytes)) expect(viaBytes).to.deep.equal(local);
  }

  it('hands over equal arguments and contexts, or refuses the same ones in the same way (CORE-06)', async () => {
    for (const bed of beds.values()) {
      await bed().serve({
        echo: (context: { values: object }, args: object) => ({
          args,
          keys: Object.keys(args),
          context: { ...context.values },
        }),
      });
    }
    await fc.assert(
      fc.asyncProperty(named, named, (args, context) =>
        same((use) => use.client().call(context, 'echo', args)),
      ),
      { numRuns: 400 },
    );
  });

  it('hands over equal results, or refuses the same ones in the same way (CORE-06)', async () => {
    let given: unknown;
    for (const bed of beds.values()) await bed().serve({ give: () => ({ given }), bare: () => given });
    await fc.assert(
      fc.asyncProperty(fc.oneof(values, specials), fc.constantFrom('give', 'bare'), async (value, method) => {
        if (value instanceof Promise) return;
        given = value;
        await same((use) => use.client().call({}, method));
      }),
      { numRuns: 400 },
    );
  });

  it('hands over equal errors (CORE-06, RPC-16)', async () => {
    let given: unknown;
    for (const bed of beds.values()) {
      await bed().serve({
        fail: () => {
          throw given;
        },
      });
    }
    await fc.assert(
      fc.asyncProperty(
        fc.string(),
        fc.dictionary(fc.string(), fc.oneof(values, specials)),
        async (message, data) => {
          given = Object.defineProperties(new Error(message), Object.getOwnPropertyDescriptors(data));
          const seen = await Promise.all(
            FORMS.map(async (form) => {
              const use = (beds.get(form) as () => RpcBed)();
              const [settled] = await Promise.allSettled([use.client().call({}, 'fail')]);
              const error = (settled as PromiseRejectedResult).reason as Error;
              return Object.assign({ name: error.name, message: error.message }, error);
            }),
          );
          if (!isDeepStrictEqual(seen[0], seen[1])) expect(seen[1]).to.deep.equal(seen[0]);
        },
      ),
      { numRuns: 200 },
    );
  });
});
