// The ways of arrows: straight to a neighbour, else through the gaps between the boxes.

const CORNER = 9;
/** From a box to the middle of the gap below or above it. */
const LANE = 24;
/** Of the tip from the box that it points to. */
const TIP = 3;

/**
 * A path from one box to another, and where on it there is room for a label. `begin` and `end` are levels in the boxes;
 * `aside` keeps ways apart that share a gap.
 */
export function wayOf({ from, to, begin, end, aside }) {
  const isNeighbour = Math.abs(from.column - to.column) === 1 && from.top === to.top;
  if (isNeighbour) return straight(from, to, begin, end);
  return from.column === to.column
    ? alongside(from, to, begin, end, aside)
    : around(from, to, begin, end, aside);
}

function straight(from, to, begin, end) {
  const side = to.x > from.x ? 1 : -1;
  const [first, last] = [edge(from, side), edge(to, -side) - side * TIP];
  const half = (first + last) / 2;
  const path = `M${first} ${begin}C${half} ${begin} ${half} ${end} ${last} ${end}`;
  return { path, middle: { x: half, y: (begin + end) / 2 } };
}

/** To a box above or below: by the gap beside both. */
function alongside(from, to, begin, end, aside) {
  const side = from.isLast ? -1 : 1;
  const x = edge(from, side) + side * from.room;
  const way = x + aside;
  const points = [
    [edge(from, side), begin],
    [way, begin],
    [way, end],
    [edge(to, side) + side * TIP, end],
  ];
  return { path: rounded(points), middle: { x, y: (begin + end) / 2 + aside } };
}

/** By the gap beside the one, the gap between the rows, and the gap beside the other. */
function around(from, to, begin, end, aside) {
  const side = to.x > from.x ? 1 : -1;
  const out = edge(from, side) + side * from.room + aside;
  const into = edge(to, -side) - side * to.room + aside;
  const lane = (to.top > from.top ? to.top - LANE : to.bottom + LANE) + aside;
  const tip = edge(to, -side) - side * TIP;
  const points = [
    [edge(from, side), begin],
    [out, begin],
    [out, lane],
    [into, lane],
    [into, end],
    [tip, end],
  ];
  const x = out === into ? out : (out + into) / 2 + aside * 4;
  return { path: rounded(points), middle: { x, y: lane } };
}

/** The left (-1) or the right (1) edge. */
function edge({ x, width }, side) {
  return side > 0 ? x + width : x;
}

/** A line through these points, with round corners. */
function rounded(points) {
  const parts = points.map(([x, y], index) => {
    const [before, after] = [points[index - 1], points[index + 1]];
    if (!before) return `M${x} ${y}`;
    if (!after) return `L${x} ${y}`;
    const [in1, in2] = towards([x, y], before);
    const [out1, out2] = towards([x, y], after);
    return `L${in1} ${in2}Q${x} ${y} ${out1} ${out2}`;
  });
  return parts.join('');
}

/** A point near `corner`, on the way to `other`. */
function towards([x, y], [otherX, otherY]) {
  const length = Math.hypot(otherX - x, otherY - y);
  const share = length === 0 ? 0 : Math.min(CORNER, length / 2) / length;
  return [x + (otherX - x) * share, y + (otherY - y) * share];
}
