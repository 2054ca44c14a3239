// Jobs side by side.

/** Runs `run` on each job, at most so many at a time: whoever has done one takes the next. */
export async function inLanes(lanes, jobs, run) {
  const waiting = [...jobs];
  const lane = async () => {
    for (let job = waiting.shift(); job !== undefined; job = waiting.shift()) await run(job);
  };
  await Promise.all(Array.from({ length: lanes }, lane));
}
