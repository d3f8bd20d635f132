// How many are due when: a bar for each stretch of time ahead, and what lies beyond it.

import type { JSX } from "preact";
import { number, time } from "./format";

const STEP = 25;
const HEIGHT = 100;

/** `counts` has a count for each stretch, and one more for all that is later. */
export function TimeAxis({ counts, from, ahead }: { counts: number[]; from: number; ahead: string }): JSX.Element {
  const within = counts.slice(0, -1);
  const later = counts.at(-1) ?? 0;
  const most = Math.max(1, ...within);
  const sum = within.reduce((total, each) => total + each, 0);
  return (
    <figure class="chart">
      <figcaption>{number(sum)} due within {ahead} of {time(from).slice(0, 16)} UTC, {number(later)} later; at most {number(most)} in a bar</figcaption>
      <svg viewBox={`0 0 ${within.length * STEP} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`due within ${ahead}: ${within.map(number).join(", ")}; later ${number(later)}`}>
        {within.map((count, index) => count > 0 && <rect class="line-0" x={index * STEP + 2} width={STEP - 4} y={HEIGHT - 4 - (count / most) * (HEIGHT - 8)} height={4 + (count / most) * (HEIGHT - 8)} />)}
      </svg>
      <div class="ends"><span>now</span><span>in {ahead}</span></div>
    </figure>
  );
}
