// A figure over time, as long as the page is open: the browser keeps what it has seen. Drawn as SVG, without a library.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { number } from "./format";

const WIDTH = 600;
const HEIGHT = 120;
const KEPT = 720;

interface Sample {
  at: number;
  values: number[];
}

const kept = new Map<string, Sample[]>();

/** What was seen of it under this name since the page was opened, with what is seen now. */
export function useSamples(name: string, values: number[] | undefined): Sample[] {
  const last = useRef<number[]>();
  const samples = kept.get(name) ?? [];
  useEffect(() => {
    if (values !== undefined && values !== last.current) {
      last.current = values;
      kept.set(name, [...samples, { at: Date.now(), values }].slice(-KEPT));
    }
  });
  return values === undefined || values === last.current ? samples : [...samples, { at: Date.now(), values }];
}

export function Chart({ name, lines, samples }: { name: string; lines: string[]; samples: Sample[] }): JSX.Element {
  const first = samples[0]?.at ?? 0;
  const last = samples.at(-1)?.at ?? 0;
  const most = Math.max(1, ...samples.flatMap((each) => each.values));
  const x = (at: number) => (last === first ? (at < first ? 0 : WIDTH) : ((at - first) / (last - first)) * WIDTH);
  const y = (value: number) => HEIGHT - (value / most) * (HEIGHT - 4) - 2;
  // One sample alone is a line, too.
  const drawn = samples.length === 1 ? [{ ...samples[0]!, at: first - 1 }, ...samples] : samples;
  const minutes = Math.round((last - first) / 60_000);
  return (
    <figure class="chart">
      <figcaption>{name}, {minutes ? `the last ${minutes} min` : "since now"}; at most {number(most)}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${name} over time: ${lines.map((line, index) => `${line} ${number(samples.at(-1)?.values[index])}`).join(", ")} now, at most ${number(most)}`}>
        {lines.map((_, index) => (
          <polyline class={`line-${index}`} points={drawn.map((each) => `${x(each.at).toFixed(1)},${y(each.values[index] ?? 0).toFixed(1)}`).join(" ")} />
        ))}
      </svg>
      {lines.length > 1 && <ul>{lines.map((line, index) => <li class={`line-${index}`}>{line} {number(samples.at(-1)?.values[index])}</li>)}</ul>}
    </figure>
  );
}
