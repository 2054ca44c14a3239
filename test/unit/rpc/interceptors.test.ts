import { MessagingError } from '@ebbgate/core';
import { compose, type Interceptor, settling } from '#rpc/interceptors.js';
import { expect } from 'chai';
import { describe, it } from 'mocha';

type Step = Interceptor<readonly string[], Promise<unknown>>;

const named =
  (name: string): Step =>
  async (path, next) =>
    `${name}(${String(await next([...path, name]))})`;
const end = async (path: readonly string[]): Promise<string> => Promise.resolve(path.join('>'));

const rejection = async (promise: Promise<unknown>): Promise<unknown> =>
  promise.then(
    () => undefined,
    (error: unknown) => error,
  );

describe('a chain of interceptors', () => {
  it('is the end itself when there are none', () => {
    expect(compose([], end)).to.equal(end);
  });

  it('runs the first one outermost', async () => {
    expect(await compose([named('a'), named('b'), named('c')], end)([])).to.equal('a(b(c(a>b>c)))');
  });

  it('can be run many times at once', async () => {
    const chain = compose([named('a'), named('b')], end);
    expect(await Promise.all([chain(['1']), chain(['2'])])).to.deep.equal(['a(b(1>a>b))', 'a(b(2>a>b))']);
  });

  it('ends early when one answers by itself', async () => {
    let reached = false;
    const answer: Step = async () => Promise.resolve('cached');
    const chain = compose([named('a'), answer], async () => {
      reached = true;
      return Promise.resolve('fresh');
    });
    expect(await chain([])).to.equal('a(cached)');
    expect(reached).to.equal(false);
  });

  it('rejects with what one throws, also before its first await', async () => {
    const error = new Error('refused');
    const sync = ((): never => {
      throw error;
    }) as Step;
    expect(await rejection(compose([sync], end, settling)([]))).to.equal(error);
    const seen: unknown[] = [];
    const watching: Step = (path, next) => next(path).catch((caught: unknown) => seen.push(caught));
    await compose([watching, sync], end, settling)([]);
    expect(seen).to.deep.equal([error]);
  });

  it('hands errors of the end through all of them', async () => {
    const error = new Error('failed');
    const seen: string[] = [];
    const watching =
      (name: string): Step =>
      async (path, next) => {
        try {
          return await next(path);
        } catch (caught) {
          seen.push(name);
          throw caught;
        }
      };
    const failing = (): never => {
      throw error;
    };
    expect(await rejection(compose([watching('outer'), watching('inner')], failing)([]))).to.equal(error);
    expect(seen).to.deep.equal(['inner', 'outer']);
  });

  it('refuses a second next(), naming the interceptor, and has sent once', async () => {
    let sent = 0;
    const retrying: Step = async function retrying(path, next) {
      await next(path);
      return next(path);
    };
    const chain = compose([retrying], async () => {
      sent += 1;
      return Promise.resolve(sent);
    });
    const error = await rejection(chain([]));
    expect(error)
      .to.be.instanceOf(MessagingError)
      .with.property('message', 'The interceptor retrying called next() twice');
    expect(sent).to.equal(1);
  });

  it('costs no promise where none is made: a server gives back what the end returns, and throws what it throws (GS-88)', () => {
    const pass: Interceptor<number, unknown> = (message, next) => next(message);
    const inverse = compose([pass, pass], (message: number) => {
      if (message === 0) throw new RangeError('there is none');
      return 1 / message;
    });
    expect(inverse(4)).to.equal(0.25);
    expect(() => inverse(0)).to.throw(RangeError);
  });
});
