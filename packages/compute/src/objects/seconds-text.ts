/** As Nova writes times on the bus, and its API some of them: to the second, in UTC. */
export function secondsText(date: Date): string {
  return `${date.toISOString().slice(0, 19)}Z`;
}
