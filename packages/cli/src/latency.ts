import type { IntervalHistogram, RecordableHistogram } from 'node:perf_hooks';

/** How long things took, in milliseconds. */
export interface Latency {
  readonly min: number;
  readonly mean: number;
  readonly p50: number;
  readonly p90: number;
  readonly p99: number;
  readonly max: number;
}

/** Of a histogram of nanoseconds; undefined when nothing was recorded. */
export function latencyOf(histogram: RecordableHistogram | IntervalHistogram): Latency | undefined {
  if (histogram.count === 0) return undefined;
  return {
    min: toMs(histogram.min),
    mean: toMs(histogram.mean),
    p50: toMs(histogram.percentile(50)),
    p90: toMs(histogram.percentile(90)),
    p99: toMs(histogram.percentile(99)),
    max: toMs(histogram.max),
  };
}

function toMs(ns: number): number {
  return Math.round(ns / 1000) / 1000;
}
