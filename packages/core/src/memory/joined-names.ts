/** One name from several: `a.b` + `c` is not `a` + `b.c`, whatever they hold. */
export function joined(...parts: readonly string[]): string {
  return parts.map((part) => `${String(part.length)}:${part}`).join('');
}
