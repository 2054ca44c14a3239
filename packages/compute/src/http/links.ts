import type { FastifyRequest } from 'fastify';
import { z } from 'zod';

/** A link, as OpenStack has it. */
export interface Link {
  readonly rel: 'self' | 'bookmark' | 'next';
  readonly href: string;
}

/** What links in an answer are like. */
export const linksView: z.ZodType<Link[]> = z.array(
  z.strictObject({ rel: z.enum(['self', 'bookmark', 'next']), href: z.string() }),
);

/** The links in the answer to one request: they lead back to where that came to, and to its project if that was in its path. */
export class Links {
  readonly #origin: string;
  readonly #project: string;
  readonly #query: string;

  /** @param project - in the path of the request; undefined: there is none */
  constructor({ protocol, host, url }: Pick<FastifyRequest, 'protocol' | 'host' | 'url'>, project?: string) {
    this.#origin = `${protocol}://${host}`;
    this.#project = project === undefined ? '' : `/${encodeURIComponent(project)}`;
    this.#query = /\?(.*)$/s.exec(url)?.[1] ?? '';
  }

  /** Both to one thing. @param path - `/flavors/1` */
  to(path: string): readonly Link[] {
    return [this.self(path), this.bookmark(path)];
  }

  /** With the version in it. */
  self(path: string): Link {
    return { rel: 'self', href: `${this.#origin}/v2.1${this.#project}${path}` };
  }

  /** Without. */
  bookmark(path: string): Link {
    return { rel: 'bookmark', href: `${this.#origin}${this.#project}${path}` };
  }

  /** To what comes after `marker` in a list. @param path - of the list: `/flavors/detail` */
  next(path: string, marker: string): Link {
    const query = new URLSearchParams(this.#query);
    query.set('marker', marker);
    query.sort();
    return { rel: 'next', href: `${this.#origin}/v2.1${this.#project}${path}?${String(query)}` };
  }
}
