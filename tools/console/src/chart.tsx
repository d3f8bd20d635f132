// A figure over time, as long as the page is open: the browser keeps what it has seen. Drawn as SVG, without a library.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { number, span } from "./format";

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

/** How fast figures that only grow did so, per second, between one sample and the next. */
export function rates(samples: Sample[]): Sample[] {
  return samples.slice(1).map((each, index) => {
    const before = samples[index]!;
    const seconds = Math.max(each.at - before.at, 1) / 1000;
    return { at: each.at, values: each.values.map((value, line) => Math.max(0, value - before.values[line]!) / seconds) };
  });
}

/** The same of many figures by name, as they were asked for last and the time before. */
export function useRates(figures: Map<string, number> | undefined): Map<string, number> {
  const seen = useRef<{ at: number; figures: Map<string, number>; rates: Map<string, number> }>();
  if (figures !== undefined && figures !== seen.current?.figures) {
    const [at, before] = [Date.now(), seen.current];
    const found = new Map<string, number>();
    for (const [name, figure] of figures) {
      const last = before?.figures.get(name);
      if (last !== undefined && at > before!.at) found.set(name, (Math.max(0, figure - last) * 1000) / (at - before!.at));
    }
    seen.current = { at, figures, rates: found };
  }
  return seen.current?.rates ?? new Map();
}

export function Chart({ name, lines, samples }: { name: string; lines: string[]; samples: Sample[] }): JSX.Element {
  const first = samples[0]?.at ?? 0;
  const last = samples.at(-1)?.at ?? 0;
  const most = Math.max(1, ...samples.flatMap((each) => each.values.map(Math.ceil)));
  const x = (at: number) => (last === first ? (at < first ? 0 : WIDTH) : ((at - first) / (last - first)) * WIDTH);
  const y = (value: number) => HEIGHT - (value / most) * (HEIGHT - 4) - 2;
  // One sample alone is a line, too.
  const drawn = samples.length === 1 ? [{ ...samples[0]!, at: first - 1 }, ...samples] : samples;
  const length = last - first;
  return (
    <figure class="chart">
      <figcaption>{name}, {length ? `the last ${span(length)}` : "since now"}; at most {number(most)}</figcaption>
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label={`${name} over time: ${lines.map((line, index) => `${line} ${number(samples.at(-1)?.values[index])}`).join(", ")} now, at most ${number(most)}`}>
        {lines.map((_, index) => (
          <polyline class={`line-${index}`} points={drawn.map((each) => `${x(each.at).toFixed(1)},${y(each.values[index] ?? 0).toFixed(1)}`).join(" ")} />
        ))}
      </svg>
      {lines.length > 1 && <ul>{lines.map((line, index) => <li class={`line-${index}`}>{line} {number(samples.at(-1)?.values[index])}</li>)}</ul>}
    </figure>
  );
}
